-- Removes old epochs, never the highest of a key: that one is the state. Looks at most at p_limit
-- rows from the key (p_partition_id, p_group_id) on. Call again with next_* until they are NULL.
-- REQUIRES: p_limit >= 2
CREATE OR REPLACE FUNCTION queen.sweep_progress(p_partition_id int, p_group_id int, p_limit int)
RETURNS TABLE (removed int, next_partition_id int, next_group_id int) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY
    WITH seen AS MATERIALIZED (
        SELECT r.ctid AS place, r.partition_id, r.group_id, r.epoch FROM queen.progress r
        WHERE (r.partition_id, r.group_id) >= (p_partition_id, p_group_id)
        ORDER BY r.partition_id, r.group_id, r.epoch LIMIT p_limit
    ), old AS MATERIALIZED (  -- the last row of a key is its state, as far as this snapshot knows
        SELECT s.* FROM (
            SELECT x.*, lead(x.partition_id) OVER w = x.partition_id
                        AND lead(x.group_id) OVER w = x.group_id AS is_old
            FROM seen x WINDOW w AS (ORDER BY x.partition_id, x.group_id, x.epoch)) s
        WHERE s.is_old
    ), gone AS (
        -- by place, which rows that are never updated keep: no plan can make a scan of it
        DELETE FROM queen.progress r WHERE r.ctid = ANY (ARRAY(SELECT o.place FROM old o))
        RETURNING 1
    ), last AS (
        SELECT s.partition_id, s.group_id FROM seen s
        WHERE (SELECT count(*) FROM seen) = p_limit
        ORDER BY s.partition_id DESC, s.group_id DESC LIMIT 1
    )
    SELECT (SELECT count(*) FROM gone)::int, l.partition_id, l.group_id
    FROM (VALUES (1)) AS one LEFT JOIN last l ON true;
END $$;
