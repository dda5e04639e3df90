-- requires: report_range, queue_points, api_time
-- The pops that waited, minute by minute, of each broker; p_queues NULL: at all queues.
CREATE OR REPLACE FUNCTION queen.parked_minutes(p_from timestamptz, p_to timestamptz, p_queues text[])
RETURNS TABLE (minute timestamptz, queue text, hostname text, port int, parked float8, parked_max bigint) LANGUAGE sql STABLE AS $$
    SELECT m.minute, m.queue, k.hostname, k.port, m.parked_sum::float8 / greatest(k.looks, 1), m.parked_max
    FROM queen.queue_minutes m JOIN queen.broker_minutes k ON k.minute = m.minute AND k.broker = m.broker
    WHERE m.minute >= p_from AND m.minute < p_to AND m.parked_sum > 0 AND (p_queues IS NULL OR m.queue = ANY (p_queues))
$$;

-- GET /api/v1/analytics/queue-parked-replicas: pops that waited, on average, per queue and broker, oldest point
-- first. Of a page of queues, the busiest of the range; a broker and a queue have every point if they have any.
CREATE OR REPLACE FUNCTION queen.report_parked_replicas(p_from timestamptz, p_to timestamptz, p_minutes int,
                                                        p_queue text, p_namespace text, p_task text,
                                                        p_limit int, p_offset int)
RETURNS json LANGUAGE sql STABLE AS $$
    WITH page AS MATERIALIZED (
        SELECT t.from_time, t.to_time, t.minutes % 60 = 0 AS by_hours, ARRAY(
            SELECT b.queue FROM queen.busy_queues(t.from_time, t.to_time, p_queue, p_namespace, p_task,
                                                  p_limit, p_offset) b) AS queues
        FROM queen.report_range(p_from, p_to, p_minutes) t),
    minutes AS MATERIALIZED (
        SELECT h.hour AS minute, h.queue, h.hostname, h.port, h.parked, h.parked_max
        FROM page CROSS JOIN LATERAL queen.whole_hours(page.from_time, page.to_time) w
        JOIN queen.parked_hours h ON h.hour = w.hour AND h.queue = ANY (page.queues)
        WHERE page.by_hours
        UNION ALL
        SELECT s.* FROM page
        CROSS JOIN LATERAL queen.other_minutes(page.from_time, page.to_time, page.by_hours) o
        CROSS JOIN LATERAL queen.parked_minutes(o.from_time, o.to_time, page.queues) s),
    lines AS MATERIALIZED (SELECT DISTINCT m.queue, m.hostname, m.port FROM minutes m),
    r AS MATERIALIZED (
        SELECT x.* FROM page, queen.lines_range(page.from_time, page.to_time, p_minutes, (SELECT count(*) FROM lines)) x),
    parked AS (
        SELECT date_bin(r.minutes * interval '1 minute', m.minute, timestamptz 'epoch') AS bucket, m.queue, m.hostname,
               m.port, sum(m.parked) AS parked, max(m.parked_max) AS parked_max
        FROM r CROSS JOIN minutes m
        GROUP BY 1, 2, 3, 4
    )
    SELECT json_build_object(
        'timeRange', json_build_object('from', queen.api_time(r.from_time), 'to', queen.api_time(r.to_time)),
        'bucketMinutes', r.minutes,
        'replicas', (SELECT coalesce(json_agg(json_build_object('hostname', x.hostname, 'workerId', x.port)
                                              ORDER BY x.hostname, x.port), '[]')
                     FROM (SELECT DISTINCT l.hostname, l.port FROM lines l) x),
        'series', coalesce((
            SELECT json_agg(json_build_object('bucket', queen.api_time(b.bucket), 'queueName', queen.shown_queue(l.queue),
                'hostname', l.hostname, 'workerId', l.port,
                'parkedCount', round((coalesce(p.parked, 0) / ceil(b.seconds / 60))::numeric, 2),
                'maxParkedCount', coalesce(p.parked_max, 0)) ORDER BY b.bucket, l.queue, l.hostname, l.port)
            FROM lines l CROSS JOIN queen.report_buckets(r.from_time, r.to_time, r.minutes) b
            LEFT JOIN parked p ON p.bucket = b.bucket AND p.queue = l.queue AND p.hostname = l.hostname
                              AND p.port = l.port), '[]'),
        'pagination', json_build_object('limit', p_limit, 'offset', p_offset))
    FROM r
$$;
