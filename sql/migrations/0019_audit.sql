-- The audit trail: who changed or deleted what, when and from where. Brokers make the entries and their ids, and
-- write them behind the reply (record_audit); sweep_audit removes old ones.
CREATE TABLE queen.audit_trail (
    id       uuid PRIMARY KEY,
    at       timestamptz NOT NULL,
    actor    text,                    -- the subject of the token or certificate
    source   text NOT NULL,           -- how it is known: none, jwt, token, token-file, certificate, database
    token_id text,
    client   text,                    -- address and port
    broker   text NOT NULL,
    action   text NOT NULL,           -- such as queue.delete
    method   text NOT NULL,
    path     text NOT NULL,
    queue    text,
    status   int NOT NULL,            -- of the reply
    request  text                     -- the beginning of the body
);
CREATE INDEX audit_trail_at ON queen.audit_trail (at, id);

-- Tokens are made and revoked in the database itself (`queen token`), so their entries are written with them.
CREATE FUNCTION queen.audit_token() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO queen.audit_trail (id, at, actor, source, client, broker, action, method, path, status, request)
    VALUES (gen_random_uuid(), clock_timestamp(), session_user, 'database', host(inet_client_addr()), 'none',
            CASE TG_OP WHEN 'INSERT' THEN 'token.create' ELSE 'token.revoke' END, TG_OP, 'queen.tokens/' || NEW.id, 200,
            left(format('subject %s, role %s, queues %s, expires %s', NEW.subject, NEW.role, coalesce(NEW.queues::text, 'all'),
                        coalesce(NEW.expires_at::text, 'never')), 2000));
    RETURN NULL;
END $$;
CREATE TRIGGER tokens_create_audit AFTER INSERT ON queen.tokens FOR EACH ROW EXECUTE FUNCTION queen.audit_token();
CREATE TRIGGER tokens_revoke_audit AFTER UPDATE ON queen.tokens FOR EACH ROW
    WHEN (OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION queen.audit_token();
