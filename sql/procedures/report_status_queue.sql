-- requires: api_time, ids, report_partitions
-- GET /api/v1/status/queues/:queue: one queue, and a page of its partitions by name, as they are at this moment. NULL:
-- there is no such queue. The totals are the stats job's.
--   cursor.totalConsumed   messages of the partition that every group that reads it is past, by their offsets
CREATE OR REPLACE FUNCTION queen.report_status_queue(p_queue text, p_limit int, p_offset int)
RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_queue      queen.queues;
    v_ids        int[];
    v_partitions json;
BEGIN
    SELECT q.* INTO v_queue FROM queen.queues q WHERE q.name = p_queue;
    IF NOT FOUND THEN RETURN NULL; END IF;
    v_ids := queen.partitions_by_name(v_queue.id, p_limit, p_offset);
    SELECT coalesce(json_agg(json_build_object(
               'id', queen.partition_uuid(p.id), 'name', p.name, 'createdAt', queen.api_time(p.created_at),
               'messages', x.stats, 'stats', x.stats, 'cursor', json_build_object('totalConsumed', r.consumed),
               'lastActivity', queen.api_time(greatest(n.newest_at, r.changed_at)),
               'oldestMessage', queen.api_time(n.oldest_at), 'newestMessage', queen.api_time(n.newest_at)) ORDER BY p.name), '[]')
    INTO v_partitions
    FROM queen.partition_numbers(v_ids) n
    JOIN queen.partitions p ON p.id = n.partition_id
    CROSS JOIN LATERAL (
        SELECT queen.partition_stats(n.total, n.pending, n.processing, n.failed, n.dead_letters) AS stats) x
    CROSS JOIN LATERAL (
        SELECT coalesce(min(y.cursor), 0) AS consumed, max(y.changed_at) AS changed_at
        FROM queen.groups g CROSS JOIN LATERAL (
            SELECT z.cursor, z.changed_at FROM queen.progress z WHERE z.partition_id = p.id AND z.group_id = g.id
            ORDER BY z.epoch DESC LIMIT 1) y
        WHERE g.queue_id = v_queue.id) r;
    RETURN (SELECT json_build_object(
        'queue', json_build_object('id', queen.queue_uuid(v_queue.id), 'name', v_queue.name, 'namespace', v_queue.namespace,
            'task', v_queue.task, 'priority', v_queue.priority, 'createdAt', queen.api_time(v_queue.created_at),
            'config', json_build_object('leaseTime', v_queue.lease_time, 'retryLimit', v_queue.retry_limit,
                'retryDelay', v_queue.retry_delay, 'ttl', v_queue.ttl, 'maxQueueSize', v_queue.max_size,
                'deadLetterQueue', v_queue.dead_letter_queue)),
        'partitions', v_partitions,
        'totals', json_build_object('partitions', coalesce(s.partitions, 0), 'messages', json_build_object(
            'total', coalesce(s.stored, 0), 'pending', coalesce(s.pending, 0), 'processing', coalesce(s.processing, 0),
            'completed', coalesce(s.completed, 0), 'failed', coalesce(s.failed, 0), 'deadLetter', coalesce(s.dead_letters, 0))),
        'pagination', json_build_object('limit', p_limit, 'offset', p_offset))
        FROM (SELECT 1) o LEFT JOIN queen.queue_stats s ON s.queue_id = v_queue.id);
END $$;
