-- requires: report_range, api_time
-- GET /api/v1/analytics/retention: what retention removed, oldest point first. An event is a step of a sweep
-- that removed something of one queue.
CREATE OR REPLACE FUNCTION queen.report_retention(p_from timestamptz, p_to timestamptz, p_minutes int, p_queue text)
RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object(
        'timeRange', json_build_object('from', queen.api_time(r.from_time), 'to', queen.api_time(r.to_time)),
        'bucketMinutes', r.minutes,
        'series', coalesce(json_agg(json_build_object('bucket', queen.api_time(b.bucket),
            'retentionMsgs', x.retention, 'completedRetentionMsgs', x.completed, 'evictionMsgs', x.evicted,
            'totalMsgs', x.retention + x.completed + x.evicted, 'eventCount', x.events) ORDER BY b.bucket)
            FILTER (WHERE b.bucket IS NOT NULL), '[]'),
        'totals', json_build_object('retentionMsgs', coalesce(sum(x.retention), 0),
            'completedRetentionMsgs', coalesce(sum(x.completed), 0), 'evictionMsgs', coalesce(sum(x.evicted), 0),
            'totalMsgs', coalesce(sum(x.retention + x.completed + x.evicted), 0), 'eventCount', coalesce(sum(x.events), 0)))
    FROM queen.report_range(p_from, p_to, p_minutes) r
    LEFT JOIN LATERAL queen.report_buckets(r.from_time, r.to_time, r.minutes) b ON true
    LEFT JOIN LATERAL (
        SELECT coalesce(sum(t.retention), 0) AS retention, coalesce(sum(t.completed), 0) AS completed,
               coalesce(sum(t.evicted), 0) AS evicted, count(*) AS events
        FROM queen.retention_runs t
        WHERE t.at >= greatest(b.bucket, date_trunc('minute', r.from_time))
          AND t.at < least(b.bucket + r.minutes * interval '1 minute',
                           date_trunc('minute', r.to_time + interval '1 minute' - interval '1 microsecond'))
          AND (p_queue IS NULL OR t.queue = p_queue)) x ON true
    GROUP BY r.from_time, r.to_time, r.minutes
$$;
