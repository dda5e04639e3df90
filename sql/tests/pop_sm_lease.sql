-- pop_sm_lease / pop_messages: who gets what.

-- batches, settled holes, the byte limit, attempts
DO $$
DECLARE
    v_id int := test.partition('lease'); v_group int := test.groupid('lease'); v test.delivery; v_lease uuid := gen_random_uuid();
BEGIN
    PERFORM test.push(v_id, 3); PERFORM test.push(v_id, 1); PERFORM test.push(v_id, 6);
    v := test.pop(v_id, v_group, v_lease, 4, 60);
    ASSERT v.state = 'leased' AND v.seqs = '{0,1,2,3}' AND v.failures = '{0,0,0,0}' AND v.payloads[2] = '{"n":1}', v::text;
    ASSERT v.lease_until BETWEEN clock_timestamp() + interval '59 s' AND clock_timestamp() + interval '60 s';
    PERFORM test.ack(v_id, v_group, v_lease, '{1,3}');
    PERFORM test.age(v_id, interval '301 s');
    v := test.pop(v_id, v_group, p_batch => 4);           -- redelivered ones count, settled ones do not
    ASSERT v.seqs = '{0,2,4,5}', v::text;
    PERFORM test.age(v_id, interval '301 s');
    ASSERT (test.pop(v_id, v_group, p_batch => 100)).seqs = '{0,2,4,5,6,7,8,9}';
    PERFORM test.age(v_id, interval '301 s');
    -- bytes: whole segments, at least one
    ASSERT (test.pop(v_id, v_group, p_batch => 100, p_max_bytes => 1)).seqs = '{0,2}';
    PERFORM test.age(v_id, interval '301 s');
    ASSERT (test.pop(v_id, v_group, p_batch => 100, p_max_bytes => (
        SELECT sum(octet_length(payloads)) FROM queen.segments WHERE partition_id = v_id AND base_seq < 4))).seqs = '{0,2}';
    PERFORM test.age(v_id, interval '301 s');
    ASSERT (test.pop(v_id, v_group, p_batch => 100, p_max_bytes => (
        SELECT sum(octet_length(payloads)) FROM queen.segments WHERE partition_id = v_id))).seqs = '{0,2,4,5,6,7,8,9}';
END $$;

-- Leasing again with the same id returns the same lease (a retry after an unknown end is harmless)
DO $$
DECLARE
    v_id int := test.partition('same'); v_group int := test.groupid('same'); v_lease uuid := gen_random_uuid();
    v test.delivery; w test.delivery;
BEGIN
    PERFORM test.push(v_id, 3); PERFORM test.push(v_id, 3); PERFORM test.push(v_id, 3);
    v := test.pop(v_id, v_group, v_lease, 5);
    PERFORM test.push(v_id, 3);
    w := test.pop(v_id, v_group, v_lease, 5, p_max_bytes => 1);
    ASSERT v = w, format('%s instead of %s', w, v);
    PERFORM test.ack(v_id, v_group, v_lease, '{0,1,3}');
    w := test.pop(v_id, v_group, v_lease, 5);
    ASSERT w.seqs = '{2,4}' AND w.lease_until = v.lease_until, w::text;
    ASSERT (test.state(v_id, v_group)).epoch = 2, 'asking again writes nothing';
    w := test.pop(v_id, v_group);
    ASSERT w.state = 'held' AND w.ready_in_ms BETWEEN 299000 AND 300000 AND w.seqs IS NULL, w::text;
END $$;

-- A lease says whether there may be more behind it: ready_in_ms 0, or NULL when it has all there is
DO $$
DECLARE
    v_id int := test.partition('whole'); v_group int := test.groupid('whole'); v_lease uuid := gen_random_uuid();
BEGIN
    PERFORM test.push(v_id, 3); PERFORM test.push(v_id, 3);
    ASSERT (test.pop(v_id, v_group, p_batch => 5)).ready_in_ms = 0, 'the batch leaves one';
    PERFORM test.age(v_id, interval '301 s');
    ASSERT (test.pop(v_id, v_group, p_max_bytes => 1)).ready_in_ms = 0, 'the bytes leave some';
    PERFORM test.age(v_id, interval '301 s');
    ASSERT (test.pop(v_id, v_group, v_lease, 6)).ready_in_ms IS NULL, 'all there is';
    ASSERT (test.pop(v_id, v_group, v_lease, 6)).ready_in_ms = 0, 'asked again it does not know';
    PERFORM test.age(v_id, interval '301 s');
    UPDATE queen.queues SET delayed_processing = 10 WHERE name = 'whole';
    PERFORM test.push(v_id, 1);
    ASSERT (test.pop(v_id, v_group)).ready_in_ms = 0, 'some are delayed';
    PERFORM test.age(v_id, interval '301 s');
    UPDATE queen.queues SET delayed_processing = 0 WHERE name = 'whole';
    ASSERT (test.pop(v_id, v_group, p_auto_ack => true)).ready_in_ms IS NULL, 'settled at once';
