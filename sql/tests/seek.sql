-- seek: a group moves; leases, marks and counts go (api 2.5).
DO $$
DECLARE
    v_ids int[] := ARRAY(SELECT test.partition('seek', 'p' || i) FROM generate_series(1, 7) i);
    v_group int := test.groupid('seek'); v_lease uuid := gen_random_uuid(); v record; v_after int := 0; v_moved int := 0; v_calls int := 0; v_at timestamptz;
BEGIN
    FOR i IN 1..6 LOOP PERFORM test.push(v_ids[i], 4); END LOOP;
    PERFORM test.pop(v_ids[1], v_group, v_lease, 3);
    PERFORM test.ack(v_ids[1], v_group, v_lease, '{0}', '{1}', '{failed}');
    LOOP
        SELECT * INTO v FROM queen.seek('seek', 'g', NULL, 'end', NULL, NULL, v_after, 3);
        v_moved := v_moved + v.moved; v_calls := v_calls + 1;
        EXIT WHEN v.next_after IS NULL;
        v_after := v.next_after;
    END LOOP;
    ASSERT v_moved = 7 AND v_calls = 3, format('%s in %s', v_moved, v_calls);
    ASSERT (SELECT bool_and(test.available(i, v_group) = 'empty') FROM unnest(v_ids) i);
    ASSERT (test.state(v_ids[1], v_group)).lease_id IS NULL AND (test.state(v_ids[1], v_group)).attempt_seqs IS NULL;
    ASSERT (SELECT state FROM test.ack(v_ids[1], v_group, v_lease, '{2}')) = 'refused', 'the lease was cancelled';
    ASSERT (SELECT start_mode FROM queen.groups WHERE id = v_group) = 'new';
    PERFORM test.push(v_ids[7], 1);
    ASSERT (test.pop(v_ids[7], v_group)).seqs = '{0}' AND (test.pop(test.partition('seek', 'p8'), v_group)).state = 'empty';
    ASSERT (SELECT count(*) FROM queen.batches WHERE broker = 0 AND partitions[1] > 0) = 3, 'other brokers hear of it';

    -- to an offset, one partition
    SELECT * INTO v FROM queen.seek('seek', 'g', 'p2', 'offset', NULL, 2, 0, 100);
    ASSERT v.moved = 1 AND v.next_after IS NULL AND v.partition_ids = v_ids[2:2] AND (test.pop(v_ids[2], v_group)).seqs = '{2,3}';
    PERFORM queen.seek('seek', 'g', 'p3', 'offset', NULL, 99, 0, 100);
    ASSERT (test.state(v_ids[3], v_group)).cursor = 4, 'not past the end: what comes next would be skipped';
    PERFORM queen.seek('seek', 'g', 'p3', 'offset', NULL, -5, 0, 100);
    ASSERT (test.state(v_ids[3], v_group)).cursor = 0;
    ASSERT (SELECT start_mode FROM queen.groups WHERE id = v_group) = 'new', 'one partition does not change the start';

    -- after a time: the first message after it
    SELECT created_at INTO v_at FROM queen.segments WHERE partition_id = v_ids[4];
    PERFORM queen.seek('seek', 'g', 'p4', 'after', v_at + interval '1 us', NULL, 0, 100);
    ASSERT (test.pop(v_ids[4], v_group)).seqs = '{2,3}';
    PERFORM queen.seek('seek', 'g', NULL, 'after', v_at + interval '1 hour', NULL, 0, 100);
    ASSERT (test.pop(v_ids[4], v_group)).state = 'empty' AND (SELECT start_mode FROM queen.groups WHERE id = v_group) = 'time';

    SELECT * INTO v FROM queen.seek('seek', 'nobody', NULL, 'end', NULL, NULL, 0, 100);
    ASSERT v.moved = 0 AND v.next_after IS NULL;
    SELECT * INTO v FROM queen.seek('nothing', 'g', NULL, 'end', NULL, NULL, 0, 100);
    ASSERT v.moved = 0;
