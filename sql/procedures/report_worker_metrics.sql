-- requires: report_range, api_time, broker_points, broker_workers
-- GET /api/v1/analytics/worker-metrics: what the brokers did and how they felt, newest point first.
CREATE OR REPLACE FUNCTION queen.report_worker_metrics(p_from timestamptz, p_to timestamptz, p_minutes int,
                                                       p_hostname text, p_port int)
RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object(
        'timeRange', json_build_object('from', queen.api_time(r.from_time), 'to', queen.api_time(r.to_time)),
        'bucketMinutes', r.minutes,
        'pointCount', count(b.bucket),
        'timeSeries', coalesce(json_agg(json_build_object(
            'timestamp', queen.api_time(b.bucket),
            'pushMessages', coalesce(m.pushed, 0), 'popMessages', coalesce(m.popped, 0),
            'ackMessages', coalesce(m.acked + m.failed, 0),
            'pushRequests', coalesce(m.push_requests, 0), 'popRequests', coalesce(m.pops, 0),
            'ackRequests', coalesce(m.ack_requests, 0), 'transactions', coalesce(m.transactions, 0),
            'jobsDone', coalesce(m.jobs, 0),
            'pushPerSecond', round((coalesce(m.pushed, 0) / b.seconds)::numeric, 2),
            'popPerSecond', round((coalesce(m.popped, 0) / b.seconds)::numeric, 2),
            'ackPerSecond', round((coalesce(m.acked + m.failed, 0) / b.seconds)::numeric, 2),
            'avgEventLoopLagMs', coalesce(round((m.lag_sum / nullif(m.looks, 0))::numeric, 2), 0),
            'maxEventLoopLagMs', coalesce(m.lag_max, 0),
            'avgFreeSlots', coalesce(round(((m.slots_sum - m.busy_sum) / nullif(m.looks, 0))::numeric, 1), 0),
            'minFreeSlots', coalesce(m.free_min, 0),
            'dbConnections', coalesce(m.slots_max, 0),
            'avgJobQueueSize', coalesce(round((m.queued_sum / nullif(m.looks, 0))::numeric, 1), 0),
            'maxJobQueueSize', coalesce(m.queued_max, 0),
            'waitingPolls', coalesce(round((m.waiting_sum / nullif(m.looks, 0))::numeric, 1), 0),
            'backoffSize', coalesce(m.backed_off, 0),
            'avgLagMs', coalesce(round(m.age_sum / nullif(m.age_count, 0)), 0),
            'maxLagMs', coalesce(m.age_max, 0), 'lagCount', coalesce(m.age_count, 0),
            'dbErrors', coalesce(m.errors, 0), 'ackSuccess', coalesce(m.acked, 0), 'ackFailed', coalesce(m.failed, 0),
            'dlqCount', coalesce(m.dead_lettered, 0),
            'avgCallMs', coalesce(round((m.micros / 1000.0 / nullif(m.jobs, 0))::numeric, 3), 0))
            ORDER BY b.bucket DESC) FILTER (WHERE b.bucket IS NOT NULL), '[]'),
        'workers', queen.broker_workers())
    FROM queen.report_range(p_from, p_to, p_minutes) r
    LEFT JOIN LATERAL queen.report_buckets(r.from_time, r.to_time, r.minutes) b ON true
    LEFT JOIN LATERAL (
        SELECT m.hour AS bucket, sum(m.pushed) AS pushed, sum(m.popped) AS popped, sum(m.acked) AS acked,
               sum(m.failed) AS failed, sum(m.dead_lettered) AS dead_lettered, sum(m.push_requests) AS push_requests,
               sum(m.pops) AS pops, sum(m.ack_requests) AS ack_requests, sum(m.transactions) AS transactions,
               sum(m.errors) AS errors, sum(m.calls) AS jobs, sum(m.call_micros) AS micros,
               sum(m.looks) AS looks, sum((m.loop_lag_ms).sum) AS lag_sum, max((m.loop_lag_ms).max) AS lag_max,
               sum((m.slots_total).sum) AS slots_sum, sum((m.slots_busy).sum) AS busy_sum,
               min((m.slots_free).min) AS free_min, max((m.slots_total).max) AS slots_max,
               sum((m.queued_items).sum) AS queued_sum, max((m.queued_items).max) AS queued_max,
               sum((m.waiting_polls).sum) AS waiting_sum, max((m.groups_backed_off).max) AS backed_off,
               sum(m.age_sum_ms) AS age_sum, sum(m.age_count) AS age_count, max(m.age_max_ms) AS age_max
        FROM queen.broker_points(r.from_time, r.to_time, r.minutes, p_hostname, p_port) m GROUP BY m.hour) m ON m.bucket = b.bucket
    GROUP BY r.from_time, r.to_time, r.minutes
$$;
