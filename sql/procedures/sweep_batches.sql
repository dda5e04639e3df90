-- Forgets batches older than p_age, oldest first, at most p_limit, from the transaction p_after on (0 = all).
-- After that resolve_batch can no longer tell what became of them, so p_age is longer than any broker may
-- take to come back and ask. Answers how many, and the last transaction among them to go on from: what was
-- removed since the oldest transaction of the server began is still in the index, and not to be passed again.
CREATE OR REPLACE FUNCTION queen.sweep_batches(p_age interval, p_limit int, p_after bigint)
RETURNS TABLE (removed int, reached bigint) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY
    WITH gone AS (
        DELETE FROM queen.batches b USING (
            SELECT x.broker, x.n, x.created_at FROM queen.batches x WHERE x.xid >= p_after::text::xid8
            ORDER BY x.xid LIMIT p_limit) o
        WHERE b.broker = o.broker AND b.n = o.n AND o.created_at < clock_timestamp() - p_age
        RETURNING b.xid)
    SELECT count(*)::int, coalesce(max(g.xid::text::bigint), p_after) FROM gone g;
END $$;
