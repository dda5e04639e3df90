-- tokens: every change is counted, whoever makes it, so that brokers read them again.
DO $$
DECLARE
    v_before bigint := (SELECT version FROM queen.token_version);
BEGIN
    INSERT INTO queen.tokens (id, hash, subject, role) VALUES ('a', '\x01', 'worker', 'read-write'), ('b', '\x02', 'ops', 'admin');
    ASSERT (SELECT version FROM queen.token_version) = v_before + 1, 'made';
    UPDATE queen.tokens SET revoked_at = clock_timestamp() WHERE id = 'a';
    ASSERT (SELECT version FROM queen.token_version) = v_before + 2, 'revoked';
    DELETE FROM queen.tokens WHERE id = 'b';
    ASSERT (SELECT version FROM queen.token_version) = v_before + 3, 'deleted';
    TRUNCATE queen.tokens;
    ASSERT (SELECT version FROM queen.token_version) = v_before + 4, 'truncated';
    PERFORM test.fails('INSERT INTO queen.tokens (id, hash, subject, role) VALUES (''a'', ''\x01'', ''x'', ''owner'')', '23514');
    PERFORM test.fails('INSERT INTO queen.token_version (version) VALUES (1)', '23505');
END $$;
