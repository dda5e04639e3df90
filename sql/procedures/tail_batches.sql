-- What has been committed since p_since (pg_current_snapshot() of the last read): rows of queen.batches
-- that were in flight then or began later. At most p_limit of them; the last row has broker NULL and the
-- snapshot to read from next time, and truncated: more was written than p_limit, so the caller looks at
-- the database instead of the list. p_since NULL: only the snapshot. Point and range probes from the
-- snapshot's end, so a transaction that has been open for hours costs nothing.
CREATE OR REPLACE FUNCTION queen.tail_batches(p_since pg_snapshot, p_limit int)
RETURNS TABLE (broker bigint, n bigint, partitions int[], base_seqs bigint[], next_since pg_snapshot, truncated boolean)
LANGUAGE sql STABLE AS $$
    WITH found AS MATERIALIZED (
        SELECT b.* FROM queen.batches b WHERE b.xid >= pg_snapshot_xmax(p_since)
        UNION ALL
        SELECT b.* FROM unnest(ARRAY(SELECT pg_snapshot_xip(p_since))) AS x(xid) JOIN queen.batches b ON b.xid = x.xid
        LIMIT p_limit + 1
    )
    SELECT f.broker, f.n, f.partitions, f.base_seqs, NULL::pg_snapshot, NULL::boolean
    FROM (SELECT * FROM found LIMIT p_limit) f
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, pg_current_snapshot(), (SELECT count(*) FROM found) > p_limit
$$;
