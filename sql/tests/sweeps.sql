-- The sweeps: old epochs, retention, batches, what has an age. Small steps that never take the state or the end away.
CREATE FUNCTION test.sweep(p_limit int DEFAULT 1000, p_partitions int DEFAULT 3) RETURNS text LANGUAGE plpgsql AS $$
DECLARE v record; v_after int := 0; v_removed int := 0; v_blanked int := 0; v_messages bigint := 0; v_calls int := 0;
BEGIN
    LOOP
        SELECT * INTO v FROM queen.sweep_segments(v_after, p_partitions, p_limit);
        v_removed := v_removed + v.removed; v_blanked := v_blanked + v.blanked; v_messages := v_messages + v.messages;
        v_calls := v_calls + 1;
        ASSERT v_calls < 1000, 'it does not end';
        EXIT WHEN v.next_after IS NULL;
        v_after := v.next_after;
    END LOOP;
    RETURN format('%s removed, %s blanked, %s messages', v_removed, v_blanked, v_messages);
END $$;

DO $$
DECLARE
    v_ids int[] := ARRAY(SELECT test.partition('keep', 'p' || i) FROM generate_series(1, 4) i); v_group int := test.groupid('keep');
    v record; v_lease uuid; v_removed int := 0; v_p int := 0; v_g int := 0; v_states queen.progress[];
BEGIN
    FOR r IN 1..5 LOOP FOR i IN 1..3 LOOP
        PERFORM test.push(v_ids[i], 1); v_lease := gen_random_uuid();
        PERFORM test.pop(v_ids[i], v_group, v_lease); PERFORM test.ack(v_ids[i], v_group, v_lease, ARRAY[r - 1]::bigint[]);
    END LOOP; END LOOP;
    v_states := ARRAY(SELECT test.state(v_ids[i], v_group) FROM generate_series(1, 3) i);
    LOOP
        SELECT * INTO v FROM queen.sweep_progress(v_p, v_g, 2);
        v_removed := v_removed + v.removed;
        EXIT WHEN v.next_partition_id IS NULL;
        v_p := v.next_partition_id; v_g := v.next_group_id;
    END LOOP;
    ASSERT v_removed = 27 AND (SELECT count(*) FROM queen.progress) = 3, v_removed || ' epochs removed';
    ASSERT v_states = ARRAY(SELECT test.state(v_ids[i], v_group) FROM generate_series(1, 3) i), 'the highest epoch is never removed';
END $$;

-- retention by age: whole segments, the newest blanked, dedup rows with them; the end and the clock stay
DO $$
DECLARE
    v_id int := test.partition('old'); v_other int := test.partition('young'); v_group int := test.groupid('old'); v_at timestamptz;
BEGIN
    PERFORM test.push(v_id, 3, E'a\nb\nc'); PERFORM test.push(v_id, 1, 'd');
    PERFORM test.push(v_other, 1, 'a');
    PERFORM test.age(v_id, interval '100 s'); PERFORM test.age(v_other, interval '100 s');
    PERFORM test.push(v_id, 2, E'e\nf');
    ASSERT test.sweep() = '0 removed, 0 blanked, 0 messages', 'no retention, nothing goes';
    UPDATE queen.queues SET retention_seconds = 60, retention_enabled = false WHERE name = 'old';
    ASSERT test.sweep() = '0 removed, 0 blanked, 0 messages', 'switched off';
    UPDATE queen.queues SET retention_enabled = NULL WHERE name = 'old';
    ASSERT test.sweep(2) = '2 removed, 0 blanked, 4 messages';
    ASSERT (SELECT array_agg(f.line ORDER BY f.seq) = '{4,5}' FROM queen.find_transactions(v_id, E'a\nb\nc\nd\ne\nf', 0, 0) f);
    PERFORM test.push(v_id, 1, 'a');   -- no longer retained, no longer a duplicate
    ASSERT (test.pop(v_id, v_group)).seqs = '{4,5,6}';
    PERFORM test.age(v_id, interval '100 s');
    SELECT max(created_at) INTO v_at FROM queen.segments WHERE partition_id = v_id;
    ASSERT test.sweep() = '1 removed, 1 blanked, 3 messages', 'the newest segment was not blanked';
    ASSERT (SELECT base_seq = 6 AND count = 1 AND created_at = v_at AND payloads IS NULL AND txns IS NULL FROM queen.segments WHERE partition_id = v_id);
    ASSERT NOT EXISTS (SELECT FROM queen.dedup WHERE partition_id = v_id) AND test.sweep() = '0 removed, 0 blanked, 0 messages';
    ASSERT test.push(v_id, 1) = 7, 'offsets go on';
    PERFORM test.age(v_id, interval '50 s');
    ASSERT test.sweep() = '1 removed, 0 blanked, 0 messages', 'a blank row that is no longer the newest';
    ASSERT (SELECT count(*) FROM queen.messages WHERE queue = 'young') = 1;
END $$;

