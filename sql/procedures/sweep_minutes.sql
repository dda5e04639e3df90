-- Removes minutes, the hours they were added up to, and runs of retention older than p_days (0 = kept for ever), the
-- oldest first, at most p_limit rows of each table. Answers how many (hours are not counted), and whether there may be more.
CREATE OR REPLACE FUNCTION queen.sweep_minutes(p_days int, p_limit int)
RETURNS TABLE (removed int, more boolean) LANGUAGE plpgsql AS $$
DECLARE
    v_before timestamptz := clock_timestamp() - p_days * interval '1 day';
    v_step   int;
BEGIN
    removed := 0;
    more := false;
    IF p_days > 0 THEN
        -- first the marks: what is left of the hours that begin to go is in their minutes
        DELETE FROM queen.hours h WHERE h.hour < v_before;
        DELETE FROM queen.broker_hours h WHERE h.hour < v_before;
        DELETE FROM queen.queue_hours h WHERE h.hour < v_before;
        DELETE FROM queen.parked_hours h WHERE h.hour < v_before;
        DELETE FROM queen.queue_minutes m WHERE (m.minute, m.queue, m.broker) IN (
            SELECT x.minute, x.queue, x.broker FROM queen.queue_minutes x WHERE x.minute < v_before
            ORDER BY x.minute LIMIT p_limit FOR UPDATE SKIP LOCKED);
        GET DIAGNOSTICS v_step = ROW_COUNT;
        removed := removed + v_step;
        more := more OR v_step = p_limit;
        DELETE FROM queen.broker_minutes m WHERE (m.minute, m.broker) IN (
            SELECT x.minute, x.broker FROM queen.broker_minutes x WHERE x.minute < v_before
            ORDER BY x.minute LIMIT p_limit FOR UPDATE SKIP LOCKED);
        GET DIAGNOSTICS v_step = ROW_COUNT;
        removed := removed + v_step;
        more := more OR v_step = p_limit;
        DELETE FROM queen.retention_runs r WHERE r.ctid = ANY (ARRAY(
            SELECT x.ctid FROM queen.retention_runs x WHERE x.at < v_before
            ORDER BY x.at LIMIT p_limit FOR UPDATE SKIP LOCKED));
        GET DIAGNOSTICS v_step = ROW_COUNT;
        removed := removed + v_step;
        more := more OR v_step = p_limit;
    END IF;
    RETURN NEXT;
END $$;
