-- configure: merges, or replaces; makes the queue and its partition "Default" (api 2.1).
DO $$
DECLARE v record; w record;
BEGIN
    SELECT * INTO v FROM queen.configure('c.x', NULL, NULL, NULL, false);
    ASSERT v.namespace = '' AND v.task = '' AND (v.options ->> 'leaseTime')::int = 300, 'made by configure: no names from the dots';
    ASSERT (SELECT p.id = v.partition_id FROM queen.partitions p WHERE p.queue_id = v.queue_id AND p.name = 'Default');
    ASSERT v.options::text = '{"leaseTime" : 300, "retryLimit" : 3, "retryDelay" : 0, "maxDeliveries" : 0, "deadLetterQueue" : false, '
        '"dlqAfterMaxRetries" : false, "delayedProcessing" : 0, "windowBuffer" : 0, "retentionEnabled" : false, "retentionSeconds" : 0, '
        '"completedRetentionSeconds" : 0, "maxWaitTimeSeconds" : 0, "maxSize" : 0, "ttl" : 3600, "priority" : 0, "encryptionEnabled" : false}', v.options::text;
    SELECT * INTO w FROM queen.configure('c.x', 'ns', NULL, '{"leaseTime": 60, "retryLimit": 0, "deadLetterQueue": true, "maxSize": 5000000000, "unknown": [1]}', false);
    ASSERT w.queue_id = v.queue_id AND w.partition_id = v.partition_id AND w.namespace = 'ns';
    SELECT * INTO w FROM queen.configure('c.x', NULL, 't', '{"leaseTime": null, "priority": 7}', false);
    ASSERT w.namespace = 'ns' AND w.task = 't' AND (w.options ->> 'leaseTime')::int = 60 AND (w.options ->> 'retryLimit')::int = 0
        AND (w.options ->> 'deadLetterQueue')::boolean AND (w.options ->> 'priority')::int = 7 AND (w.options ->> 'maxSize')::bigint = 5000000000;
    SELECT * INTO w FROM queen.configure('c.x', NULL, NULL, '{"leaseTime": 0}', false);
    ASSERT (w.options ->> 'leaseTime')::int = 300, '0 = default';
    SELECT * INTO w FROM queen.configure('c.x', NULL, NULL, '{"retentionEnabled": false, "ttl": 1}', true);
    ASSERT w.namespace = '' AND w.task = '' AND (w.options ->> 'retryLimit')::int = 3 AND (w.options ->> 'priority')::int = 0 AND (w.options ->> 'ttl')::int = 1;
    ASSERT (SELECT retention_enabled = false FROM queen.queues WHERE id = w.queue_id);
    SELECT * INTO w FROM queen.configure('c.x', NULL, NULL, '{}', true);
    ASSERT (SELECT retention_enabled IS NULL FROM queen.queues WHERE id = w.queue_id), 'never set';
    SELECT * INTO w FROM queen.configure('', NULL, NULL, NULL, false);
    ASSERT w.queue_id > v.queue_id, 'the empty name';
    -- a queue a push made keeps the names of its dots
    PERFORM test.partition('a.b');
    SELECT * INTO w FROM queen.configure('a.b', NULL, NULL, '{"priority": 1}', false);
    ASSERT w.namespace = 'a' AND w.task = 'b';
    ASSERT (SELECT last_value FROM queen.queues_id_seq) = w.queue_id, 'no ids burnt';
END $$;
