-- Forgets batches older than p_age, oldest first, at most p_limit. After that resolve_batch can no longer
-- tell what became of them, so p_age is longer than any broker may take to come back and ask.
CREATE OR REPLACE FUNCTION queen.sweep_batches(p_age interval, p_limit int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_removed int;
BEGIN
    DELETE FROM queen.batches b USING (
        SELECT x.broker, x.n, x.created_at FROM queen.batches x ORDER BY x.xid LIMIT p_limit) o
    WHERE b.broker = o.broker AND b.n = o.n AND o.created_at < clock_timestamp() - p_age;
    GET DIAGNOSTICS v_removed = ROW_COUNT;
    RETURN v_removed;
END $$;
