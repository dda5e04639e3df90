-- Removes old epochs, never the highest of a key: that one is the state. Looks at p_limit keys below
-- (p_partition_id, p_group_id), 0 = from the last key on, and in each goes down from the highest epoch as
-- far as there are rows: epochs follow each other, so whatever is below one that is missing has been removed
-- before. Call again with next_* until they are NULL.
-- It waits for nobody, since it holds what it has removed so far: a key with an old row that an append still holds is
-- left for the next time, with all its rows, since below a gap nothing would be found again.
-- Never upwards: what was removed since the oldest transaction of the server began stays in the index until
-- that ends, and such a walk would pass all of it, every time.
CREATE OR REPLACE FUNCTION queen.sweep_progress(p_partition_id int, p_group_id int, p_limit int)
RETURNS TABLE (removed int, next_partition_id int, next_group_id int) LANGUAGE plpgsql AS $$
DECLARE
    v_partition_id CONSTANT int := CASE WHEN p_partition_id = 0 THEN 2147483647 ELSE p_partition_id END;
BEGIN
    RETURN QUERY
    WITH RECURSIVE key AS (  -- as this snapshot knows them, each with its highest epoch
        (SELECT r.partition_id, r.group_id, r.epoch, 1 AS number FROM queen.progress r
         WHERE (r.partition_id, r.group_id) < (v_partition_id, p_group_id)
         ORDER BY r.partition_id DESC, r.group_id DESC, r.epoch DESC LIMIT 1)
        UNION ALL
        SELECT n.*, k.number + 1
        FROM key k
        CROSS JOIN LATERAL (
            SELECT r.partition_id, r.group_id, r.epoch FROM queen.progress r
            WHERE (r.partition_id, r.group_id) < (k.partition_id, k.group_id)
            ORDER BY r.partition_id DESC, r.group_id DESC, r.epoch DESC LIMIT 1) n
        WHERE k.number < p_limit
    ), chain AS (
        SELECT k.partition_id, k.group_id, k.epoch, NULL::tid AS place FROM key k
        UNION ALL
        SELECT c.partition_id, c.group_id, o.epoch, o.ctid
        FROM chain c
        CROSS JOIN LATERAL (
            SELECT r.epoch, r.ctid FROM queen.progress r
            WHERE r.partition_id = c.partition_id AND r.group_id = c.group_id AND r.epoch = c.epoch - 1 LIMIT 1) o
    ), free AS MATERIALIZED (
        -- by place, which rows that are never updated keep: no plan can make a scan of it
        SELECT r.ctid AS place, r.partition_id, r.group_id FROM queen.progress r
        WHERE r.ctid = ANY (ARRAY(SELECT c.place FROM chain c WHERE c.place IS NOT NULL))
        FOR UPDATE SKIP LOCKED
    ), busy AS (  -- usually none, and then not looked for
        SELECT c.partition_id, c.group_id FROM chain c
        WHERE (SELECT count(*) FROM free) < (SELECT count(x.place) FROM chain x)
          AND c.place <> ALL (ARRAY(SELECT f.place FROM free f))
    ), gone AS (
        DELETE FROM queen.progress r
        WHERE r.ctid = ANY (ARRAY(SELECT f.place FROM free f
                                  WHERE (f.partition_id, f.group_id) NOT IN (SELECT b.partition_id, b.group_id FROM busy b)))
        RETURNING 1
    )
    SELECT (SELECT count(*) FROM gone)::int, l.partition_id, l.group_id
    FROM (VALUES (1)) AS one LEFT JOIN key l ON l.number = p_limit;
END $$;