END $$;

-- Not now: every state with its time; gone; nothing is written for any of them
DO $$
DECLARE
    v_id int := test.partition('notnow'); v_group int := test.groupid('notnow'); v test.delivery; v_lease uuid := gen_random_uuid();
BEGIN
    v := test.pop(v_id, v_group);
    ASSERT v.state = 'empty' AND v.ready_in_ms IS NULL;
    PERFORM test.push(v_id, 2);
    UPDATE queen.queues SET delayed_processing = 10 WHERE name = 'notnow';
    v := test.pop(v_id, v_group);
    ASSERT v.state = 'delayed' AND v.ready_in_ms BETWEEN 9000 AND 10000, v::text;
    UPDATE queen.queues SET delayed_processing = 0, window_buffer = 10 WHERE name = 'notnow';
    v := test.pop(v_id, v_group);
    ASSERT v.state = 'window' AND v.ready_in_ms BETWEEN 9000 AND 10001, v::text;
    UPDATE queen.queues SET window_buffer = 0, retry_delay = 10000 WHERE name = 'notnow';
    ASSERT NOT EXISTS (SELECT FROM queen.progress WHERE partition_id = v_id);
    PERFORM test.pop(v_id, v_group, v_lease);
    PERFORM test.ack(v_id, v_group, v_lease, '{1}', '{0}', '{failed}');
    v := test.pop(v_id, v_group);
    ASSERT v.state = 'retry' AND v.ready_in_ms BETWEEN 9000 AND 10000, v::text;
    ASSERT (test.pop(v_id, -1)).state = 'gone' AND (test.pop(-1, v_group)).state = 'gone';
END $$;

-- Two pops of one partition in one call: one holder (I3)
DO $$
DECLARE
    v_id int := test.partition('twice'); v_group int := test.groupid('twice'); v_rows text;
BEGIN
    PERFORM test.push(v_id, 3);
    SELECT string_agg(format('%s %s', r.ordinal, r.state), ', ' ORDER BY r.ordinal) INTO v_rows
    FROM queen.pop_sm_lease(ARRAY[1, 2], ARRAY[v_id, v_id], ARRAY[v_group, v_group], ARRAY[gen_random_uuid(), gen_random_uuid()],
        ARRAY[1, 1], ARRAY[0, 0], ARRAY[false, false], 1000000) r;
    ASSERT v_rows = '1 leased, 2 again', v_rows;
END $$;

-- One pop of several partitions: a global batch, in the order of the rows; others' pops in one call (I7)
DO $$
DECLARE
    v_ids int[] := ARRAY(SELECT test.partition('multi', 'p' || i) FROM generate_series(1, 5) i);
    v_group int := test.groupid('multi'); v_lease uuid := gen_random_uuid(); v_other uuid := gen_random_uuid(); v_rows text;
BEGIN
    FOR i IN 1..4 LOOP PERFORM test.push(v_ids[i], 2); PERFORM test.push(v_ids[i], 1); END LOOP;
    SELECT string_agg(format('%s %s %s-%s %s', r.ordinal, r.state, r.cursor, r.lease_end, r.segment_bases), ', ' ORDER BY r.ordinal)
    INTO v_rows
    FROM queen.pop_sm_lease(ARRAY[1, 1, 1, 1, 2, 2, 3], v_ids[3:3] || v_ids[5:5] || v_ids[1:2] || v_ids[4:4] || v_ids[3:3] || 2000000000,
        array_fill(v_group, ARRAY[7]), ARRAY[v_lease, v_lease, v_lease, v_lease, v_other, v_other, v_other],
        ARRAY[5, 5, 5, 5, 1, 1, 1], array_fill(0, ARRAY[7]), array_fill(false, ARRAY[7]), 1000000) r;
    ASSERT v_rows = '1 leased 0-3 {0,2}, 2 empty 0- , 3 leased 0-2 {0}, 4 full 0- {}, 5 leased 0-1 {0}, 6 again 0- {}, 7 gone - ', v_rows;
    -- full and again wrote nothing
    ASSERT (SELECT count(*) FROM queen.progress WHERE group_id = v_group) = 3;
    -- the same pop again: the same answer, not more
    SELECT string_agg(format('%s %s %s-%s', r.ordinal, r.state, r.cursor, r.lease_end), ', ' ORDER BY r.ordinal)
    INTO v_rows
    FROM queen.pop_sm_lease(ARRAY[1, 1, 1], v_ids[3:3] || v_ids[1:2], array_fill(v_group, ARRAY[3]), ARRAY[v_lease, v_lease, v_lease],
        ARRAY[5, 5, 5], array_fill(0, ARRAY[3]), array_fill(false, ARRAY[3]), 1000000) r;
    ASSERT v_rows = '1 leased 0-3, 2 leased 0-2, 3 full 0-', v_rows;