-- maximum wait
DO $$
DECLARE v_id int := test.partition('wait');
BEGIN
    PERFORM test.push(v_id, 3); PERFORM test.age(v_id, interval '100 s'); PERFORM test.push(v_id, 3);
    UPDATE queen.queues SET max_wait_time_seconds = 60 WHERE name = 'wait';
    ASSERT test.sweep() = '1 removed, 0 blanked, 3 messages';
END $$;

-- completed retention: only what every group has passed; a group without progress counts with its start
DO $$
DECLARE
    v_id int := test.partition('done'); v_a int; v_b int; v_lease uuid := gen_random_uuid();
BEGIN
    FOR i IN 1..4 LOOP PERFORM test.push(v_id, 2); END LOOP;
    PERFORM test.age(v_id, interval '100 s');
    UPDATE queen.queues SET completed_retention_seconds = 60 WHERE name = 'done';
    ASSERT test.sweep() = '0 removed, 0 blanked, 0 messages', 'needs the switch';
    UPDATE queen.queues SET retention_enabled = true WHERE name = 'done';
    ASSERT test.sweep() = '0 removed, 0 blanked, 0 messages', 'no group: nobody has passed';
    v_a := test.groupid('done', 'a');
    PERFORM test.pop(v_id, v_a, v_lease, 5);
    PERFORM test.ack(v_id, v_a, v_lease, '{0,1,2,3}');
    v_b := test.groupid('done', 'b', 'all');
    ASSERT test.sweep() = '0 removed, 0 blanked, 0 messages', 'b has not begun';
    PERFORM queen.delete_group('b', 'done', true);
    v_b := test.groupid('done', 'b', 'new');
    PERFORM test.groupid('done', 'queen-tail-1', 'all');
    ASSERT test.sweep() = '2 removed, 0 blanked, 4 messages', 'b begins at the end; a has passed 4; a tail does not count';
    PERFORM test.ack(v_id, v_a, v_lease, '{4}');
    ASSERT test.sweep() = '0 removed, 0 blanked, 0 messages', 'half a segment';
    v_lease := gen_random_uuid();
    PERFORM test.pop(v_id, v_a, v_lease, 10); PERFORM test.ack(v_id, v_a, v_lease, '{5,6,7}');
    ASSERT test.sweep() = '1 removed, 1 blanked, 4 messages';
    PERFORM test.push(v_id, 2);
    ASSERT (test.pop(v_id, v_b)).seqs = '{8,9}' AND (test.pop(v_id, v_a)).seqs = '{8,9}';
    ASSERT test.sweep() = '1 removed, 0 blanked, 0 messages', 'the blank row; young messages stay';
END $$;

-- batches
DO $$
BEGIN
    DELETE FROM queen.batches;
    INSERT INTO queen.batches (broker, n, created_at) SELECT 1, i, now() - i * interval '1 minute' FROM generate_series(1, 10) i;
    ASSERT (SELECT s.removed FROM queen.sweep_batches('5 minutes 30 seconds', 100, 0) s) = 5;
    ASSERT (SELECT max(n) FROM queen.batches) = 5;
    ASSERT (SELECT s.removed FROM queen.sweep_batches('0', 2, 0) s) = 2;
END $$;

-- what has an age: the oldest first, in steps; 0 days keep it; the young stay
DO $$
DECLARE
    v_id int := test.partition('aged'); v record;
BEGIN
    FOR i IN 1..5 LOOP
        PERFORM queen.record_trace(v_id, 't' || i, 'g', 'info', '{}', ARRAY['name', 'n' || i], 'w');
        PERFORM queen.ensure_group('never made', 'g' || i, 'all', NULL);
        INSERT INTO queen.dead_letters (partition_id, group_id, seq, created_at, payload, retry_count) VALUES (v_id, 1, i, now(), '1', 0);
        UPDATE queen.traces SET created_at = created_at - i * interval '1 day' WHERE txn = 't' || i;
        UPDATE queen.dead_letters SET failed_at = failed_at - i * interval '10 days' WHERE seq = i;
        UPDATE queen.early_groups SET created_at = created_at - i * interval '2 days' WHERE group_name = 'g' || i;
    END LOOP;
    SELECT * INTO v FROM queen.sweep_aged(0, 0, 0, 100);
    ASSERT v.removed = 0 AND NOT v.more, 'kept for ever';
    SELECT * INTO v FROM queen.sweep_aged(2, 0, 0, 3);
    ASSERT v.removed = 3 AND v.more, 'a step is full';
    ASSERT (SELECT string_agg(txn, ' ' ORDER BY txn) FROM queen.traces) = 't1 t2', 'the oldest go first';
    ASSERT (SELECT string_agg(name, ' ' ORDER BY name) FROM queen.trace_names) = 'n1 n2 name name', 'names go with their traces';
    SELECT * INTO v FROM queen.sweep_aged(2, 25, 5, 100);
    ASSERT v.removed = 7 AND NOT v.more, v.removed || ' removed';
    ASSERT (SELECT count(*) = 1 FROM queen.traces) AND (SELECT array_agg(seq ORDER BY seq) = '{1,2}' FROM queen.dead_letters)
       AND (SELECT string_agg(group_name, ' ' ORDER BY group_name) FROM queen.early_groups WHERE queue_name = 'never made') = 'g1 g2';
END $$;