END $$;

-- partitions without progress: the group's recorded start is overridden, in both directions
DO $$
DECLARE
    v_id int := test.partition('seek.fresh'); v_group int;
BEGIN
    PERFORM test.push(v_id, 3);
    v_group := test.groupid('seek.fresh', 'n', 'new');
    PERFORM queen.seek('seek.fresh', 'n', NULL, 'offset', NULL, 0, 0, 100);
    ASSERT (test.pop(v_id, v_group)).seqs = '{0,1,2}' AND NOT EXISTS (SELECT FROM queen.group_starts WHERE group_id = v_group);
    v_group := test.groupid('seek.fresh', 's', 'all');
    ASSERT queen.set_subscription('s', clock_timestamp() + interval '1 hour') = 1 AND test.available(v_id, v_group) = 'empty';
    ASSERT queen.set_subscription('s', '2020-01-01Z') = 1 AND test.available(v_id, v_group) = 'ready';
    ASSERT queen.set_subscription('nobody', '2020-01-01Z') = 0;
END $$;

-- A group that popped before the queue existed is there, with the start it asked for; an unknown one is not made.
DO $$
DECLARE v_id int; v record; v_group int;
BEGIN
    PERFORM queen.ensure_group('seek.early', 'g', 'new', NULL);
    SELECT * INTO v FROM queen.seek('seek.early', 'g', NULL, 'end', NULL, NULL, 0, 100);
    ASSERT v.moved = 0 AND EXISTS (SELECT FROM queen.early_groups WHERE queue_name = 'seek.early'), 'no queue yet';
    v_id := test.partition('seek.early');
    PERFORM test.push(v_id, 4);
    SELECT * INTO v FROM queen.seek('seek.early', 'other', 'Default', 'end', NULL, NULL, 0, 100);
    ASSERT v.moved = 0 AND NOT EXISTS (SELECT FROM queen.groups WHERE name = 'other');
    SELECT * INTO v FROM queen.seek('seek.early', 'g', 'Default', 'offset', NULL, 3, 0, 100);
    ASSERT v.moved = 1, v::text;
    SELECT group_id INTO v_group FROM queen.ensure_group('seek.early', 'g', 'new', NULL);
    ASSERT (test.pop(v_id, v_group)).seqs = '{3}' AND (SELECT start_mode FROM queen.groups WHERE id = v_group) = 'all';
END $$;

-- The recorded start, for the group after its deletion without its record: a seek of one partition leaves it, one of the
-- queue replaces it.
DO $$
DECLARE v_id int := test.partition('seek.start'); v_other int := test.partition('seek.start', 'other'); v_born int; v_group int;
BEGIN
    PERFORM test.push(v_id, 5), test.push(v_other, 2), test.groupid('seek.start', 'n', 'new'), test.push(v_id, 3);
    PERFORM queen.seek('seek.start', 'n', 'Default', 'end', NULL, NULL, 0, 100);
    PERFORM queen.delete_group('n', 'seek.start', false);
    v_group := test.groupid('seek.start', 'n');
    ASSERT (test.pop(v_id, v_group)).seqs = '{5,6,7}' AND test.available(v_other, v_group) = 'empty';

    PERFORM queen.seek('seek.start', 'n', NULL, 'end', NULL, NULL, 0, 100);
    PERFORM test.push(v_id, 1), test.push(v_other, 1);
    PERFORM queen.delete_group('n', 'seek.start', false);
    v_born := test.partition('seek.start', 'born');
    PERFORM test.push(v_born, 1);
    v_group := test.groupid('seek.start', 'n');
    ASSERT (test.pop(v_id, v_group)).seqs = '{8}' AND (test.pop(v_other, v_group)).seqs = '{2}' AND (test.pop(v_born, v_group)).seqs = '{0}';
END $$;
