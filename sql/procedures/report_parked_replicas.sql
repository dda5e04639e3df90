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
RETURNS json LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_range    record;
    v_by_hours boolean;
    v_queues   text[];
    v_first    timestamptz;
    v_last     timestamptz;
    v_open     timestamptz[];
BEGIN
    SELECT * INTO v_range FROM queen.report_range(p_from, p_to, p_minutes);
    v_by_hours := v_range.minutes % 60 = 0;
    v_queues := ARRAY(SELECT b.queue FROM queen.busy_queues(v_range.from_time, v_range.to_time, p_queue, p_namespace, p_task,
                                                            p_limit, p_offset) b);
    IF v_by_hours THEN
        SELECT t.first, t.last, t.open INTO v_first, v_last, v_open FROM queen.hour_span(v_range.from_time, v_range.to_time) t;
    END IF;
    RETURN (
    WITH minutes AS MATERIALIZED (
        SELECT h.hour AS minute, h.queue, h.hostname, h.port, h.parked, h.parked_max
        FROM unnest(v_queues) AS u(queue)
        JOIN queen.parked_hours h ON h.queue = u.queue AND h.hour >= v_first AND h.hour <= v_last
        WHERE v_by_hours AND h.hour <> ALL (v_open)
        UNION ALL
        SELECT s.* FROM queen.other_minutes(v_range.from_time, v_range.to_time, v_by_hours) o
        CROSS JOIN LATERAL queen.parked_minutes(o.from_time, o.to_time, v_queues) s),
    lines AS MATERIALIZED (SELECT DISTINCT m.queue, m.hostname, m.port FROM minutes m),
    r AS MATERIALIZED (
        SELECT x.* FROM queen.lines_range(v_range.from_time, v_range.to_time, p_minutes, (SELECT count(*) FROM lines)) x),
    points AS (
        SELECT m.bucket, m.queue, m.hostname, m.port, sum(m.parked) AS parked, max(m.parked_max) AS parked_max, max(m.seconds) AS seconds
        FROM (SELECT date_bin(r.minutes * interval '1 minute', m.minute, timestamptz 'epoch') AS bucket, m.queue, m.hostname,
                     m.port, m.parked, m.parked_max, 0::float8 AS seconds
              FROM r CROSS JOIN minutes m
              UNION ALL  -- every point is there; no join, whose cost nobody can estimate
              SELECT b.bucket, l.queue, l.hostname, l.port, 0, 0, b.seconds
              FROM r CROSS JOIN LATERAL queen.report_buckets(r.from_time, r.to_time, r.minutes) b CROSS JOIN lines l) m
        GROUP BY m.bucket, m.queue, m.hostname, m.port
    )
    SELECT json_build_object(
        'timeRange', json_build_object('from', queen.api_time(r.from_time), 'to', queen.api_time(r.to_time)),
        'bucketMinutes', r.minutes,
        'replicas', (SELECT coalesce(json_agg(json_build_object('hostname', x.hostname, 'workerId', x.port)
                                              ORDER BY x.hostname, x.port), '[]')
                     FROM (SELECT DISTINCT l.hostname, l.port FROM lines l) x),
        'series', (SELECT coalesce(json_agg(s), '[]')
                   FROM (SELECT queen.api_time(p.bucket) AS bucket, queen.shown_queue(p.queue) AS "queueName", p.hostname,
                                p.port AS "workerId", round((p.parked / ceil(p.seconds / 60))::numeric, 2) AS "parkedCount",
                                p.parked_max AS "maxParkedCount"
                         FROM points p ORDER BY p.bucket, p.queue, p.hostname, p.port) s),
        'pagination', json_build_object('limit', p_limit, 'offset', p_offset))
    FROM r);
END $$;
