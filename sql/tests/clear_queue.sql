-- clear_queue: removes what some group has still to consume, and nothing else; ends and clocks stay.

-- All steps of at most p_limit; how many messages.
CREATE FUNCTION test.clear(p_queue text, p_partition text DEFAULT NULL, p_limit int DEFAULT 500) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE v record; v_after int := 0; v_from bigint; v_upto bigint; v_count bigint := 0; v_steps int := 0;
BEGIN
    LOOP
        SELECT * INTO STRICT v FROM queen.clear_queue(p_queue, p_partition, v_after, v_from, v_upto, p_limit);
        v_count := v_count + v.cleared;
        EXIT WHEN v.next_after IS NULL;
        v_after := v.next_after; v_from := v.next_from; v_upto := v.next_upto; v_steps := v_steps + 1;
        ASSERT v_steps < 1000, 'the steps do not end';
    END LOOP;
    RETURN v_count;
END $$;

-- What is stored of a partition, by offsets.
CREATE FUNCTION test.stored(p_partition int) RETURNS bigint[] LANGUAGE sql AS $$
    SELECT coalesce(array_agg(m.seq ORDER BY m.seq), '{}') FROM queen.messages m JOIN queen.partitions p ON p.name = m.partition
    JOIN queen.queues q ON q.id = p.queue_id AND q.name = m.queue WHERE p.id = p_partition $$;

CREATE FUNCTION test.count_stored(p_partition int) RETURNS bigint LANGUAGE sql AS $$
    SELECT amount FROM queen.lane_numbers(ARRAY[p_partition], NULL, clock_timestamp()) WHERE group_id IS NULL $$;
CREATE FUNCTION test.count_pending(p_partition int, p_group int) RETURNS bigint LANGUAGE sql AS $$
    SELECT amount FROM queen.lane_numbers(ARRAY[p_partition], NULL, clock_timestamp()) WHERE group_id = p_group $$;

-- Without groups and with groups that have passed nothing: everything goes, offsets and times go on.
DO $$
DECLARE v_id int := test.partition('clear'); v_end timestamptz; v_group int; v_new int;
BEGIN
    ASSERT test.clear('clear') = 0 AND test.clear('unknown') = 0 AND test.clear('clear', 'unknown') = 0;
    PERFORM test.push(v_id, 3, E'a\nb\nc'), test.push(v_id, 2);
    SELECT max(created_at + count * interval '1 us') INTO v_end FROM queen.segments WHERE partition_id = v_id;
    ASSERT test.clear('clear') = 5 AND test.stored(v_id) = '{}' AND test.count_stored(v_id) = 0 AND test.clear('clear') = 0;
    ASSERT NOT EXISTS (SELECT FROM queen.holes) AND NOT EXISTS (SELECT FROM queen.dedup WHERE partition_id = v_id);
    v_group := test.groupid('clear');
    ASSERT (test.pop(v_id, v_group)).state = 'empty', 'a new group gets what was cleared';
    ASSERT test.push(v_id, 2, E'a\nx') = 5, 'an offset is used again';
    ASSERT (SELECT max(created_at) FROM queen.segments WHERE partition_id = v_id) >= v_end;
    ASSERT test.count_pending(v_id, v_group) = 2;
    ASSERT (test.pop(v_id, v_group)).seqs = '{5,6}';
END $$;

-- What all groups have passed stays; a message of a segment is as good as a segment.
DO $$
DECLARE
    v_id int := test.partition('kept'); v_g int := test.groupid('kept', 'g'); v_h int := test.groupid('kept', 'h'); v_new int;
    v_lease uuid := gen_random_uuid(); v_other uuid := gen_random_uuid(); v test.delivery;
