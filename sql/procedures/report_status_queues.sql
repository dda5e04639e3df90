-- requires: api_time, ids
-- GET /api/v1/status/queues: a page of queues by name, as measured by the stats job, with what was done to them in the
-- newest five full minutes. lagSeconds: how long the oldest message has been waiting. next: the offset of the next page;
-- a page that was thinned out for a limited token does not tell by its length.
CREATE OR REPLACE FUNCTION queen.report_status_queues(p_queue text, p_namespace text, p_task text, p_limit int, p_offset int)
RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object(
        'queues', coalesce(json_agg(json_build_object(
            'id', queen.queue_uuid(q.id), 'name', q.name, 'namespace', q.namespace, 'task', q.task,
            'createdAt', queen.api_time(q.created_at), 'partitions', coalesce(s.partitions, 0),
            'messages', json_build_object('total', coalesce(s.stored, 0), 'pending', coalesce(s.pending, 0),
                'processing', coalesce(s.processing, 0), 'completed', coalesce(s.completed, 0),
                'failed', coalesce(s.failed, 0), 'deadLetter', coalesce(s.dead_letters, 0)),
            'lagSeconds', coalesce(round(extract(epoch FROM clock_timestamp() - s.oldest_unconsumed_at)), 0),
            'ingestedPerSecond', round(coalesce(m.ingested, 0) / 300.0, 2),
            'processedPerSecond', round(coalesce(m.processed, 0) / 300.0, 2)) ORDER BY q.name), '[]'),
        'pagination', json_build_object('limit', p_limit, 'offset', p_offset),
        'next', CASE WHEN count(*) = p_limit THEN p_offset + p_limit END)
    FROM (SELECT x.* FROM queen.queues x
          WHERE (p_queue IS NULL OR x.name = p_queue) AND (p_namespace IS NULL OR x.namespace = p_namespace)
            AND (p_task IS NULL OR x.task = p_task)
          ORDER BY x.name LIMIT p_limit OFFSET p_offset) q
    LEFT JOIN queen.queue_stats s ON s.queue_id = q.id
    CROSS JOIN LATERAL (SELECT date_trunc('minute', clock_timestamp() - interval '10 seconds') AS until OFFSET 0) t
    LEFT JOIN LATERAL (
        SELECT sum(x.pushed + x.buffered) AS ingested, sum(x.acked + x.dead_lettered) AS processed
        FROM queen.queue_minutes x
        WHERE x.queue = q.name AND x.minute >= t.until - interval '5 minutes' AND x.minute < t.until) m ON true
$$;
