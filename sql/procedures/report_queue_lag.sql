-- requires: report_range, queue_points, api_time
-- GET /api/v1/analytics/queue-lag: how old messages were when they were delivered, newest point first; an array.
-- Of a page of queues, the busiest of the range; popCount is what was delivered in the whole point.
CREATE OR REPLACE FUNCTION queen.report_queue_lag(p_from timestamptz, p_to timestamptz, p_minutes int, p_queue text,
                                                  p_namespace text, p_task text, p_limit int, p_offset int)
RETURNS json LANGUAGE sql STABLE AS $$
    WITH page AS MATERIALIZED (
        SELECT t.from_time, t.to_time, ARRAY(
            SELECT b.queue FROM queen.busy_queues(t.from_time, t.to_time, p_queue, p_namespace, p_task,
                                                  p_limit, p_offset) b) AS queues
        FROM queen.report_range(p_from, p_to, p_minutes) t)
    SELECT coalesce(json_agg(s), '[]')
    FROM (SELECT queen.api_time(x.bucket) AS "bucketTime", queen.shown_queue(x.queue) AS "queueName", x.popped AS "popCount",
                 coalesce(round(x.age_sum_ms::numeric / nullif(x.age_count, 0)), 0) AS "avgLagMs", x.age_max_ms AS "maxLagMs"
          FROM page
          CROSS JOIN LATERAL queen.lines_range(page.from_time, page.to_time, p_minutes, cardinality(page.queues)) r
          CROSS JOIN LATERAL queen.queue_points(r.from_time, r.to_time, r.minutes, page.queues) x
          ORDER BY x.bucket DESC, x.queue) s
$$;
