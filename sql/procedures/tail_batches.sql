-- What others have committed since p_since (next_since of the last read): one row per queue with the
-- partitions that were written to or may have become ready in another way (an ended lease, a seek).
-- partitions NULL: anything of that queue may have changed; its procedure noted -queue_id in the place
-- of a partition, and 0 for families whose record is gone. The last row has queue_id NULL and the snapshot to read from next time, and truncated:
-- there were more than p_limit batches, none of which is told, so the caller looks at the database
-- instead. p_since NULL: only the snapshot. Batches of brokers p_own_first .. p_own_last, the caller's
-- own process, are left out. Point and range probes from the snapshot's end, so a transaction that has
-- been open for hours costs nothing, and one probe per partition written, however many there are.
CREATE OR REPLACE FUNCTION queen.tail_batches(p_since pg_snapshot, p_limit int, p_own_first bigint, p_own_last bigint)
RETURNS TABLE (queue_id int, partitions int[], next_since pg_snapshot, truncated boolean)
LANGUAGE sql STABLE AS $$
    WITH found AS MATERIALIZED (
        SELECT f.partitions FROM (
            SELECT b.broker, b.partitions FROM queen.batches b WHERE b.xid >= pg_snapshot_xmax(p_since)
            UNION ALL
            SELECT b.broker, b.partitions
            FROM unnest(ARRAY(SELECT pg_snapshot_xip(p_since))) AS x(xid) JOIN queen.batches b ON b.xid = x.xid) f
        WHERE cardinality(f.partitions) > 0 AND abs(f.broker) NOT BETWEEN p_own_first AND p_own_last
        LIMIT p_limit + 1
    ), size AS MATERIALIZED (
        SELECT count(*) > p_limit AS truncated FROM found
    ), touched AS MATERIALIZED (
        SELECT DISTINCT u.id FROM size, found f, unnest(f.partitions) AS u(id) WHERE NOT size.truncated
    )
    SELECT p.queue_id, array_agg(p.id ORDER BY p.id), NULL::pg_snapshot, NULL::boolean
    FROM touched t
    -- OFFSET 0: a join could be planned as a walk through all partitions
    CROSS JOIN LATERAL (SELECT x.queue_id, x.id FROM queen.partitions x WHERE x.id = t.id OFFSET 0) p
    GROUP BY p.queue_id
    UNION ALL
    SELECT -t.id, NULL, NULL, NULL FROM touched t WHERE t.id <= 0
    UNION ALL
    SELECT NULL, NULL, pg_current_snapshot(), size.truncated FROM size
$$;
