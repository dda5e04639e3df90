-- Stores entries of the audit trail, a JSON array of objects as replies show them; those that are stored already
-- stay as they are, so a caller who does not know may ask again. Answers how many are new.
CREATE OR REPLACE FUNCTION queen.record_audit(p_entries jsonb)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE v_new int;
BEGIN
    INSERT INTO queen.audit_trail (id, at, actor, source, token_id, client, broker, action, method, path, queue, status,
                                   request)
    SELECT e.id, e.at, e.actor, e.source, e."tokenId", e.client, e.broker, e.action, e.method, e.path, e.queue, e.status,
           e.request
    FROM jsonb_to_recordset(p_entries) AS e (id uuid, at timestamptz, actor text, source text, "tokenId" text,
         client text, broker text, action text, method text, path text, queue text, status int, request text)
    ON CONFLICT (id) DO NOTHING;
    GET DIAGNOSTICS v_new = ROW_COUNT;
    RETURN v_new;
END $$;
