-- delete_group, delete_queue, delete_partition, and the sweep of what they leave.
DO $$
DECLARE
    v_a int := test.partition('del', 'a'); v_b int := test.partition('del', 'b'); v_group int; v_new int; v_lease uuid := gen_random_uuid();
    v record; v_other int := test.partition('del.other');
BEGIN
    PERFORM test.push(v_a, 2); PERFORM test.push(v_b, 2);
    v_group := test.groupid('del', 'g', 'new');
    PERFORM test.push(v_a, 2); PERFORM test.push(v_b, 2);
    PERFORM test.pop(v_a, v_group, v_lease);
    PERFORM test.ack(v_a, v_group, v_lease, '{2}', '{3}', '{dlq}');
    -- without metadata: from the recorded start again, dead letters stay, a late ack finds nothing
    SELECT * INTO v FROM queen.delete_group('g', 'del', false);
    ASSERT v.groups = 1 AND v.deleted_partitions = 1, v::text;
    v_new := test.groupid('del', 'g', 'all');
    ASSERT v_new <> v_group AND (test.pop(v_a, v_new)).seqs = '{2,3}' AND (test.pop(v_b, v_new)).seqs = '{2,3}';
    ASSERT (SELECT state FROM test.ack(v_a, v_group, v_lease, '{3}')) = 'gone', 'an ack of a deleted group found something';
    ASSERT (SELECT count(*) FROM queen.list_dead_letters('del', 'g', NULL, NULL, NULL, 10, 0)) = 1;
    -- with metadata: as if it had never been
    PERFORM queen.ensure_group('no such queue', 'g', 'new', NULL);
    SELECT * INTO v FROM queen.delete_group('g', NULL, true);
    ASSERT v.groups = 1 AND v.deleted_partitions = 2 AND NOT EXISTS (SELECT FROM queen.early_groups);
    ASSERT (test.pop(v_a, test.groupid('del', 'g', 'all'))).seqs = '{0,1,2,3}';
    SELECT * INTO v FROM queen.delete_group('nobody', NULL, true);
    ASSERT v.groups = 0 AND v.deleted_partitions = 0;

    -- a partition, a queue: gone at once, names free again
    PERFORM test.groupid('del.other'); PERFORM test.push(v_other, 3);
    ASSERT queen.delete_partition('del', 'a') AND NOT queen.delete_partition('del', 'a') AND NOT queen.delete_partition('nothing', 'a');
    ASSERT test.partition('del', 'a') > v_other AND test.push(test.partition('del', 'a'), 1) = 0, 'the id of a deleted partition was used again';
    PERFORM queen.record_trace(v_b, 'x', NULL, 'info', '{}', '{n}', NULL);
    ASSERT queen.delete_queue('del') AND NOT queen.delete_queue('del');
    ASSERT NOT EXISTS (SELECT FROM queen.messages WHERE queue = 'del');
    ASSERT (SELECT count(*) FROM queen.list_dead_letters(NULL, NULL, NULL, NULL, NULL, 10, 0)) = 0;
END $$;

-- the sweep: small steps, a second look after the grace, and nothing of others
DO $$
DECLARE
    v record; v_steps int := 0; v_removed int := 0; v_left int := (SELECT id FROM queen.partitions ORDER BY id DESC LIMIT 1);
BEGIN
    LOOP
        SELECT * INTO v FROM queen.sweep_orphans(2, '1 hour');
        v_steps := v_steps + 1; v_removed := v_removed + v.removed;
        ASSERT v.removed <= 2 AND v_steps < 100;
        EXIT WHEN NOT v.more;
    END LOOP;
    ASSERT v_steps > 8 AND v_removed > 8, format('%s in %s', v_removed, v_steps);
    ASSERT (SELECT count(*) FROM queen.deletions) = 4, 'kept for the second look';
    -- a push that was under way while the queue went
    INSERT INTO queen.segments (partition_id, base_seq, count, created_at, payloads) VALUES (v_left, 9, 1, now(), '1');
    UPDATE queen.deletions SET created_at = created_at - interval '2 hours', not_before = now();
    FOR i IN 1..100 LOOP
        SELECT * INTO v FROM queen.sweep_orphans(2, '1 hour');
        EXIT WHEN NOT v.more;
    END LOOP;
    ASSERT NOT EXISTS (SELECT FROM queen.deletions) AND NOT EXISTS (SELECT FROM queen.traces) AND NOT EXISTS (SELECT FROM queen.trace_names);
    ASSERT (SELECT array_agg(DISTINCT q.name::text) = '{del.other}' FROM queen.queues q);
    ASSERT NOT EXISTS (SELECT FROM queen.partitions p WHERE NOT EXISTS (SELECT FROM queen.queues q WHERE q.id = p.queue_id));
    ASSERT NOT EXISTS (SELECT FROM queen.groups p WHERE NOT EXISTS (SELECT FROM queen.queues q WHERE q.id = p.queue_id));
    ASSERT NOT EXISTS (SELECT FROM queen.group_starts) AND NOT EXISTS (SELECT FROM queen.progress) AND NOT EXISTS (SELECT FROM queen.dead_letters);
    ASSERT (SELECT count(*) = 1 FROM queen.segments) AND (SELECT count(*) = 3 FROM queen.messages WHERE queue = 'del.other');
END $$;

-- ids are new on every creation: what a slow caller still holds of the old queue, partition or group finds nothing
DO $$
DECLARE
    v_old_queue int; v_old int := test.partition('del.again'); v_old_group int := test.groupid('del.again'); v_lease uuid := gen_random_uuid(); v_new int;
BEGIN
    PERFORM test.push(v_old, 3); PERFORM test.pop(v_old, v_old_group, v_lease, 2);
    SELECT id INTO v_old_queue FROM queen.queues WHERE name = 'del.again';
    PERFORM queen.delete_queue('del.again');
    v_new := test.partition('del.again');
    ASSERT v_new > v_old AND test.groupid('del.again') > v_old_group
        AND (SELECT id > v_old_queue FROM queen.queues WHERE name = 'del.again'), 'an id was used again';
    PERFORM test.push(v_new, 3);
    ASSERT (SELECT status FROM test.push_segments(ARRAY[v_old], ARRAY['1'])) = 'gone', 'pushed to a deleted queue';
    ASSERT (SELECT state FROM test.ack(v_old, v_old_group, v_lease, '{0}')) = 'gone', 'acked on a deleted queue';
    ASSERT (test.pop(v_old, v_old_group)).state = 'gone' AND (test.pop(v_new, v_old_group)).state = 'gone', 'popped from a deleted queue';
    ASSERT (test.pop(v_new, test.groupid('del.again'))).seqs = '{0,1,2}', 'nothing of the old state is seen';
END $$;
