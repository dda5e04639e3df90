-- Tokens that need no issuer (`queen token`): who may do what, by the hash of the token. The token itself is shown
-- once, when it is made, and stands nowhere.
CREATE TABLE queen.tokens (
    id         text PRIMARY KEY,          -- the first digits of the hash, to speak of it
    hash       bytea NOT NULL UNIQUE,     -- SHA-256
    subject    text NOT NULL,
    role       text NOT NULL CHECK (role IN ('read-only', 'read-write', 'admin')),
    queues     jsonb,                     -- {"push": [...], "pop": [...], "admin": [...]}; NULL: every queue
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz,               -- NULL: never
    revoked_at timestamptz
);

-- How often they were changed: brokers read this number several times a second, and the tokens when it differs.
-- There is one row, so changes of tokens wait for each other, and no reader misses one that commits late.
CREATE TABLE queen.token_version (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    version bigint NOT NULL
);
INSERT INTO queen.token_version (version) VALUES (0);

CREATE FUNCTION queen.count_token_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE queen.token_version SET version = version + 1;
    RETURN NULL;
END $$;
CREATE TRIGGER tokens_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON queen.tokens
    FOR EACH STATEMENT EXECUTE FUNCTION queen.count_token_change();