END $$;

-- Automatic ack: settled at once, no lease, holes left by others are respected
DO $$
DECLARE
    v_id int := test.partition('auto'); v_group int := test.groupid('auto'); v test.delivery; v_lease uuid := gen_random_uuid();
BEGIN
    PERFORM test.push(v_id, 6);
    PERFORM test.pop(v_id, v_group, v_lease, 4);
    PERFORM test.ack(v_id, v_group, v_lease, '{1,2}', p_ends => true);
    v := test.pop(v_id, v_group, p_batch => 1, p_auto_ack => true);
    ASSERT v.state = 'leased' AND v.seqs = '{0}' AND v.lease_until IS NULL, v::text;
    ASSERT (test.state(v_id, v_group)).cursor = 3 AND (test.state(v_id, v_group)).lease_id IS NULL;
    v := test.pop(v_id, v_group, p_batch => 2, p_auto_ack => true);
    ASSERT v.seqs = '{3,4}';
    v := test.pop(v_id, v_group, p_batch => 2, p_auto_ack => true);
    ASSERT v.seqs = '{5}';
    ASSERT (test.pop(v_id, v_group, p_auto_ack => true)).state = 'empty';
END $$;

-- Durability (I5): a lease commits asynchronously, an automatic ack never
DO $$
DECLARE
    v_id int := test.partition('auto2'); v_group int := test.groupid('auto2');
BEGIN
    PERFORM test.push(v_id, 2);
    ASSERT current_setting('synchronous_commit') = 'on', 'it leaked out of an earlier transaction';
    PERFORM test.pop(v_id, v_group, p_batch => 1, p_auto_ack => true);
    ASSERT current_setting('synchronous_commit') = 'on', 'an automatic ack commits asynchronously';
    PERFORM test.pop(v_id, v_group, p_batch => 1);
    ASSERT current_setting('synchronous_commit') = 'off', 'a lease commits synchronously';
END $$;
DO $$ BEGIN ASSERT current_setting('synchronous_commit') = 'on', 'it leaked out of the transaction'; END $$;

-- maxDeliveries: the head that nobody survives goes to the dead letters, and only it
DO $$
DECLARE
    v_id int := test.partition('deaths'); v_group int := test.groupid('deaths'); v test.delivery; v_lease uuid;
BEGIN
    UPDATE queen.queues SET max_deliveries = 2 WHERE name = 'deaths';
    PERFORM test.push(v_id, 3, E'm0\n\nm2');
    FOR i IN 1..2 LOOP
        ASSERT (test.pop(v_id, v_group)).seqs = '{0,1,2}';
        PERFORM test.age(v_id, interval '301 s');
    END LOOP;
    v := test.pop(v_id, v_group);
    ASSERT v.state = 'again' AND v.seqs IS NULL, v::text;
    ASSERT (SELECT (seq, txn, payload, retry_count) = (0, 'm0', '{"n":0}', 0) AND error IS NOT NULL
            FROM queen.dead_letters WHERE partition_id = v_id AND group_id = v_group);
    v_lease := gen_random_uuid();
    ASSERT (test.pop(v_id, v_group, v_lease)).seqs = '{1,2}', 'the next head starts at zero';
    -- a verdict on the head, or handing the lease back, is not a death
    FOR i IN 1..3 LOOP
        PERFORM test.ack(v_id, v_group, v_lease, p_retry_from => 1);
        ASSERT (test.pop(v_id, v_group, v_lease)).seqs = '{1,2}', i::text;
    END LOOP;
    UPDATE queen.queues SET retry_limit = 100 WHERE name = 'deaths';
    FOR i IN 1..3 LOOP
        PERFORM test.ack(v_id, v_group, v_lease, p_items => '{1}', p_kinds => '{failed}');
        PERFORM test.age(v_id, interval '301 s');
        v_lease := gen_random_uuid();
        ASSERT (test.pop(v_id, v_group, v_lease)).seqs = '{1,2}', i::text;
    END LOOP;
    ASSERT (SELECT count(*) FROM queen.dead_letters WHERE partition_id = v_id) = 1;
    -- a settled hole behind the dead head is jumped over
    PERFORM test.push(v_id, 1);
    PERFORM test.ack(v_id, v_group, v_lease, '{2}', p_ends => true);
    FOR i IN 1..2 LOOP PERFORM test.pop(v_id, v_group); PERFORM test.age(v_id, interval '301 s'); END LOOP;
    ASSERT (test.pop(v_id, v_group)).state = 'again';
    ASSERT (test.pop(v_id, v_group)).seqs = '{3}';
    ASSERT (SELECT string_agg(seq || ':' || retry_count, ' ' ORDER BY seq) FROM queen.dead_letters WHERE partition_id = v_id) = '0:0 1:3';
