-- requires: report_range
-- The minutes of brokers as points of p_minutes, a row per point and broker in the form of broker_hours, whose hour is
-- where the point begins. With p_by_hours only of minutes that no row of broker_hours stands for.
CREATE OR REPLACE FUNCTION queen.broker_sums(p_from timestamptz, p_to timestamptz, p_minutes int, p_by_hours boolean,
                                             p_hostname text, p_port int)
RETURNS SETOF queen.broker_hours LANGUAGE sql STABLE AS $$
    SELECT date_bin(p_minutes * interval '1 minute', m.minute, timestamptz 'epoch'), m.hostname, m.port, count(*),
           sum(m.looks)::bigint, max(m.seen_at),
           sum(m.pushed)::bigint, sum(m.push_bytes)::bigint, sum(m.duplicates)::bigint, sum(m.buffered)::bigint,
           sum(m.popped)::bigint, sum(m.pops)::bigint, sum(m.empty_pops)::bigint, sum(m.acked)::bigint,
           sum(m.failed)::bigint, sum(m.dead_lettered)::bigint, sum(m.age_count)::bigint, sum(m.age_sum_ms)::bigint,
           max(m.age_max_ms), sum(m.push_requests)::bigint, sum(m.ack_requests)::bigint, sum(m.transactions)::bigint,
           sum(m.errors)::bigint,
           sum((m.push_calls).count + (m.pop_calls).count + (m.ack_calls).count + (m.transaction_calls).count
               + (m.renew_calls).count)::bigint,
           sum((m.push_calls).micros + (m.pop_calls).micros + (m.ack_calls).micros + (m.transaction_calls).micros
               + (m.renew_calls).micros)::bigint,
           ROW(sum(c.cpu_user), min(c.cpu_user), max(c.cpu_user), (max(l.last))[2])::queen.gauge,
           ROW(sum(c.cpu_system), min(c.cpu_system), max(c.cpu_system), (max(l.last))[3])::queen.gauge,
           ROW(sum((m.rss_bytes).sum), min((m.rss_bytes).min), max((m.rss_bytes).max), (max(l.last))[4])::queen.gauge,
           ROW(sum((m.slots_busy).sum), min((m.slots_busy).min), max((m.slots_busy).max),
               (max(l.last))[5])::queen.gauge,
           ROW(sum((m.slots_total).sum), min((m.slots_total).min), max((m.slots_total).max),
               (max(l.last))[6])::queen.gauge,
           ROW(sum((m.slots_total).sum - (m.slots_busy).sum), min((m.slots_total).min - (m.slots_busy).max),
               max((m.slots_total).max - (m.slots_busy).min), (max(l.last))[6] - (max(l.last))[5])::queen.gauge,
           ROW(sum((m.waiting_polls).sum), min((m.waiting_polls).min), max((m.waiting_polls).max),
               (max(l.last))[7])::queen.gauge,
           ROW(sum((m.queued_items).sum), min((m.queued_items).min), max((m.queued_items).max),
               (max(l.last))[8])::queen.gauge,
           ROW(sum((m.groups_backed_off).sum), min((m.groups_backed_off).min), max((m.groups_backed_off).max),
               (max(l.last))[9])::queen.gauge,
           ROW(sum((m.buffered_messages).sum), min((m.buffered_messages).min), max((m.buffered_messages).max),
               (max(l.last))[10])::queen.gauge,
           ROW(sum((m.loop_lag_ms).sum), min((m.loop_lag_ms).min), max((m.loop_lag_ms).max),
               (max(l.last))[11])::queen.gauge
    FROM queen.other_minutes(p_from, p_to, p_by_hours) t
    JOIN queen.broker_minutes m ON m.minute >= t.from_time AND m.minute < t.to_time
    CROSS JOIN LATERAL (
        SELECT least(60, greatest(1, date_part('epoch', m.seen_at - m.minute))) * 100 AS passed OFFSET 0) s
    CROSS JOIN LATERAL (
        SELECT m.cpu_user_micros / s.passed AS cpu_user, m.cpu_system_micros / s.passed AS cpu_system OFFSET 0) c
    CROSS JOIN LATERAL (  -- the greatest is that of the newest minute
        SELECT ARRAY[
            date_part('epoch', m.seen_at), c.cpu_user, c.cpu_system, (m.rss_bytes).last, (m.slots_busy).last,
            (m.slots_total).last, (m.waiting_polls).last, (m.queued_items).last, (m.groups_backed_off).last,
            (m.buffered_messages).last, (m.loop_lag_ms).last] AS last OFFSET 0) l
    WHERE (p_hostname IS NULL OR m.hostname = p_hostname) AND (p_port IS NULL OR m.port = p_port)
    GROUP BY 1, 2, 3
