-- append_lanes: compare and append. Rules R1, R4, R5, R8, R9, R11; what needs two sessions is in isolation/append_*.

-- A first row, its successor, and every column as given
DO $$
DECLARE
    v_id int := test.partition('append.row'); v_group int := test.groupid('append.row'); v record; s queen.progress;
    v_lease uuid := gen_random_uuid();
BEGIN
    PERFORM test.push(v_id, 9);
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'new', -5,
        'cursor', 0, 'lease', v_lease, 'lease_ms', 60000, 'lease_end', 3, 'lease_seconds', 60, 'deliveries', 1)));
    ASSERT v.state = 'won' AND v.epoch = 1 AND v.stamp = -5 AND v.lease_until = v.now + interval '60 s', v::text;
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'new', 6,
        'cursor', 2, 'settled', '0101', 'failed', '1', 'attempt_seqs', '{2,4}', 'attempt_counts', '{1,3}', 'lease', v_lease,
        'lease_until', v.lease_until, 'lease_end', 9, 'lease_seconds', 60, 'deliveries', 4, 'ready_at', 'infinity', 'window_end', 8)));
    s := test.state(v_id, v_group);
    ASSERT v.state = 'won' AND (s.epoch, s.stamp, s.cursor, s.settled, s.failed, s.attempt_seqs, s.attempt_counts, s.lease_id, s.lease_until,
        s.lease_end, s.lease_seconds, s.deliveries, s.ready_at, s.window_end) = (2, 6, 2, B'0101', B'1', ARRAY[2, 4]::bigint[], ARRAY[1, 3],
        v_lease, v.lease_until, 9, 60, 4, 'infinity'::timestamptz, 8) AND s.changed_at = v.now, s::text;
    ASSERT (v.epoch, v.stamp, v.cursor, v.settled, v.failed, v.attempt_seqs, v.attempt_counts, v.lease_id, v.lease_end, v.lease_seconds,
        v.deliveries, v.ready_at, v.window_end) = (2, 6, 2, '0101', '1', ARRAY[2, 4]::bigint[], ARRAY[1, 3], v_lease, 9, 60, 4,
        'infinity'::timestamptz, 8), v::text;
    -- times: the later of both
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'new', 7,
        'lease_until', s.changed_at + interval '1 hour', 'lease_ms', 1000, 'ready_at', s.changed_at, 'ready_ms', 5000)));
    ASSERT v.lease_until = s.changed_at + interval '1 hour', v::text;
    ASSERT v.ready_at = v.now + interval '5 s' AND v.lease_id IS NULL AND v.settled IS NULL AND v.attempt_seqs IS NULL, v::text;
END $$;

-- R1: the epoch alone proves nothing. After a crash the row of this epoch may be another one
DO $$
DECLARE
    v_id int := test.partition('append.stamp'); v_group int := test.groupid('append.stamp'); v record;
BEGIN
    PERFORM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'new', 1)));
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'epoch', 1, 'stamp', 2, 'new', 3, 'cursor', 7)));
    ASSERT (v.state, v.epoch, v.stamp, v.cursor) = ('lost', 1, 1, 0), v::text;
    -- a first row where there is one, and a successor where there is none
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'epoch', 0, 'new', 3)));
    ASSERT (v.state, v.epoch, v.stamp) = ('lost', 1, 1), v::text;
    DELETE FROM queen.progress WHERE partition_id = v_id;
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'epoch', 1, 'stamp', 1, 'new', 3)));
    ASSERT v.state = 'lost' AND v.epoch IS NULL, v::text;
    ASSERT NOT EXISTS (SELECT FROM queen.progress WHERE partition_id = v_id);
    -- who gives no stamp gets a random one
    PERFORM queen.seek('append.stamp', 'g', NULL, 'end', NULL, NULL, 0, 10), queen.seek('append.stamp', 'g', NULL, 'end', NULL, NULL, 0, 10);
    ASSERT (SELECT count(DISTINCT stamp) = 2 AND NOT 0 = ANY (array_agg(stamp)) FROM queen.progress WHERE partition_id = v_id);
    -- the same row again is won again: a repetition does no harm
    PERFORM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'new', 9)));
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'epoch', 2, 'stamp', 0, 'new', 9)));
    ASSERT v.state = 'won' AND v.epoch = 3 AND (SELECT count(*) = 3 FROM queen.progress WHERE partition_id = v_id), v::text;
END $$;

-- R4: another version of the queue, and what is gone
DO $$
DECLARE
    v_id int := test.partition('append.version'); v_group int := test.groupid('append.version'); v_version bigint; v record; v_queue int; v_row jsonb;