END $$;

-- A lease reaches at most 10,000 offsets past the cursor
DO $$
DECLARE
    v_id int := test.partition('span'); v_group int := test.groupid('span'); v test.delivery; v_lease uuid := gen_random_uuid();
BEGIN
    PERFORM test.push(v_id, 12000);
    v := test.pop(v_id, v_group, v_lease, 10000);
    ASSERT cardinality(v.seqs) = 10000;
    PERFORM test.ack(v_id, v_group, v_lease, ARRAY(SELECT generate_series(1, 9999)::bigint));
    PERFORM test.age(v_id, interval '301 s');
    v := test.pop(v_id, v_group, v_lease, 10000);
    ASSERT v.seqs = '{0}', 'the hole is as wide as a lease';
    PERFORM test.ack(v_id, v_group, v_lease, '{0}');
    ASSERT cardinality((test.pop(v_id, v_group, v_lease, 10000)).seqs) = 2000;
END $$;

-- pop_sm_fetch reads what the lease named, and leaves out what retention has taken
DO $$
DECLARE
    v_id int := test.partition('fetch'); v_rows text;
BEGIN
    PERFORM test.push(v_id, 2); PERFORM test.push(v_id, 1);
    UPDATE queen.segments SET payloads = NULL WHERE partition_id = v_id AND base_seq = 2;
    SELECT string_agg(format('%s %s %s', f.ordinal, f.count, f.payloads), ';') INTO v_rows
    FROM queen.pop_sm_fetch(ARRAY[v_id, v_id, v_id], ARRAY[7, 0, 2]::bigint[]) f;
    ASSERT v_rows = E'2 2 {"n":0}\n{"n":1}', v_rows;
END $$;

-- Strict bytes: of all partitions of a pop together, with transactionIds and meta; what alone is larger is named
DO $$
DECLARE
    v_ids int[] := ARRAY[test.partition('bytes'), test.partition('bytes', 'p2'), test.partition('bytes', 'p3')];
    v_group int := test.groupid('bytes'); v_bytes bigint; v text; v_lease uuid := gen_random_uuid();
BEGIN
    FOR i IN 1..3 LOOP
        PERFORM test.push(v_ids[i], 2); PERFORM test.push(v_ids[i], 2);
    END LOOP;
    SELECT octet_length(payloads) + coalesce(octet_length(txns), 0) + coalesce(octet_length(meta), 0) INTO v_bytes
    FROM queen.segments WHERE partition_id = v_ids[1] AND base_seq = 0;

    SELECT string_agg(format('%s %s', l.state, l.lease_end), ', ' ORDER BY l.ordinal) INTO v
    FROM queen.pop_sm_lease('{1,1}', v_ids[1:2], ARRAY[v_group, v_group], ARRAY[v_lease, v_lease], '{10,10}', '{60,60}',
                            '{f,f}', v_bytes - 1, true) l;
    ASSERT v = format('large %s, large %s', v_bytes, v_bytes), v;
    ASSERT test.state(v_ids[1], v_group) IS NULL, 'nothing was taken';

    SELECT string_agg(format('%s %s', l.state, l.lease_end), ', ' ORDER BY l.ordinal) INTO v
    FROM queen.pop_sm_lease('{1,1,2}', v_ids, array_fill(v_group, ARRAY[3]), array_fill(v_lease, ARRAY[3]), '{10,10,10}',
                            '{60,60,60}', '{f,f,f}', v_bytes, true) l;
    ASSERT v = 'leased 2, full , leased 2', v;
    -- the same lease again, whatever the bytes
    SELECT l.state INTO v FROM queen.pop_sm_lease('{1}', v_ids[1:1], ARRAY[v_group], ARRAY[v_lease], '{10}', '{60}', '{f}', 1, true) l;
    ASSERT v = 'leased', v;
END $$;