$$;

-- The same of all of the time, by the hour where points are whole hours.
CREATE OR REPLACE FUNCTION queen.broker_points(p_from timestamptz, p_to timestamptz, p_minutes int, p_hostname text, p_port int)
RETURNS SETOF queen.broker_hours LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF p_minutes % 60 <> 0 THEN
        RETURN QUERY SELECT * FROM queen.broker_sums(p_from, p_to, p_minutes, false, p_hostname, p_port);
        RETURN;
    END IF;
    RETURN QUERY
    SELECT date_bin(p_minutes * interval '1 minute', m.hour, timestamptz 'epoch'), m.hostname, m.port,
           sum(m.minutes)::bigint, sum(m.looks)::bigint, max(m.seen_at), sum(m.pushed)::bigint,
           sum(m.push_bytes)::bigint, sum(m.duplicates)::bigint, sum(m.buffered)::bigint, sum(m.popped)::bigint,
           sum(m.pops)::bigint, sum(m.empty_pops)::bigint, sum(m.acked)::bigint, sum(m.failed)::bigint,
           sum(m.dead_lettered)::bigint, sum(m.age_count)::bigint, sum(m.age_sum_ms)::bigint, max(m.age_max_ms),
           sum(m.push_requests)::bigint, sum(m.ack_requests)::bigint, sum(m.transactions)::bigint,
           sum(m.errors)::bigint, sum(m.calls)::bigint, sum(m.call_micros)::bigint,
           ROW(sum((m.cpu_user).sum), min((m.cpu_user).min), max((m.cpu_user).max), (max(l.last))[2])::queen.gauge,
           ROW(sum((m.cpu_system).sum), min((m.cpu_system).min), max((m.cpu_system).max),
               (max(l.last))[3])::queen.gauge,
           ROW(sum((m.rss_bytes).sum), min((m.rss_bytes).min), max((m.rss_bytes).max), (max(l.last))[4])::queen.gauge,
           ROW(sum((m.slots_busy).sum), min((m.slots_busy).min), max((m.slots_busy).max),
               (max(l.last))[5])::queen.gauge,
           ROW(sum((m.slots_total).sum), min((m.slots_total).min), max((m.slots_total).max),
               (max(l.last))[6])::queen.gauge,
           ROW(sum((m.slots_free).sum), min((m.slots_free).min), max((m.slots_free).max),
               (max(l.last))[7])::queen.gauge,
           ROW(sum((m.waiting_polls).sum), min((m.waiting_polls).min), max((m.waiting_polls).max),
               (max(l.last))[8])::queen.gauge,
           ROW(sum((m.queued_items).sum), min((m.queued_items).min), max((m.queued_items).max),
               (max(l.last))[9])::queen.gauge,
           ROW(sum((m.groups_backed_off).sum), min((m.groups_backed_off).min), max((m.groups_backed_off).max),
               (max(l.last))[10])::queen.gauge,
           ROW(sum((m.buffered_messages).sum), min((m.buffered_messages).min), max((m.buffered_messages).max),
               (max(l.last))[11])::queen.gauge,
           ROW(sum((m.loop_lag_ms).sum), min((m.loop_lag_ms).min), max((m.loop_lag_ms).max),
               (max(l.last))[12])::queen.gauge
    FROM (SELECT h.* FROM queen.whole_hours(p_from, p_to) w JOIN queen.broker_hours h ON h.hour = w.hour
          WHERE (p_hostname IS NULL OR h.hostname = p_hostname) AND (p_port IS NULL OR h.port = p_port)
          UNION ALL
          SELECT s.* FROM queen.broker_sums(p_from, p_to, p_minutes, true, p_hostname, p_port) s) m
    CROSS JOIN LATERAL (
        SELECT ARRAY[
            date_part('epoch', m.seen_at), (m.cpu_user).last, (m.cpu_system).last, (m.rss_bytes).last,
            (m.slots_busy).last, (m.slots_total).last, (m.slots_free).last, (m.waiting_polls).last,
            (m.queued_items).last, (m.groups_backed_off).last, (m.buffered_messages).last, (m.loop_lag_ms).last] AS last OFFSET 0) l
    GROUP BY 1, 2, 3;
END $$;
