-- requires: report_range, traffic, api_time, ids, broker_workers, stats_age
-- GET /api/v1/status: what was done in a time, newest point first, and what there is now: by the stats job (statsAge
-- seconds ago), of the queues that p_queue, p_namespace and p_task leave.
--   queues           the first hundred by name that hold something
--   leases           totalBatchSize: messages under a lease; totalAcked: settled in the time of the report
--   deadLetterQueue  affectedPartitions and topErrors are of the newest thousand dead letters
--   messages.requests, batchEfficiency, workers, errors  of all queues: requests have no queue
CREATE OR REPLACE FUNCTION queen.report_status(p_from timestamptz, p_to timestamptz, p_minutes int, p_queue text,
                                               p_namespace text, p_task text)
RETURNS json LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_range  record;
    v_points json;
    v_acked  numeric;
    v_count  bigint;
    v_now    record;
    v_groups record;
    v_dead   json;
    v_asked  record;
BEGIN
    SELECT * INTO v_range FROM queen.report_range(p_from, p_to, p_minutes);
    SELECT count(*), coalesce(sum(t.acked), 0), coalesce(json_agg(json_build_object(
               'timestamp', queen.api_time(t.bucket),
               'ingested', t.pushed + t.buffered, 'processed', t.acked + t.dead_lettered,
               'ingestedPerSecond', round(((t.pushed + t.buffered) / t.seconds)::numeric, 2),
               'processedPerSecond', round(((t.acked + t.dead_lettered) / t.seconds)::numeric, 2),
               'avgLagMs', coalesce(round(t.age_sum_ms::numeric / nullif(t.age_count, 0)), 0), 'maxLagMs', t.age_max_ms,
               'failed', t.failed, 'deadLetter', t.dead_lettered) ORDER BY t.bucket DESC), '[]')
    INTO v_count, v_acked, v_points
    FROM queen.traffic(v_range.from_time, v_range.to_time, v_range.minutes, p_queue, p_namespace, p_task) t;

    SELECT coalesce(sum(s.stored), 0) AS stored, coalesce(sum(s.pending), 0) AS pending,
           coalesce(sum(s.processing), 0) AS processing, coalesce(sum(s.completed), 0) AS completed,
           coalesce(sum(s.failed), 0) AS failed, coalesce(sum(s.dead_letters), 0) AS dead_letters
    INTO v_now FROM queen.queues q JOIN queen.queue_stats s ON s.queue_id = q.id
    WHERE (p_queue IS NULL OR q.name = p_queue) AND (p_namespace IS NULL OR q.namespace = p_namespace)
      AND (p_task IS NULL OR q.task = p_task);
    SELECT coalesce(sum(s.leased_partitions), 0) AS leases, coalesce(sum(s.processing), 0) AS messages,
           coalesce(sum(s.most), 0) AS partitions
    INTO v_groups
    FROM (SELECT s.leased_partitions, s.processing,
                 CASE WHEN row_number() OVER (PARTITION BY s.queue_id ORDER BY s.leased_partitions DESC) = 1
                      THEN s.leased_partitions END AS most
          FROM queen.queues q JOIN queen.group_stats s ON s.queue_id = q.id
          JOIN queen.groups g ON g.id = s.group_id
          WHERE (p_queue IS NULL OR q.name = p_queue) AND (p_namespace IS NULL OR q.namespace = p_namespace)
            AND (p_task IS NULL OR q.task = p_task)) s;
    WITH dead AS MATERIALIZED (
        SELECT d.partition_id, left(coalesce(d.error, ''), 200) AS error
        FROM (SELECT x.partition_id, x.error FROM queen.dead_letters x ORDER BY x.failed_at DESC LIMIT 1000) d
        JOIN queen.partitions p ON p.id = d.partition_id
        JOIN queen.queues q ON q.id = p.queue_id
        WHERE (p_queue IS NULL OR q.name = p_queue) AND (p_namespace IS NULL OR q.namespace = p_namespace)
          AND (p_task IS NULL OR q.task = p_task))
    SELECT json_build_object('totalMessages', v_now.dead_letters,
        'affectedPartitions', (SELECT count(DISTINCT d.partition_id) FROM dead d),
        'topErrors', (SELECT coalesce(json_agg(json_build_object('error', e.error, 'count', e.count)
                                               ORDER BY e.count DESC, e.error), '[]')
                      FROM (SELECT d.error, count(*) AS count FROM dead d GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10) e))
    INTO v_dead;
    SELECT coalesce(sum(m.push_requests), 0) AS push_requests, coalesce(sum(m.pops), 0) AS pops,
           coalesce(sum(m.ack_requests), 0) AS ack_requests, coalesce(sum(m.errors), 0) AS errors,
           coalesce(sum(m.failed), 0) AS failed, coalesce(sum(m.dead_lettered), 0) AS dead_lettered,
           coalesce(round(sum(m.pushed + m.duplicates + m.buffered) / nullif(sum(m.push_requests), 0), 2), 0) AS per_push,
           coalesce(round(sum(m.popped) / nullif(sum(m.pops - m.empty_pops), 0), 2), 0) AS per_pop,
           coalesce(round(sum((m.ack_calls).items) / nullif(sum((m.ack_calls).count), 0), 2), 0) AS per_ack
    INTO v_asked FROM queen.broker_minutes m
    WHERE m.minute >= date_trunc('minute', v_range.from_time) AND m.minute < v_range.to_time;

    RETURN json_build_object(
        'timeRange', json_build_object('from', queen.api_time(v_range.from_time), 'to', queen.api_time(v_range.to_time)),
        'bucketMinutes', v_range.minutes, 'pointCount', v_count, 'throughput', v_points,
        'queues', (SELECT coalesce(json_agg(json_build_object('id', queen.queue_uuid(q.id), 'name', q.name,
                'namespace', q.namespace, 'task', q.task, 'partitions', q.partitions, 'totalConsumed', q.completed)
                ORDER BY q.name), '[]')
            FROM (SELECT x.*, s.partitions, s.completed FROM queen.queues x JOIN queen.queue_stats s ON s.queue_id = x.id
                  WHERE s.stored > 0 AND (p_queue IS NULL OR x.name = p_queue)
                    AND (p_namespace IS NULL OR x.namespace = p_namespace) AND (p_task IS NULL OR x.task = p_task)
                  ORDER BY x.name LIMIT 100) q),
        'messages', json_build_object('total', v_now.stored, 'pending', v_now.pending, 'processing', v_now.processing,
            'completed', v_now.completed, 'failed', v_now.failed, 'deadLetter', v_now.dead_letters,
            'requests', json_build_object('push', v_asked.push_requests, 'pop', v_asked.pops, 'ack', v_asked.ack_requests),
            'batchEfficiency', json_build_object('push', v_asked.per_push, 'pop', v_asked.per_pop, 'ack', v_asked.per_ack)),
        'leases', json_build_object('active', v_groups.leases, 'partitionsWithLeases', v_groups.partitions,
            'totalBatchSize', v_groups.messages, 'totalAcked', v_acked),
        'deadLetterQueue', v_dead,
        'workers', queen.broker_workers(),
        'errors', json_build_object('dbErrors', v_asked.errors, 'ackFailed', v_asked.failed,
                                    'dlqMessages', v_asked.dead_lettered),
        'statsAge', queen.stats_age());
END $$;