BEGIN
    PERFORM test.push(v_id, 4, E'a\nb\nc\nd'), test.push(v_id, 4), test.push(v_id, 4);
    PERFORM test.pop(v_id, v_g, p_batch => 7, p_auto_ack => true), test.pop(v_id, v_h, p_batch => 2, p_auto_ack => true);
    PERFORM test.pop(v_id, v_h, v_lease, 3), test.pop(v_id, v_g, v_other, 1);
    ASSERT test.clear('kept', 'Default') = 10, 'of 12, both have passed 2';
    ASSERT test.stored(v_id) = '{0,1}' AND test.count_stored(v_id) = 2;
    ASSERT (SELECT (base_seq, count) = (2, 10) FROM queen.holes WHERE partition_id = v_id);
    ASSERT test.available(v_id, v_g) = 'empty' AND test.available(v_id, v_h) = 'empty';
    ASSERT (SELECT state FROM test.ack(v_id, v_h, v_lease, '{2}')) = 'refused', 'the lease lives';
    -- what stays is still a duplicate, what went is not
    ASSERT (SELECT status FROM test.push_segments(ARRAY[v_id], ARRAY['1'], ARRAY['b'])) = 'duplicate';
    ASSERT test.push(v_id, 1, 'c') = 12;
    ASSERT (test.pop(v_id, v_h)).seqs = '{12}' AND (test.pop(v_id, v_g)).seqs = '{12}', 'a group is stuck';

    -- a later group reads what stayed, and then what is new, each in a lease of its own
    v_new := test.groupid('kept', 'new');
    ASSERT test.count_pending(v_id, v_new) = 3;
    v := test.pop(v_id, v_new, v_lease, 100);
    ASSERT v.seqs = '{0,1}' AND v.lease_end = 2 AND v.ready_in_ms = 0, v::text;
    ASSERT (SELECT released FROM test.ack(v_id, v_new, v_lease, '{0,1}')), 'the hole holds the lease';
    ASSERT (test.pop(v_id, v_new, v_lease)).seqs = '{12}';
    PERFORM test.ack(v_id, v_new, v_lease, '{12}');
    ASSERT test.available(v_id, v_new) = 'empty' AND test.count_pending(v_id, v_new) = 0;
    PERFORM queen.seek('kept', 'new', NULL, 'offset', NULL, 1, 0, 100);
    ASSERT test.count_pending(v_id, v_new) = 2;
    ASSERT (test.pop(v_id, v_new, p_batch => 100, p_auto_ack => true)).seqs = '{1}' AND (test.pop(v_id, v_new, p_auto_ack => true)).seqs = '{12}';

    -- holes that touch are one, and blanked rows do not pile up
    FOR i IN 1..5 LOOP
        PERFORM test.pop(v_id, g, p_batch => 10, p_auto_ack => true) FROM unnest(ARRAY[v_g, v_h, v_new]) g;
        UPDATE queen.progress SET lease_until = clock_timestamp() WHERE partition_id = v_id;
        PERFORM test.pop(v_id, g, p_batch => 10, p_auto_ack => true) FROM unnest(ARRAY[v_g, v_h, v_new]) g;
        PERFORM test.push(v_id, 3);
        ASSERT test.clear('kept') = 3;
    END LOOP;
    ASSERT test.stored(v_id) = '{0,1,12}' AND test.count_stored(v_id) = 3, test.stored(v_id);
    ASSERT (SELECT array_agg((base_seq, count)::text ORDER BY base_seq) FROM queen.holes WHERE partition_id = v_id) = '{"(2,10)","(13,15)"}';
    ASSERT (SELECT count(*) FROM queen.segments WHERE partition_id = v_id) <= 4;
END $$;

-- What is settled behind a message that is not, goes with it: it is not counted.
DO $$
DECLARE v_id int := test.partition('bits'); v_group int := test.groupid('bits'); v_lease uuid := gen_random_uuid();
BEGIN
    PERFORM test.push(v_id, 6);
    PERFORM test.pop(v_id, v_group, v_lease, 5);
    PERFORM test.ack(v_id, v_group, v_lease, '{0,2}', '{3}', '{failed}');
    ASSERT test.clear('bits') = 4 AND test.stored(v_id) = '{0}';
    ASSERT (test.state(v_id, v_group)).lease_id IS NULL AND (test.state(v_id, v_group)).attempt_seqs IS NULL;
    ASSERT test.push(v_id) = 6 AND (test.pop(v_id, v_group)).seqs = '{6}';
END $$;

