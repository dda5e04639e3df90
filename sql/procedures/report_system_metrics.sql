-- requires: report_range, api_time
-- A gauge over several minutes of p_looks looks.
CREATE OR REPLACE FUNCTION queen.gauge_json(p_sum float8, p_looks bigint, p_min float8, p_max float8, p_last float8)
RETURNS json LANGUAGE sql IMMUTABLE AS $$
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
        SELECT DISTINCT m.hostname, m.port
        FROM t JOIN queen.broker_minutes m ON m.minute >= date_trunc('minute', t.from_time) AND m.minute < t.to_time
        WHERE (p_hostname IS NULL OR m.hostname = p_hostname) AND (p_port IS NULL OR m.port = p_port)),
    r AS MATERIALIZED (  -- a point is as long as two of others
        SELECT x.* FROM t, queen.lines_range(t.from_time, t.to_time, p_minutes, 2 * (SELECT count(*) FROM brokers)) x),
    minutes AS MATERIALIZED (
        SELECT date_bin(r.minutes * interval '1 minute', m.minute, timestamptz 'epoch') AS bucket, m.seen_at,
               m.hostname, m.port, m.looks, m.cpu_user_micros / (100 * s.passed) AS cpu_user,
               m.cpu_system_micros / (100 * s.passed) AS cpu_system, m.rss_bytes, m.slots_busy, m.slots_total, m.queued_items,
               m.waiting_polls, m.buffered_messages, m.loop_lag_ms
        FROM r JOIN queen.broker_minutes m ON m.minute >= date_trunc('minute', r.from_time) AND m.minute < r.to_time
        CROSS JOIN LATERAL (
            SELECT least(60, greatest(1, extract(epoch FROM m.seen_at - m.minute)))::float8 AS passed) s
        WHERE (p_hostname IS NULL OR m.hostname = p_hostname) AND (p_port IS NULL OR m.port = p_port)
    ),
    latest AS (
        SELECT DISTINCT ON (m.hostname, m.port, m.bucket) m.* FROM minutes m
        ORDER BY m.hostname, m.port, m.bucket, m.seen_at DESC
    ),
    points AS MATERIALIZED (
        SELECT m.hostname, m.port, m.bucket, sum(m.looks)::bigint AS looks, json_build_object(
            'cpu', json_build_object(
                'user_us', queen.gauge_json(sum(m.cpu_user), count(*), min(m.cpu_user), max(m.cpu_user),
                                            min(l.cpu_user)),
                'system_us', queen.gauge_json(sum(m.cpu_system), count(*), min(m.cpu_system),
                                              max(m.cpu_system), min(l.cpu_system))),
            'memory', json_build_object(
                'rss_bytes', queen.gauge_json(sum((m.rss_bytes).sum), sum(m.looks)::bigint, min((m.rss_bytes).min),
                    max((m.rss_bytes).max), min((l.rss_bytes).last))),
            'database', json_build_object(
                'pool_size', queen.gauge_json(sum((m.slots_total).sum), sum(m.looks)::bigint, min((m.slots_total).min),
                    max((m.slots_total).max), min((l.slots_total).last)),
                'pool_active', queen.gauge_json(sum((m.slots_busy).sum), sum(m.looks)::bigint, min((m.slots_busy).min),
                    max((m.slots_busy).max), min((l.slots_busy).last)),
                'pool_idle', queen.gauge_json(sum((m.slots_total).sum - (m.slots_busy).sum), sum(m.looks)::bigint,
                    min((m.slots_total).min - (m.slots_busy).max), max((m.slots_total).max - (m.slots_busy).min),
                    min((l.slots_total).last - (l.slots_busy).last))),
            'threadpool', json_build_object('db', json_build_object(
                'queue_size', queen.gauge_json(sum((m.queued_items).sum), sum(m.looks)::bigint, min((m.queued_items).min),
                    max((m.queued_items).max), min((l.queued_items).last)))),
            'polls', json_build_object('waiting', queen.gauge_json(sum((m.waiting_polls).sum), sum(m.looks)::bigint,
                min((m.waiting_polls).min), max((m.waiting_polls).max),
                min((l.waiting_polls).last))),
            'buffer', json_build_object('messages', queen.gauge_json(sum((m.buffered_messages).sum), sum(m.looks)::bigint,
                min((m.buffered_messages).min), max((m.buffered_messages).max),
                min((l.buffered_messages).last))),
            'event_loop', json_build_object('lag_ms', queen.gauge_json(sum((m.loop_lag_ms).sum), sum(m.looks)::bigint,
                min((m.loop_lag_ms).min), max((m.loop_lag_ms).max),
                min((l.loop_lag_ms).last)))) AS metrics
        FROM minutes m JOIN latest l ON l.hostname = m.hostname AND l.port = m.port AND l.bucket = m.bucket
        GROUP BY m.hostname, m.port, m.bucket
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