BEGIN
    PERFORM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'new', 1)));
    SELECT id, version INTO v_queue, v_version FROM queen.queues WHERE name = 'append.version';
    v_row := jsonb_build_object('partition', v_id, 'group', v_group, 'queue', v_queue, 'version', v_version, 'epoch', 1, 'stamp', 1, 'new', 2);
    PERFORM queen.configure('append.version', NULL, NULL, '{"retryLimit": 9}', false);
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(v_row));
    ASSERT (v.state, v.epoch, v.stamp) = ('stale', 1, 1), v::text;
    PERFORM queen.delete_group('g', 'append.version', true);
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(v_row));
    ASSERT v.state = 'gone', v::text;
    v_group := test.groupid('append.version');
    v_version := (SELECT version FROM queen.queues WHERE id = v_queue);
    v_row := jsonb_build_object('partition', v_id, 'group', v_group, 'queue', v_queue, 'version', v_version, 'epoch', 0, 'new', 2);
    PERFORM queen.delete_partition('append.version', 'Default');
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(v_row));
    ASSERT v.state = 'gone', v::text;
    PERFORM queen.delete_queue('append.version');
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(v_row));
    ASSERT v.state = 'gone' AND NOT EXISTS (SELECT FROM queen.progress WHERE group_id = v_group), v::text;
END $$;

-- R11: not before its time, and only while the lease lives
DO $$
DECLARE
    v_id int := test.partition('append.time'); v_group int := test.groupid('append.time'); v record; v_until timestamptz;
BEGIN
    SELECT lease_until INTO v_until FROM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'new', 1,
        'lease', gen_random_uuid(), 'lease_ms', 60000, 'lease_end', 1)));
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'new', 2, 'not_before', v_until)));
    ASSERT (v.state, v.epoch, v.lease_until) = ('early', 1, v_until), v::text;
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'new', 2, 'not_before', 'infinity')));
    ASSERT v.state = 'early', v::text;
    PERFORM test.age(v_id, '60 s');
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'new', 2, 'held', true)));
    ASSERT (v.state, v.epoch) = ('expired', 1), v::text;
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'new', 2,
        'not_before', v_until - interval '60 s', 'lease', gen_random_uuid(), 'lease_ms', 60000, 'lease_end', 1)));
    ASSERT (v.state, v.epoch) = ('won', 2), v::text;
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'new', 3, 'held', true)));
    ASSERT (v.state, v.epoch) = ('won', 3) AND v.lease_id IS NULL, v::text;
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'new', 4, 'held', true)));
    ASSERT (v.state, v.epoch) = ('expired', 3), 'there is no lease: ' || v::text;
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', test.groupid('append.time', 'h'), 'new', 4, 'held', true)));
    ASSERT v.state = 'expired' AND v.epoch IS NULL, 'there is no row: ' || v::text;
END $$;

-- R5: only while the log ends there
DO $$
DECLARE
    v_id int := test.partition('append.end'); v_group int := test.groupid('append.end'); v record;
BEGIN
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'new', 1, 'log_end', 0)));
    ASSERT v.state = 'won', v::text;
    PERFORM test.push(v_id, 3);
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'new', 2, 'log_end', 0)));
    ASSERT (v.state, v.epoch) = ('moved', 1), v::text;
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'new', 2, 'log_end', 3)));
    ASSERT (v.state, v.epoch) = ('won', 2), v::text;
END $$;

-- R8: a row that was inserted below the newest has lost and is removed; its dead letters are not made
DO $$
DECLARE
    v_id int := test.partition('append.below'); v_group int := test.groupid('append.below'); v record; v_row jsonb;
BEGIN
    PERFORM test.push(v_id, 3);
    INSERT INTO queen.progress (partition_id, group_id, epoch, stamp, cursor, changed_at) VALUES (v_id, v_group, 5, 50, 0, now()), (v_id, v_group, 8, 80, 0, now());
    SELECT * INTO STRICT v FROM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'epoch', 5, 'stamp', 50, 'new', 60,
        'cursor', 2, 'frees', true, 'dead', '[[0, "e", 1]]'::jsonb)));
    ASSERT (v.state, v.epoch, v.stamp, v.cursor) = ('lost', 8, 80, 0), v::text;
    ASSERT (SELECT array_agg(epoch ORDER BY epoch) = '{5,8}' FROM queen.progress WHERE partition_id = v_id);
    ASSERT NOT EXISTS (SELECT FROM queen.dead_letters WHERE partition_id = v_id);
    ASSERT NOT EXISTS (SELECT FROM queen.batches WHERE v_id = ANY (partitions) AND base_seqs = '{}');
END $$;

-- Rows are judged one by one: some win, some lose, with dead letters and announcements of those that won
DO $$
DECLARE
    v_ids int[] := ARRAY(SELECT test.partition('append.many', 'p' || i) FROM generate_series(1, 4) i); v_group int := test.groupid('append.many');
    v_states text[]; v_notes int[];
