-- requires: api_time, ids, lane_numbers
-- GET /api/v1/status/queues/:queue: one queue, and a page of its partitions by name, as they are at this moment. NULL:
-- there is no such queue. The totals are the stats job's.
--   cursor.totalConsumed   messages of the partition that every group is past, by their offsets
CREATE OR REPLACE FUNCTION queen.report_status_queue(p_queue text, p_limit int, p_offset int)
RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_queue      queen.queues;
    v_ids        int[];
    v_partitions json;
BEGIN
    SELECT q.* INTO v_queue FROM queen.queues q WHERE q.name = p_queue;
    IF NOT FOUND THEN RETURN NULL; END IF;
    v_ids := ARRAY(SELECT p.id FROM queen.partitions p WHERE p.queue_id = v_queue.id
                   ORDER BY p.name LIMIT p_limit OFFSET p_offset);
    WITH lane AS MATERIALIZED (
        SELECT * FROM queen.lane_numbers(v_ids, NULL, clock_timestamp())
    ), numbers AS (
        SELECT l.partition_id, min(l.amount) FILTER (WHERE l.group_id IS NULL) AS total,
               queen.partition_pending(min(l.amount) FILTER (WHERE l.group_id IS NULL),
                   array_agg(l.cursor) FILTER (WHERE l.group_id IS NOT NULL),
                   array_agg(l.amount) FILTER (WHERE l.group_id IS NOT NULL),
                   array_agg(l.settled) FILTER (WHERE l.group_id IS NOT NULL)) AS pending,
               coalesce(queen.partition_processing(array_agg(l.cursor), array_agg(l.lease_end), array_agg(l.not_leased),
                   array_agg(l.processing)), 0) AS processing,
               coalesce(sum(l.dead_letters), 0) AS dead_letters, coalesce(min(l.passed), 0) AS consumed,
               min(l.oldest_at) FILTER (WHERE l.group_id IS NULL) AS oldest_at, max(l.newest_at) AS newest_at,
               greatest(max(l.newest_at), max(l.changed_at)) AS active_at
        FROM lane l GROUP BY l.partition_id
    ), failed AS (
        SELECT l.partition_id, count(DISTINCT f.seq) AS messages
        FROM lane l CROSS JOIN LATERAL unnest(l.failed_seqs) AS f(seq) GROUP BY l.partition_id
    )
    SELECT coalesce(json_agg(json_build_object(
               'id', queen.partition_uuid(p.id), 'name', p.name, 'createdAt', queen.api_time(p.created_at),
               'messages', x.stats, 'stats', x.stats, 'cursor', json_build_object('totalConsumed', n.consumed),
               'lastActivity', queen.api_time(n.active_at),
               'oldestMessage', queen.api_time(n.oldest_at), 'newestMessage', queen.api_time(n.newest_at)) ORDER BY p.name), '[]')
    INTO v_partitions
    FROM numbers n JOIN queen.partitions p ON p.id = n.partition_id
    LEFT JOIN failed f ON f.partition_id = p.id
    CROSS JOIN LATERAL (
        SELECT json_build_object('total', n.total, 'pending', n.pending, 'processing', n.processing,
            'completed', n.total - n.pending, 'failed', coalesce(f.messages, 0), 'deadLetter', n.dead_letters) AS stats) x;
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
