-- requires: broker_points, queue_points, report_parked_replicas
-- Adds up the minutes of one hour that has ended and is not marked, the newest first, for pages that show days. Left out
-- are hours of which minutes are missing: that of the oldest minute, and those older than p_days (0 = kept for ever).
-- Answers whether there may be more. One broker at a time: whoever comes while another adds up has nothing to do.
CREATE OR REPLACE FUNCTION queen.add_up_hour(p_days int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_now  timestamptz := clock_timestamp();
    v_hour timestamptz;
    v_end  timestamptz;
BEGIN
    IF NOT pg_try_advisory_xact_lock(queen.hours_lock_class(), 0) THEN RETURN false; END IF;
    SELECT h.hour INTO v_hour
    FROM (SELECT least((SELECT min(m.minute) FROM queen.broker_minutes m), (SELECT min(m.minute) FROM queen.queue_minutes m)) AS first) t
    CROSS JOIN LATERAL generate_series(
        date_bin('1 hour', greatest(t.first, CASE WHEN p_days > 0 THEN v_now - p_days * interval '1 day' END), timestamptz 'epoch')
            + interval '1 hour',
        date_bin('1 hour', v_now - interval '1 minute', timestamptz 'epoch') - interval '1 hour', interval '1 hour') AS h(hour)
    WHERE t.first IS NOT NULL AND NOT EXISTS (SELECT FROM queen.hours x WHERE x.hour = h.hour)
    ORDER BY h.hour DESC LIMIT 1;
    IF v_hour IS NULL THEN RETURN false; END IF;
    v_end := v_hour + interval '1 hour';
    DELETE FROM queen.broker_hours h WHERE h.hour = v_hour;
    DELETE FROM queen.queue_hours h WHERE h.hour = v_hour;
    DELETE FROM queen.parked_hours h WHERE h.hour = v_hour;
    INSERT INTO queen.broker_hours SELECT s.* FROM queen.broker_sums(v_hour, v_end, 60, false, NULL, NULL) s;
    INSERT INTO queen.queue_hours SELECT s.* FROM queen.queue_sums(v_hour, v_end, 60, false, NULL) s;
    INSERT INTO queen.parked_hours
    SELECT v_hour, s.queue, s.hostname, s.port, sum(s.parked), max(s.parked_max)
    FROM queen.parked_minutes(v_hour, v_end, NULL) s GROUP BY s.queue, s.hostname, s.port;
    INSERT INTO queen.hours VALUES (v_hour);
    RETURN true;
END $$;