BEGIN
    PERFORM test.push(id, 3, E'a\nb\nc') FROM unnest(v_ids) id;
    PERFORM test.append(jsonb_agg(jsonb_build_object('partition', id, 'group', v_group, 'new', 1))) FROM unnest(v_ids) id;
    SELECT array_agg(a.state ORDER BY a.ordinal) INTO v_states FROM test.append(jsonb_build_array(   -- in no order
        jsonb_build_object('partition', v_ids[3], 'group', v_group, 'new', 3, 'cursor', 1, 'frees', true, 'dead', '[[0, "why", 4], [2, null, 0]]'::jsonb),
        jsonb_build_object('partition', v_ids[1], 'group', v_group, 'epoch', 1, 'stamp', 7, 'new', 3, 'frees', true, 'dead', '[[0, "why", 4]]'::jsonb),
        jsonb_build_object('partition', v_ids[4], 'group', v_group, 'new', 3, 'not_before', 'infinity', 'frees', true),
        jsonb_build_object('partition', v_ids[2], 'group', v_group, 'new', 3)), p_broker => 7, p_n => 70) a;
    ASSERT v_states = '{won,lost,early,won}', v_states::text;
    ASSERT (SELECT array_agg((partition_id, seq, txn, payload, error, retry_count)::text ORDER BY seq) FROM queen.dead_letters WHERE partition_id = ANY (v_ids))
         = ARRAY[format('(%s,0,a,"{""n"":0}",why,4)', v_ids[3]), format('(%s,2,c,"{""n"":2}",,0)', v_ids[3])];
    SELECT partitions INTO STRICT v_notes FROM queen.batches WHERE broker = 7 AND n = 70;
    ASSERT v_notes = v_ids[3:3], v_notes::text;
    -- without a key of its own it is announced to the others; to all when nobody is named
    PERFORM test.append(jsonb_build_array(jsonb_build_object('partition', v_ids[1], 'group', v_group, 'new', 5, 'frees', true)), p_broker => 7);
    ASSERT EXISTS (SELECT FROM queen.batches WHERE broker = 7 AND n < 0 AND partitions = v_ids[1:1]);
    PERFORM test.append(jsonb_build_array(jsonb_build_object('partition', v_ids[2], 'group', v_group, 'new', 5, 'frees', true)), p_broker => NULL);
    ASSERT EXISTS (SELECT FROM queen.batches WHERE broker = 0 AND n < 0 AND partitions = v_ids[2:2]);
    -- twice the same key: the whole call fails, nothing of it is stored
    PERFORM test.fails(format('SELECT test.append(%L, p_broker => 7, p_n => 70)',
        jsonb_build_array(jsonb_build_object('partition', v_ids[1], 'group', v_group, 'new', 6))), '23505');
    ASSERT (test.state(v_ids[1], v_group)).stamp = 5;
END $$;

-- A lane twice: one of the rows wins
DO $$
DECLARE
    v_id int := test.partition('append.twice'); v_group int := test.groupid('append.twice'); v_states text[];
BEGIN
    SELECT array_agg(a.state ORDER BY a.state) INTO v_states FROM test.append(jsonb_build_array(
        jsonb_build_object('partition', v_id, 'group', v_group, 'new', 1), jsonb_build_object('partition', v_id, 'group', v_group, 'new', 2))) a;
    ASSERT v_states = '{lost,won}', v_states::text;
END $$;

-- Leases commit asynchronously, in their own transaction only; everything else does not
DO $$
DECLARE v_id int := test.partition('append.sync'); v_group int := test.groupid('append.sync');
BEGIN
    PERFORM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'new', 1)));
    ASSERT current_setting('synchronous_commit') = 'on', 'an ack commits asynchronously';
    PERFORM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'new', 2)), p_sync => false);
    ASSERT current_setting('synchronous_commit') = 'off', 'a lease commits synchronously';
END $$;
DO $$ BEGIN ASSERT current_setting('synchronous_commit') = 'on', 'the setting of a lease leaked'; END $$;

-- What says how something stands waits for the standby although it writes nothing: the others' wait may have been cancelled
DO $$
DECLARE v_id int := test.partition('append.standby'); v_group int := test.groupid('append.standby'); v_lsn pg_lsn;
BEGIN
    PERFORM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'new', 1)));
    v_lsn := pg_current_wal_insert_lsn();
    PERFORM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'epoch', 1, 'stamp', 4, 'new', 2)), p_sync => false);
    ASSERT pg_current_wal_insert_lsn() = v_lsn, 'a lease that lost has written';
    PERFORM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'epoch', 1, 'stamp', 4, 'new', 2)));
    ASSERT pg_current_wal_insert_lsn() > v_lsn, 'an answer about what others have committed does not wait';
END $$;

-- Nothing at all
DO $$ BEGIN
    ASSERT NOT EXISTS (SELECT FROM queen.append_lanes(1, NULL, false, '{}', '{}', '{}', '{}', '{}', '{}', NULL, NULL, NULL, '{}', '{}', NULL,
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
END $$;
