-- requires: ensure_partitions, raise_versions
-- Makes a queue or changes its options. p_options has the names of the contract (leaseTime, ...); what
-- is missing or null keeps its value, or with p_replace its default; unknown names are ignored. The
-- caller has checked types and ranges. A queue made here without namespace and task has "" for both.
-- Returns the ids of the queue and of its partition "Default", and every option.
CREATE OR REPLACE FUNCTION queen.configure(p_queue text, p_namespace text, p_task text, p_options jsonb,
                                           p_replace boolean)
RETURNS TABLE (queue_id int, partition_id int, namespace text, task text, options json) LANGUAGE plpgsql AS $$
DECLARE
    o CONSTANT jsonb := coalesce(p_options, '{}');
    v_before   queen.queues;
    v_after    queen.queues;
    v_born     int;
BEGIN
    -- Select first: ON CONFLICT burns an id.
    IF NOT EXISTS (SELECT FROM queen.queues q WHERE q.name = p_queue) THEN
        INSERT INTO queen.queues (name, namespace, task)
        VALUES (p_queue, coalesce(p_namespace, ''), coalesce(p_task, '')) ON CONFLICT DO NOTHING RETURNING id INTO v_born;
    END IF;
    SELECT q.* INTO v_before FROM queen.queues q WHERE q.name = p_queue FOR UPDATE;
    IF p_replace THEN
        UPDATE queen.queues q SET namespace = '', task = '', lease_time = DEFAULT, retry_limit = DEFAULT,
            retry_delay = DEFAULT, max_deliveries = DEFAULT, dead_letter_queue = DEFAULT,
            dlq_after_max_retries = DEFAULT, delayed_processing = DEFAULT, window_buffer = DEFAULT,
            retention_enabled = DEFAULT, retention_seconds = DEFAULT, completed_retention_seconds = DEFAULT,
            max_wait_time_seconds = DEFAULT, max_size = DEFAULT, ttl = DEFAULT, priority = DEFAULT,
            encryption_enabled = DEFAULT
        WHERE q.name = p_queue;
    END IF;
    UPDATE queen.queues q SET
        namespace                   = coalesce(p_namespace, q.namespace),
        task                        = coalesce(p_task, q.task),
        lease_time                  = coalesce(CASE (o ->> 'leaseTime')::int WHEN 0 THEN 300
                                               ELSE (o ->> 'leaseTime')::int END, q.lease_time),
        retry_limit                 = coalesce((o ->> 'retryLimit')::int, q.retry_limit),
        retry_delay                 = coalesce((o ->> 'retryDelay')::int, q.retry_delay),
        max_deliveries              = coalesce((o ->> 'maxDeliveries')::int, q.max_deliveries),
        dead_letter_queue           = coalesce((o ->> 'deadLetterQueue')::boolean, q.dead_letter_queue),
        dlq_after_max_retries       = coalesce((o ->> 'dlqAfterMaxRetries')::boolean, q.dlq_after_max_retries),
        delayed_processing          = coalesce((o ->> 'delayedProcessing')::int, q.delayed_processing),
        window_buffer               = coalesce((o ->> 'windowBuffer')::int, q.window_buffer),
        retention_enabled           = coalesce((o ->> 'retentionEnabled')::boolean, q.retention_enabled),
        retention_seconds           = coalesce((o ->> 'retentionSeconds')::int, q.retention_seconds),
        completed_retention_seconds = coalesce((o ->> 'completedRetentionSeconds')::int, q.completed_retention_seconds),
        max_wait_time_seconds       = coalesce((o ->> 'maxWaitTimeSeconds')::int, q.max_wait_time_seconds),
        max_size                    = coalesce((o ->> 'maxSize')::bigint, q.max_size),
        ttl                         = coalesce((o ->> 'ttl')::int, q.ttl),
        priority                    = coalesce((o ->> 'priority')::int, q.priority),
        encryption_enabled          = coalesce((o ->> 'encryptionEnabled')::boolean, q.encryption_enabled)
    WHERE q.name = p_queue RETURNING q.* INTO v_after;
    IF v_born IS NOT NULL OR (v_before.namespace, v_before.task) IS DISTINCT FROM (v_after.namespace, v_after.task) THEN
        PERFORM queen.join_families(ARRAY[v_after.id], v_born IS NOT NULL);
    END IF;
    IF (v_before.delayed_processing, v_before.window_buffer, v_before.retention_enabled, v_before.retention_seconds,
        v_before.max_wait_time_seconds, v_before.priority) IS DISTINCT FROM
       (v_after.delayed_processing, v_after.window_buffer, v_after.retention_enabled, v_after.retention_seconds,
        v_after.max_wait_time_seconds, v_after.priority) THEN  -- other brokers: what is ready, and when, may be another now
        PERFORM queen.announce(ARRAY[-v_after.id]);
    END IF;
    PERFORM queen.ensure_partitions(ARRAY[p_queue], ARRAY['Default']);
    IF v_before IS DISTINCT FROM v_after THEN PERFORM queen.raise_versions(ARRAY[v_after.id]); END IF;

    RETURN QUERY
    SELECT q.id, p.id, q.namespace, q.task, queen.queue_options(q)
    FROM queen.queues q JOIN queen.partitions p ON p.queue_id = q.id AND p.name = 'Default'
    WHERE q.name = p_queue;
END $$;

-- A queue's options by the names and types of the contract.
CREATE OR REPLACE FUNCTION queen.queue_options(q queen.queues) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object(
        'leaseTime', q.lease_time, 'retryLimit', q.retry_limit, 'retryDelay', q.retry_delay,
        'maxDeliveries', q.max_deliveries, 'deadLetterQueue', q.dead_letter_queue,
        'dlqAfterMaxRetries', q.dlq_after_max_retries, 'delayedProcessing', q.delayed_processing,
        'windowBuffer', q.window_buffer, 'retentionEnabled', coalesce(q.retention_enabled, false),
        'retentionSeconds', q.retention_seconds, 'completedRetentionSeconds', q.completed_retention_seconds,
        'maxWaitTimeSeconds', q.max_wait_time_seconds, 'maxSize', q.max_size, 'ttl', q.ttl,
        'priority', q.priority, 'encryptionEnabled', q.encryption_enabled)
$$;