-- In steps of any size, over several partitions and many segments; a push between two steps stays.
DO $$
DECLARE v_id int; v_count bigint; v_before bigint[]; v record; v_group int;
BEGIN
    FOR v_limit IN 1..12 LOOP
        FOR i IN 1..4 LOOP
            v_id := test.partition('steps' || v_limit, 'p' || i);
            FOR j IN 1..i LOOP PERFORM test.push(v_id, 5); END LOOP;
        END LOOP;
        v_group := test.groupid('steps' || v_limit);
        PERFORM test.pop(v_id, v_group, p_batch => 7, p_auto_ack => true);
        v_count := test.clear('steps' || v_limit, NULL, v_limit);
        ASSERT v_count = 43, format('%s: %s', v_limit, v_count);
        ASSERT test.stored(v_id) = '{0,1,2,3,4,5,6}' AND test.count_stored(v_id) = 7;
        ASSERT (SELECT sum(amount) FROM queen.lane_numbers(ARRAY(SELECT id FROM queen.partitions p WHERE queue_id = (
            SELECT id FROM queen.queues WHERE name = 'steps' || v_limit)), NULL, clock_timestamp()) WHERE group_id IS NULL) = 7;
    END LOOP;

    v_id := test.partition('between');
    v_group := test.groupid('between');
    FOR i IN 1..6 LOOP PERFORM test.push(v_id, 2); END LOOP;
    SELECT * INTO v FROM queen.clear_queue('between', NULL, 0, NULL, NULL, 2);
    ASSERT v.cleared = 12 AND v.next_after = v_id AND v.next_from = 4 AND v.next_upto = 12, v::text;
    ASSERT test.push(v_id, 2) = 12;
    ASSERT (test.pop(v_id, v_group)).seqs = '{12,13}', 'the rest of a clear is delivered';
    LOOP
        SELECT * INTO v FROM queen.clear_queue('between', NULL, v.next_after, v.next_from, v.next_upto, 2);
        ASSERT v.cleared = 0;
        EXIT WHEN v.next_after IS NULL;
    END LOOP;
    ASSERT test.stored(v_id) = '{12,13}' AND test.count_stored(v_id) = 2;
END $$;

-- Retention takes holes along; deletion leaves none.
DO $$
DECLARE v_id int := test.partition('swept'); v_group int := test.groupid('swept');
BEGIN
    PERFORM test.push(v_id, 4);
    PERFORM test.pop(v_id, v_group, p_batch => 2, p_auto_ack => true);
    PERFORM test.clear('swept'), test.age(v_id, interval '1 hour'), test.push(v_id, 2);
    ASSERT EXISTS (SELECT FROM queen.holes WHERE partition_id = v_id) AND test.count_stored(v_id) = 4;
    UPDATE queen.queues SET retention_seconds = 60 WHERE name = 'swept';
    ASSERT test.count_stored(v_id) = 2;
    FOR i IN 1..3 LOOP PERFORM queen.sweep_segments(v_id - 1, 1, 1000); END LOOP;
    ASSERT NOT EXISTS (SELECT FROM queen.holes WHERE partition_id = v_id) AND test.count_stored(v_id) = 2;
    PERFORM queen.delete_queue('kept');
    FOR i IN 1..50 LOOP PERFORM queen.sweep_orphans(1000, interval '0'); END LOOP;
    ASSERT NOT EXISTS (SELECT FROM queen.holes h WHERE NOT EXISTS (SELECT FROM queen.partitions p WHERE p.id = h.partition_id));
END $$;

-- A deleted message that is cleared is subtracted once: with the hole it stands in, not beside it.
DO $$
DECLARE
    v_id int := test.partition('erased'); v_g int := test.groupid('erased'); v_lease uuid := gen_random_uuid();
BEGIN
    PERFORM test.push(v_id, 6, E'er-a\ner-b\ner-c\ner-d\ner-e\ner-f');
    PERFORM test.pop(v_id, v_g, v_lease, 3);
    PERFORM test.ack(v_id, v_g, v_lease, '{0,1,2}');
    ASSERT (SELECT bool_and(d.deleted) FROM unnest('{er-b,er-e}'::text[]) t, queen.delete_message(v_id, t) d);
    ASSERT test.count_stored(v_id) = 4 AND test.count_pending(v_id, v_g) = 2;
    ASSERT test.clear('erased') = 2 AND test.stored(v_id) = '{0,2}';
    ASSERT test.count_stored(v_id) = 2 AND test.count_pending(v_id, v_g) = 0, format('%s stored', test.count_stored(v_id));
    PERFORM test.push(v_id, 3);
    ASSERT test.count_stored(v_id) = 5 AND test.count_pending(v_id, v_g) = 3;
