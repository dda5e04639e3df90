-- requires: report_range, traffic, api_time
-- GET /api/v1/status/analytics: what was done, point by point, oldest first, and the sums of it.
CREATE OR REPLACE FUNCTION queen.report_analytics(p_from timestamptz, p_to timestamptz, p_minutes int, p_queue text,
                                                  p_namespace text, p_task text)
RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object(
        'from', queen.api_time(r.from_time), 'to', queen.api_time(r.to_time),
        'interval', CASE r.minutes WHEN 1 THEN 'minute' WHEN 60 THEN 'hour' WHEN 1440 THEN 'day'
                                   ELSE r.minutes || 'm' END,
        'bucketMinutes', r.minutes,
        'pointCount', count(t.bucket),
        'dataPoints', coalesce(json_agg(json_build_object(
            'timestamp', queen.api_time(t.bucket),
            'messages', t.pushed + t.buffered,
            'ingested', t.pushed + t.buffered,
            'ingestedBytes', t.push_bytes,
            'duplicates', t.duplicates,
            'popped', t.popped,
            'processed', t.acked + t.dead_lettered,
            'completed', t.acked,
            'failed', t.failed,
            'deadLetter', t.dead_lettered,
            'avgLagMs', coalesce(round(t.age_sum_ms::numeric / nullif(t.age_count, 0)), 0),
            'maxLagMs', t.age_max_ms) ORDER BY t.bucket) FILTER (WHERE t.bucket IS NOT NULL), '[]'),
        'totals', json_build_object(
            'ingested', coalesce(sum(t.pushed + t.buffered), 0),
            'duplicates', coalesce(sum(t.duplicates), 0),
            'popped', coalesce(sum(t.popped), 0),
            'processed', coalesce(sum(t.acked + t.dead_lettered), 0),
            'completed', coalesce(sum(t.acked), 0),
            'failed', coalesce(sum(t.failed), 0),
            'deadLetter', coalesce(sum(t.dead_lettered), 0)))
    FROM queen.report_range(p_from, p_to, p_minutes) r
    LEFT JOIN LATERAL queen.traffic(r.from_time, r.to_time, r.minutes, p_queue, p_namespace, p_task) t ON true
    GROUP BY r.from_time, r.to_time, r.minutes
$$;
