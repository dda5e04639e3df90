-- Removes what is older than its kind is kept, in days (0 = for ever): traces, dead letters by the time they died,
-- and the starts of groups whose queue has not come since. Of each kind the oldest, at most p_limit rows. Answers
-- how many, and whether there may be more.
-- A consumer that still waits for its queue records its start anew.
CREATE OR REPLACE FUNCTION queen.sweep_aged(p_trace_days int, p_dead_letter_days int, p_early_group_days int, p_limit int)
RETURNS TABLE (removed int, more boolean) LANGUAGE plpgsql AS $$
DECLARE
    v_step int;
BEGIN
    removed := 0;
    more := false;
    IF p_trace_days > 0 THEN
        WITH old AS (
            DELETE FROM queen.traces t WHERE t.id IN (
                SELECT x.id FROM queen.traces x WHERE x.created_at < clock_timestamp() - p_trace_days * interval '1 day'
                ORDER BY x.created_at LIMIT p_limit)
            RETURNING t.id
        ), names AS (
            DELETE FROM queen.trace_names n USING old WHERE n.trace_id = old.id)
        SELECT count(*) INTO v_step FROM old;
        removed := removed + v_step;
        more := more OR v_step = p_limit;
    END IF;
    IF p_dead_letter_days > 0 THEN
        DELETE FROM queen.dead_letters d WHERE (d.partition_id, d.group_id, d.seq) IN (
            SELECT x.partition_id, x.group_id, x.seq FROM queen.dead_letters x
            WHERE x.failed_at < clock_timestamp() - p_dead_letter_days * interval '1 day'
            ORDER BY x.failed_at LIMIT p_limit);
        GET DIAGNOSTICS v_step = ROW_COUNT;
        removed := removed + v_step;
        more := more OR v_step = p_limit;
    END IF;
    IF p_early_group_days > 0 THEN
        DELETE FROM queen.early_groups e WHERE (e.queue_name, e.group_name) IN (
            SELECT x.queue_name, x.group_name FROM queen.early_groups x
            WHERE x.created_at < clock_timestamp() - p_early_group_days * interval '1 day'
            ORDER BY x.created_at LIMIT p_limit FOR UPDATE SKIP LOCKED);
        GET DIAGNOSTICS v_step = ROW_COUNT;
        removed := removed + v_step;
        more := more OR v_step = p_limit;
    END IF;
    RETURN NEXT;
END $$;
