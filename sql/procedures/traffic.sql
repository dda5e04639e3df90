-- requires: report_range, broker_points, queue_points
-- What was done between p_from and p_to, per point of p_minutes: every point has a row, also one in which
-- nothing happened. Of all queues together, or of those that p_queue, p_namespace and p_task leave (NULL = any).
CREATE OR REPLACE FUNCTION queen.traffic(p_from timestamptz, p_to timestamptz, p_minutes int,
                                         p_queue text, p_namespace text, p_task text)
RETURNS TABLE (bucket timestamptz, seconds float8, pushed bigint, push_bytes bigint, duplicates bigint, buffered bigint,
               popped bigint, pops bigint, empty_pops bigint, acked bigint, failed bigint, dead_lettered bigint,
               age_count bigint, age_sum_ms bigint, age_max_ms bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_width  interval := p_minutes * interval '1 minute';
    v_queues text[];
BEGIN
    IF p_queue IS NOT NULL OR p_namespace IS NOT NULL OR p_task IS NOT NULL THEN
        v_queues := ARRAY(SELECT q.name FROM queen.queues q WHERE (p_queue IS NULL OR q.name = p_queue)
                          AND (p_namespace IS NULL OR q.namespace = p_namespace) AND (p_task IS NULL OR q.task = p_task));
    END IF;
    RETURN QUERY
    WITH minutes AS (
        SELECT m.hour AS minute, m.pushed, m.push_bytes, m.duplicates, m.buffered, m.popped, m.pops, m.empty_pops, m.acked,
               m.failed, m.dead_lettered, m.age_count, m.age_sum_ms, m.age_max_ms
        FROM queen.broker_points(p_from, p_to, p_minutes, NULL, NULL) m WHERE v_queues IS NULL
        UNION ALL
        SELECT m.hour, m.pushed, m.push_bytes, m.duplicates, m.buffered, m.popped, m.pops, m.empty_pops, m.acked,
               m.failed, m.dead_lettered, m.age_count, m.age_sum_ms, m.age_max_ms
        FROM queen.queue_hours_and_minutes(p_from, p_to, p_minutes, p_minutes % 60 = 0, v_queues) m WHERE v_queues IS NOT NULL
    )
    SELECT b.bucket, b.seconds, s.*
    FROM queen.report_buckets(p_from, p_to, p_minutes) b
    LEFT JOIN (
        SELECT date_bin(v_width, m.minute, timestamptz 'epoch') AS at, sum(m.pushed)::bigint AS pushed,
               sum(m.push_bytes)::bigint AS push_bytes, sum(m.duplicates)::bigint AS duplicates,
               sum(m.buffered)::bigint AS buffered, sum(m.popped)::bigint AS popped, sum(m.pops)::bigint AS pops,
               sum(m.empty_pops)::bigint AS empty_pops, sum(m.acked)::bigint AS acked, sum(m.failed)::bigint AS failed,
               sum(m.dead_lettered)::bigint AS dead_lettered, sum(m.age_count)::bigint AS age_count,
               sum(m.age_sum_ms)::bigint AS age_sum_ms, max(m.age_max_ms) AS age_max_ms
        FROM minutes m GROUP BY 1) x ON x.at = b.bucket
    CROSS JOIN LATERAL (
        SELECT coalesce(x.pushed, 0), coalesce(x.push_bytes, 0), coalesce(x.duplicates, 0), coalesce(x.buffered, 0),
               coalesce(x.popped, 0), coalesce(x.pops, 0), coalesce(x.empty_pops, 0), coalesce(x.acked, 0),
               coalesce(x.failed, 0), coalesce(x.dead_lettered, 0), coalesce(x.age_count, 0),
               coalesce(x.age_sum_ms, 0), coalesce(x.age_max_ms, 0)) s
    ORDER BY b.bucket;
END $$;
