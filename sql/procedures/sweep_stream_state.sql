-- Removes the state of queries that were reset, at most p_limit rows, and says how many. A cycle that was under way
-- at the reset may still leave some, so a query's id is forgotten ten minutes later.
CREATE OR REPLACE FUNCTION queen.sweep_stream_state(p_limit int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_removed int;
BEGIN
    DELETE FROM queen.stream_state s WHERE (s.query_id, s.partition_id, s.key) IN (
        SELECT x.query_id, x.partition_id, x.key
        FROM queen.retired_queries r
        CROSS JOIN LATERAL (SELECT y.query_id, y.partition_id, y.key FROM queen.stream_state y
                            WHERE y.query_id = r.query_id LIMIT p_limit) x
        LIMIT p_limit);
    GET DIAGNOSTICS v_removed = ROW_COUNT;
    IF v_removed = 0 THEN
        DELETE FROM queen.retired_queries r WHERE r.retired_at < clock_timestamp() - interval '10 minutes';
    END IF;
    RETURN v_removed;
END $$;