END $$;

-- Offsets that are hidden or settled right in front of a hole: the cursor is on the first message behind it, for
-- groups that begin and for those that seek back.
DO $$
DECLARE v_id int; v_g int; v_new int; v_lease uuid := gen_random_uuid();
BEGIN
    FOR v_segments IN 1..2 LOOP
        v_id := test.partition('front' || v_segments);
        v_g := test.groupid('front' || v_segments);
        IF v_segments = 1 THEN PERFORM test.push(v_id, 4, E'a\nb\nc\nd');
        ELSE PERFORM test.push(v_id, 1, t) FROM unnest('{a,b,c,d}'::text[]) t; END IF;
        PERFORM test.pop(v_id, v_g, p_batch => 1, p_auto_ack => true), queen.delete_message(v_id, 'a');
        ASSERT test.clear('front' || v_segments) = 3;
        v_new := test.groupid('front' || v_segments, 'new');
        ASSERT test.available(v_id, v_new) = 'empty' AND test.count_pending(v_id, v_new) = 0;
        PERFORM test.push(v_id, 2, E'e\nf');
        PERFORM queen.seek('front' || v_segments, 'g', NULL, 'offset', NULL, 0, 0, 100);
        ASSERT (SELECT bool_and(test.count_pending(v_id, i) = 2) FROM unnest(ARRAY[v_g, v_new]) i);
        ASSERT (test.pop(v_id, v_new, p_batch => 1)).seqs = '{4}' AND (test.pop(v_id, v_g, p_batch => 1)).seqs = '{4}';
        PERFORM queen.delete_message(v_id, 'e');
        ASSERT (SELECT bool_and(test.count_pending(v_id, i) = 1) FROM unnest(ARRAY[v_g, v_new]) i);
    END LOOP;

    -- settled by hand, between two holes
    v_id := test.partition('islands');
    v_g := test.groupid('islands');
    FOR i IN 0..1 LOOP
        PERFORM test.push(v_id, 2, format(E'k%s\nx%s', i, i)), test.pop(v_id, v_g, p_batch => 1, p_auto_ack => true);
        ASSERT test.clear('islands') = 1;
    END LOOP;
    PERFORM test.push(v_id, 1, 'end');
    v_new := test.groupid('islands', 'new');
    ASSERT (SELECT state = 'settled' FROM queen.dead_letter_message(v_id, 'k1', 'new', NULL));
    ASSERT (test.pop(v_id, v_new, v_lease)).seqs = '{0}' AND (SELECT released FROM test.ack(v_id, v_new, v_lease, '{0}'));
    ASSERT test.count_pending(v_id, v_new) = 1, test.count_pending(v_id, v_new);
    ASSERT (test.pop(v_id, v_new)).seqs = '{4}';
END $$;

-- A lease that is asked for again when all of it is gone names no segments, and can be given back.
DO $$
DECLARE v_id int := test.partition('blank'); v_g int := test.groupid('blank'); v_lease uuid := gen_random_uuid(); v record;
BEGIN
    PERFORM test.push(v_id, 2);
    ASSERT (test.pop(v_id, v_g, v_lease)).seqs = '{0,1}';
    UPDATE queen.segments SET payloads = NULL WHERE partition_id = v_id;   -- as retention does
    SELECT r.* INTO v FROM queen.pop_sm_lease(ARRAY[1], ARRAY[v_id], ARRAY[v_g], ARRAY[v_lease], ARRAY[9], ARRAY[0], ARRAY[false], 1000) r;
    ASSERT v.state = 'leased' AND v.segment_bases = '{}' AND v.segment_counts = '{}' AND v.segment_times = '{}', v::text;
    PERFORM test.ack(v_id, v_g, v_lease, p_ends => true);
    PERFORM test.push(v_id, 1);
    ASSERT (test.pop(v_id, v_g)).seqs = '{2}';
