-- requires: api_time, dedup, hidden, ids, letters_of_message, message_states, report_messages
-- One message by partition and transactionId, from the log or, where that has let it go, from its newest dead
-- letter. document is the reply of GET /api/v1/messages/:partitionId/:transactionId without the payload, which the
-- broker may have to decrypt. No row: there is no such message.
CREATE OR REPLACE FUNCTION queen.find_message(p_partition_id int, p_txn text)
RETURNS TABLE (document text, payload text, meta text) LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_now     timestamptz := clock_timestamp();
    v_seq     bigint;
    v_at      timestamptz;
    v_groups  json;
    v_letter  queen.dead_letters;
    v_summary json;
BEGIN
    SELECT f.seq, f.created_at INTO v_seq, v_at FROM queen.find_transactions(p_partition_id, p_txn, 0, 0) f ORDER BY f.seq LIMIT 1;
    IF queen.hidden_bits(p_partition_id, NULL, v_seq, v_seq + 1) IS NOT NULL THEN RETURN; END IF;
    SELECT d.* INTO v_letter
    FROM queen.letters_of_message(p_partition_id, p_txn) l
    JOIN queen.dead_letters d ON d.partition_id = p_partition_id AND d.group_id = l.group_id AND d.seq = l.seq
    ORDER BY d.failed_at DESC LIMIT 1;
    IF coalesce(v_seq, v_letter.seq) IS NULL THEN RETURN; END IF;

    SELECT json_agg(json_build_object('name', s.group_name, 'state', s.state, 'leaseExpiresAt', queen.api_time(s.lease_until),
                                      'consumed', s.state IN ('completed', 'dead_letter'), 'failures', s.failures) ORDER BY s.group_name)
    INTO v_groups FROM queen.message_states(ARRAY[p_partition_id], ARRAY[coalesce(v_seq, v_letter.seq)], v_now) s;
    IF v_seq IS NULL THEN  -- gone from the log
        SELECT json_build_object('id', i.id, 'transactionId', coalesce(v_letter.txn, i.id::text), 'partitionId', queen.partition_uuid(p.id),
                   'queuePath', q.name || '/' || p.name, 'queue', q.name, 'partition', p.name, 'namespace', q.namespace, 'task', q.task,
                   'status', 'dead_letter', 'queueStatus', NULL,
                   'busStatus', json_build_object('consumedBy', 0, 'totalGroups', 0),
                   'traceId', v_letter.meta::json->>'traceId', 'producerSub', v_letter.meta::json->>'producerSub',
                   'queuePriority', q.priority, 'createdAt', queen.api_time(v_letter.created_at), 'leaseExpiresAt', NULL)
        INTO v_summary
        FROM queen.partitions p JOIN queen.queues q ON q.id = p.queue_id
        CROSS JOIN LATERAL (SELECT queen.message_id(v_letter.created_at, p.id, v_letter.seq) AS id) i
        WHERE p.id = p_partition_id;
    ELSE
        v_summary := queen.message_summaries(ARRAY[p_partition_id], ARRAY[v_seq], v_now) -> 0;
    END IF;
    IF v_summary IS NULL THEN RETURN; END IF;

    RETURN QUERY
    SELECT left(v_summary::text, -1) || ', ' || substr(json_build_object(
               'errorMessage', v_letter.error,
               'retryCount', coalesce(v_letter.retry_count, (SELECT max((x->>'failures')::int) FROM json_array_elements(v_groups) x), 0),
               'offset', coalesce(v_seq, v_letter.seq),
               'queueConfig', json_build_object('leaseTime', q.lease_time, 'retryLimit', q.retry_limit, 'retryDelay', q.retry_delay,
                   'maxDeliveries', q.max_deliveries, 'delayedProcessing', q.delayed_processing, 'windowBuffer', q.window_buffer,
                   'retentionSeconds', q.retention_seconds, 'completedRetentionSeconds', q.completed_retention_seconds,
                   'maxWaitTimeSeconds', q.max_wait_time_seconds, 'ttl', q.ttl, 'priority', q.priority,
                   'encryptionEnabled', q.encryption_enabled),
               'mode', queen.consumption_mode(ARRAY[q.id]),
               'consumerGroups', coalesce((
                   SELECT json_agg(json_build_object('name', x->>'name', 'consumed', (x->>'consumed')::boolean,
                                                     'leaseExpiresAt', x->>'leaseExpiresAt', 'status', x->>'state'))
                   FROM json_array_elements(v_groups) x), '[]'))::text, 2),
           coalesce(split_part(s.payloads, E'\n', (v_seq - s.base_seq)::int + 1), v_letter.payload),
           coalesce(nullif(split_part(s.meta, E'\n', (v_seq - s.base_seq)::int + 1), ''), v_letter.meta)
    FROM queen.partitions p
    JOIN queen.queues q ON q.id = p.queue_id
    LEFT JOIN LATERAL (SELECT g.* FROM queen.segments g WHERE g.partition_id = p.id AND g.base_seq <= v_seq
                       ORDER BY g.base_seq DESC LIMIT 1) s ON true
    WHERE p.id = p_partition_id;
END $$;
