-- requires: report_range, queue_points, api_time
-- GET /api/v1/analytics/queue-ops: what was done to each queue, oldest point first. A page of queues, the busiest
-- first; every queue of it has every point.
CREATE OR REPLACE FUNCTION queen.report_queue_ops(p_from timestamptz, p_to timestamptz, p_minutes int, p_queue text,
                                                  p_namespace text, p_task text, p_limit int, p_offset int)
RETURNS json LANGUAGE sql STABLE AS $$
    WITH page AS MATERIALIZED (
        SELECT t.from_time, t.to_time, ARRAY(
            SELECT b.queue FROM queen.busy_queues(t.from_time, t.to_time, p_queue, p_namespace, p_task,
                                                  p_limit, p_offset) b) AS queues
        FROM queen.report_range(p_from, p_to, p_minutes) t),
    r AS MATERIALIZED (
        SELECT x.* FROM page, queen.lines_range(page.from_time, page.to_time, p_minutes, cardinality(page.queues)) x)
    SELECT json_build_object(
        'timeRange', json_build_object('from', queen.api_time(r.from_time), 'to', queen.api_time(r.to_time)),
        'bucketMinutes', r.minutes,
        'pointCount', (SELECT count(*) FROM queen.report_buckets(r.from_time, r.to_time, r.minutes)),
        'queues', (SELECT coalesce(json_agg(queen.shown_queue(u.name) ORDER BY u.name), '[]')
                   FROM unnest(page.queues) AS u(name)),
        'series', coalesce((
            SELECT json_agg(s) FROM (
                SELECT queen.api_time(x.bucket) AS bucket, queen.shown_queue(x.queue) AS "queueName",
                       x.pushed AS "pushMessages", x.duplicates, x.buffered AS "bufferedMessages",
                       x.popped AS "popMessages", x.pops AS "popRequests", x.empty_pops AS "popEmpty",
                       x.acked + x.failed AS "ackMessages", x.acked AS "ackSuccess", x.failed AS "ackFailed",
                       x.dead_lettered AS "dlqCount",
                       round((x.pushed / x.seconds)::numeric, 2) AS "pushPerSecond",
                       round((x.popped / x.seconds)::numeric, 2) AS "popPerSecond",
                       round(((x.acked + x.failed) / x.seconds)::numeric, 2) AS "ackPerSecond",
                       round((x.empty_pops / x.seconds)::numeric, 2) AS "emptyPerSecond",
                       coalesce(round(x.age_sum_ms::numeric / nullif(x.age_count, 0)), 0) AS "avgLagMs",
                       x.age_max_ms AS "maxLagMs", round(x.parked::numeric, 2) AS "parkedCount"
                FROM queen.queue_points(r.from_time, r.to_time, r.minutes, page.queues) x ORDER BY x.bucket, x.queue) s), '[]'),
        'pagination', json_build_object('limit', p_limit, 'offset', p_offset))
    FROM r, page
$$;