END $$;

-- A clear that was broken off between two steps: nobody is given the rest, no page counts it, and the next clear goes on
-- with it, and with what came since.
DO $$
DECLARE v_id int := test.partition('broken'); v_g int := test.groupid('broken'); v_new int; v record;
BEGIN
    PERFORM test.push(v_id, 1, 'kept'), test.pop(v_id, v_g, p_auto_ack => true);
    FOR i IN 1..6 LOOP PERFORM test.push(v_id, 2, format(E'a%s\nb%s', i, i)); END LOOP;
    PERFORM queen.delete_message(v_id, 'a2'), queen.delete_message(v_id, 'a5');
    SELECT * INTO v FROM queen.clear_queue('broken', NULL, 0, NULL, NULL, 2);
    ASSERT v.cleared = 10 AND v.next_from = 5 AND v.next_upto = 13, v::text;
    v_new := test.groupid('broken', 'new');
    ASSERT test.count_stored(v_id) = 1 AND test.count_pending(v_id, v_new) = 1, format('%s stored', test.count_stored(v_id));
    PERFORM test.push(v_id, 1, 'later');
    ASSERT (test.pop(v_id, v_new, p_auto_ack => true)).seqs = '{0}' AND (test.pop(v_id, v_new, p_auto_ack => true)).seqs = '{13}';
    ASSERT (SELECT NOT deleted FROM queen.delete_message(v_id, 'a4'));
    PERFORM test.pop(v_id, v_g, p_auto_ack => true), test.push(v_id, 3, E'x\ny\nz');
    ASSERT test.count_stored(v_id) = 5 AND test.clear('broken', NULL, 1) = 3;
    ASSERT test.stored(v_id) = '{0,13}' AND test.count_stored(v_id) = 2;
    ASSERT NOT EXISTS (SELECT FROM queen.hidden_messages WHERE partition_id = v_id);
    PERFORM test.push(v_id, 1, 'a4');
    PERFORM queen.seek('broken', 'g', NULL, 'offset', NULL, 0, 0, 100);
    FOR i IN 1..3 LOOP
        ASSERT (test.pop(v_id, v_g, p_auto_ack => true)).seqs = (ARRAY['{0}', '{13}', '{17}'])[i]::bigint[];
    END LOOP;
END $$;

-- When nobody clears again, the sweep removes the rest: partition by partition, none that is in use, and nothing of a
-- partition that the clear had not come to.
DO $$
DECLARE v_a int := test.partition('left', 'a'); v_b int := test.partition('left', 'b'); v_c int := test.partition('left', 'c');
    v record; v_after int := 0; v_steps int := 0;
BEGIN
    FOR i IN 1..4 LOOP PERFORM test.push(v_a, 2), test.push(v_b, 2), test.push(v_c, 2); END LOOP;
    PERFORM queen.clear_queue('left', 'a', 0, NULL, NULL, 1), queen.clear_queue('left', 'b', 0, NULL, NULL, 1);
    ASSERT (SELECT array_agg(DISTINCT h.partition_id ORDER BY h.partition_id) FROM queen.hidden_messages h WHERE h.only_group = -1) = ARRAY[v_a, v_b];
    LOOP
        SELECT * INTO v FROM queen.sweep_cleared(v_after, 1);
        EXIT WHEN v.next_after IS NULL;
        v_after := v.next_after;
        v_steps := v_steps + 1;
        ASSERT v_steps < 100, 'the steps do not end';
    END LOOP;
    ASSERT v_steps >= 6, v_steps;
    ASSERT NOT EXISTS (SELECT FROM queen.hidden_messages WHERE only_group = -1), 'something is left';
    ASSERT (SELECT count(*) FROM queen.segments WHERE partition_id IN (v_a, v_b)) = 2, 'the blank ones at the ends';
    ASSERT test.count_stored(v_a) = 0 AND test.count_stored(v_b) = 0 AND test.count_stored(v_c) = 8;
    PERFORM test.push(v_a, 1);
    ASSERT (test.pop(v_a, test.groupid('left'))).seqs = '{8}';
END $$;
