-- requires: report_range, api_time, broker_points
-- A gauge over several minutes of p_looks looks.
CREATE OR REPLACE FUNCTION queen.gauge_json(p_sum float8, p_looks bigint, p_min float8, p_max float8, p_last float8)
RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object('avg', coalesce(round((p_sum / nullif(p_looks, 0))::numeric, 2), 0),
        'min', coalesce(p_min, 0), 'max', coalesce(p_max, 0), 'last', coalesce(p_last, 0))
$$;

-- GET /api/v1/analytics/system-metrics: the process of each broker, oldest point first. All brokers have the
-- same points; sampleCount 0 says that one did not run. cpu is in hundredths of a percent of one core, as the
-- dashboard reads it.
CREATE OR REPLACE FUNCTION queen.report_system_metrics(p_from timestamptz, p_to timestamptz, p_minutes int,
                                                       p_hostname text, p_port int)
RETURNS json LANGUAGE sql STABLE AS $$
    WITH t AS MATERIALIZED (SELECT * FROM queen.report_range(p_from, p_to, p_minutes)),
    brokers AS MATERIALIZED (
        SELECT DISTINCT m.hostname, m.port FROM (
            SELECT h.hostname, h.port FROM t, queen.whole_hours(t.from_time, t.to_time) w JOIN queen.broker_hours h ON h.hour = w.hour
            UNION ALL
            SELECT h.hostname, h.port FROM t, queen.other_minutes(t.from_time, t.to_time, true) o
            JOIN queen.broker_minutes h ON h.minute >= o.from_time AND h.minute < o.to_time) m
        WHERE (p_hostname IS NULL OR m.hostname = p_hostname) AND (p_port IS NULL OR m.port = p_port)),
    r AS MATERIALIZED (  -- a point is as long as two of others
        SELECT x.* FROM t, queen.lines_range(t.from_time, t.to_time, p_minutes, 2 * (SELECT count(*) FROM brokers)) x),
    points AS MATERIALIZED (
        SELECT m.hostname, m.port, m.hour AS bucket, m.looks, json_build_object(
            'cpu', json_build_object(
                'user_us', queen.gauge_json((m.cpu_user).sum, m.minutes, (m.cpu_user).min, (m.cpu_user).max, (m.cpu_user).last),
                'system_us', queen.gauge_json((m.cpu_system).sum, m.minutes, (m.cpu_system).min, (m.cpu_system).max, (m.cpu_system).last)),
            'memory', json_build_object(
                'rss_bytes', queen.gauge_json((m.rss_bytes).sum, m.looks, (m.rss_bytes).min, (m.rss_bytes).max, (m.rss_bytes).last)),
            'database', json_build_object(
                'pool_size', queen.gauge_json((m.slots_total).sum, m.looks, (m.slots_total).min, (m.slots_total).max, (m.slots_total).last),
                'pool_active', queen.gauge_json((m.slots_busy).sum, m.looks, (m.slots_busy).min, (m.slots_busy).max, (m.slots_busy).last),
                'pool_idle', queen.gauge_json((m.slots_free).sum, m.looks, (m.slots_free).min, (m.slots_free).max, (m.slots_free).last)),
            'threadpool', json_build_object('db', json_build_object(
                'queue_size', queen.gauge_json((m.queued_items).sum, m.looks, (m.queued_items).min, (m.queued_items).max, (m.queued_items).last))),
            'polls', json_build_object(
                'waiting', queen.gauge_json((m.waiting_polls).sum, m.looks, (m.waiting_polls).min, (m.waiting_polls).max, (m.waiting_polls).last)),
            'buffer', json_build_object(
                'messages', queen.gauge_json((m.buffered_messages).sum, m.looks, (m.buffered_messages).min, (m.buffered_messages).max, (m.buffered_messages).last)),
            'event_loop', json_build_object(
                'lag_ms', queen.gauge_json((m.loop_lag_ms).sum, m.looks, (m.loop_lag_ms).min, (m.loop_lag_ms).max, (m.loop_lag_ms).last))) AS metrics
        FROM r, queen.broker_points(r.from_time, r.to_time, r.minutes, p_hostname, p_port) m
    ),
    nothing AS MATERIALIZED (
        SELECT json_build_object('cpu', json_build_object('user_us', z, 'system_us', z),
            'memory', json_build_object('rss_bytes', z),
            'database', json_build_object('pool_size', z, 'pool_active', z, 'pool_idle', z),
            'threadpool', json_build_object('db', json_build_object('queue_size', z)),
            'polls', json_build_object('waiting', z), 'buffer', json_build_object('messages', z),
            'event_loop', json_build_object('lag_ms', z)) AS metrics
        FROM queen.gauge_json(0, 0, 0, 0, 0) z
    ),
    replicas AS (
        SELECT b.hostname, b.port, json_agg(json_build_object(
            'timestamp', queen.api_time(k.bucket), 'sampleCount', coalesce(p.looks, 0),
            'metrics', coalesce(p.metrics, n.metrics)) ORDER BY k.bucket) AS series, count(*) AS points
        FROM brokers b CROSS JOIN r CROSS JOIN nothing n
        CROSS JOIN LATERAL queen.report_buckets(r.from_time, r.to_time, r.minutes) k
        LEFT JOIN points p ON p.hostname = b.hostname AND p.port = b.port AND p.bucket = k.bucket
        GROUP BY b.hostname, b.port
    )
    SELECT json_build_object(
        'timeRange', json_build_object('from', queen.api_time(r.from_time), 'to', queen.api_time(r.to_time)),
        'bucketMinutes', r.minutes,
        'pointCount', (SELECT coalesce(max(x.points), 0) FROM replicas x),
        'replicaCount', (SELECT count(*) FROM replicas),
        'replicas', (SELECT coalesce(json_agg(json_build_object('hostname', x.hostname, 'port', x.port,
                        'workerId', x.port, 'timeSeries', x.series) ORDER BY x.hostname, x.port), '[]') FROM replicas x))
    FROM r
$$;
