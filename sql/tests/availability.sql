-- availability: the one predicate that lease, resolve and has_pending share; each of its states.

-- ready, held, empty, gone
DO $$
DECLARE
    v_id int := test.partition('av.basic'); v_group int := test.groupid('av.basic'); v record; v_lease uuid := gen_random_uuid();
BEGIN
    ASSERT test.available(v_id, v_group) = 'empty', 'a partition nobody has pushed to';
    PERFORM test.push(v_id, 3);
    SELECT * INTO v FROM queen.availability(v_id, v_group, clock_timestamp());
    ASSERT v.state = 'ready' AND v.cursor = 0 AND v.avail_end = 3 AND v.ready_at IS NULL AND v.epoch IS NULL;
    PERFORM test.pop(v_id, v_group, v_lease, 2);
    SELECT * INTO v FROM queen.availability(v_id, v_group, clock_timestamp());
    ASSERT v.state = 'held' AND v.ready_at = v.lease_until AND v.lease_end = 2 AND v.lease_id = v_lease;
    -- I8: another group sees nothing of it
    ASSERT test.available(v_id, test.groupid('av.basic', 'other')) = 'ready';
    PERFORM test.age(v_id, interval '301 seconds');
    ASSERT test.available(v_id, v_group) = 'ready', 'an expired lease holds nothing';
    v_lease := gen_random_uuid();
    PERFORM test.pop(v_id, v_group, v_lease, 10);
    PERFORM test.ack(v_id, v_group, v_lease, '{0,1,2}');
    ASSERT test.available(v_id, v_group) = 'empty';
    ASSERT test.available(-1, v_group) IS NULL AND test.available(v_id, -1) IS NULL, 'gone has no row';
    ASSERT test.available(v_id, test.groupid('av.other' || test.partition('av.other'), 'g')) IS NULL;
    ASSERT test.available(v_id, (SELECT group_id FROM queen.ensure_group('av.other', 'g', 'all', NULL))) IS NULL,
        'a group of another queue';
END $$;

-- delayedProcessing: due to the microsecond, message by message
DO $$
DECLARE
    v_id int := test.partition('av.delay'); v_group int := test.groupid('av.delay'); v record; v_at timestamptz;
BEGIN
    UPDATE queen.queues SET delayed_processing = 10 WHERE name = 'av.delay';
    PERFORM test.push(v_id, 3);
    SELECT created_at INTO v_at FROM queen.segments WHERE partition_id = v_id;
    SELECT * INTO v FROM queen.availability(v_id, v_group, v_at + interval '9.999999 seconds');
    ASSERT v.state = 'delayed' AND v.ready_at = v_at + interval '10 seconds', v::text;
    SELECT * INTO v FROM queen.availability(v_id, v_group, v_at + interval '10 seconds');
    ASSERT v.state = 'ready' AND v.avail_end = 1, v::text;
    SELECT * INTO v FROM queen.availability(v_id, v_group, v_at + interval '10.000001 seconds');
    ASSERT v.state = 'ready' AND v.avail_end = 2, v::text;
    SELECT * INTO v FROM queen.availability(v_id, v_group, v_at + interval '1 hour');
    ASSERT v.state = 'ready' AND v.avail_end = 3, v::text;
END $$;

-- windowBuffer: withheld while the newest message is young, then released up to the end seen then
DO $$
DECLARE
    v_id int := test.partition('av.window'); v_group int := test.groupid('av.window'); v record; v_at timestamptz;
    v_lease uuid := gen_random_uuid();
BEGIN
    UPDATE queen.queues SET window_buffer = 5 WHERE name = 'av.window';
    PERFORM test.push(v_id, 3);
    SELECT created_at INTO v_at FROM queen.segments WHERE partition_id = v_id;
    SELECT * INTO v FROM queen.availability(v_id, v_group, v_at + interval '4 seconds');
    ASSERT v.state = 'window' AND v.ready_at = v_at + interval '5.000002 seconds', v::text;
    SELECT * INTO v FROM queen.availability(v_id, v_group, v_at + interval '5.000002 seconds');
    ASSERT v.state = 'ready' AND v.avail_end = 3, v::text;
    PERFORM test.age(v_id, interval '6 seconds');
    ASSERT (test.pop(v_id, v_group, v_lease, 1)).seqs = '{0}';
    PERFORM test.push(v_id, 2);   -- young again, but what was released stays released
    PERFORM test.ack(v_id, v_group, v_lease, '{0}');
    SELECT * INTO v FROM queen.availability(v_id, v_group, clock_timestamp());
    ASSERT v.state = 'ready' AND v.cursor = 1 AND v.avail_end = 3, v::text;
    v_lease := gen_random_uuid();
    ASSERT (test.pop(v_id, v_group, v_lease, 10)).seqs = '{1,2}';
    PERFORM test.ack(v_id, v_group, v_lease, '{1,2}');
    ASSERT test.available(v_id, v_group) = 'window';
END $$;

-- retry: a failed message waits for its retryDelay once the lease has ended
DO $$
DECLARE
    v_id int := test.partition('av.retry'); v_group int := test.groupid('av.retry'); v record; v_lease uuid := gen_random_uuid();
BEGIN
    UPDATE queen.queues SET retry_delay = 5000 WHERE name = 'av.retry';
    PERFORM test.push(v_id, 1);
    PERFORM test.pop(v_id, v_group, v_lease);
    PERFORM test.ack(v_id, v_group, v_lease, p_items => '{0}', p_kinds => '{failed}');
    SELECT * INTO v FROM queen.availability(v_id, v_group, clock_timestamp());
    ASSERT v.state = 'retry' AND v.ready_at BETWEEN clock_timestamp() + interval '4 s' AND clock_timestamp() + interval '5 s';
    PERFORM test.age(v_id, interval '5 seconds');
    ASSERT test.available(v_id, v_group) = 'ready';
END $$;

-- expiry: messages past retention or maximum wait are never delivered, swept or not
DO $$
DECLARE
    v_id int := test.partition('av.expiry'); v_group int := test.groupid('av.expiry'); v record;
BEGIN
    PERFORM test.push(v_id, 3);
    PERFORM test.age(v_id, interval '100 seconds');
    PERFORM test.push(v_id, 2);
    UPDATE queen.queues SET retention_seconds = 60 WHERE name = 'av.expiry';      -- never set = enabled
    ASSERT (SELECT a.cursor FROM queen.availability(v_id, v_group, clock_timestamp()) a) = 3;
    UPDATE queen.queues SET retention_enabled = false WHERE name = 'av.expiry';
    ASSERT (SELECT a.cursor FROM queen.availability(v_id, v_group, clock_timestamp()) a) = 0;
    UPDATE queen.queues SET max_wait_time_seconds = 60 WHERE name = 'av.expiry';
    ASSERT (SELECT a.cursor FROM queen.availability(v_id, v_group, clock_timestamp()) a) = 3;
    PERFORM test.age(v_id, interval '100 seconds');
    ASSERT test.available(v_id, v_group) = 'empty';
    UPDATE queen.queues SET max_wait_time_seconds = 0, retention_enabled = true, retention_seconds = 150 WHERE name = 'av.expiry';
    ASSERT (SELECT a.cursor FROM queen.availability(v_id, v_group, clock_timestamp()) a) = 3;
    ASSERT (test.pop(v_id, v_group)).seqs = '{3,4}';
END $$;

-- group starts: all, new (positions), time
DO $$
DECLARE
    v_id int := test.partition('av.start'); v_group int; v_at timestamptz; v_late int;
BEGIN
    PERFORM test.push(v_id, 3);
    SELECT created_at INTO v_at FROM queen.segments WHERE partition_id = v_id;
    v_group := test.groupid('av.start', 'new', 'new');
    ASSERT test.available(v_id, v_group) = 'empty';
    PERFORM test.push(v_id, 2);
    ASSERT (test.pop(v_id, v_group)).seqs = '{3,4}';
    v_late := test.partition('av.start', 'born later');
    PERFORM test.push(v_late, 1);
    ASSERT (test.pop(v_late, v_group)).seqs = '{0}', 'partitions born later are read from their start';
    ASSERT (test.pop(v_id, test.groupid('av.start', 'all'))).seqs = '{0,1,2,3,4}';
    ASSERT (test.pop(v_id, test.groupid('av.start', 'time', 'time', v_at + interval '1 microsecond'))).seqs = '{1,2,3,4}';
    ASSERT test.available(v_id, test.groupid('av.start', 'future', 'time', v_at + interval '1 hour')) = 'empty';
END $$;

-- retention's traces: the newest segment blanked, and gaps at the front
DO $$
DECLARE
    v_id int := test.partition('av.gap'); v_group int := test.groupid('av.gap'); v record; v_lease uuid := gen_random_uuid();
BEGIN
    PERFORM test.push(v_id, 3);
    UPDATE queen.segments SET payloads = NULL, txns = NULL, meta = NULL WHERE partition_id = v_id;
    ASSERT test.available(v_id, v_group) = 'empty', 'blank newest segment';
    ASSERT test.push(v_id, 4) = 3, 'its end survives';
    SELECT * INTO v FROM queen.availability(v_id, v_group, clock_timestamp());
    ASSERT v.state = 'ready' AND v.cursor = 3 AND v.avail_end = 7, v::text;
    DELETE FROM queen.segments WHERE partition_id = v_id AND base_seq = 0;
    SELECT * INTO v FROM queen.availability(v_id, v_group, clock_timestamp());
    ASSERT v.state = 'ready' AND v.cursor = 3, v::text;
    -- a group at 0 with everything deleted that is due: the next message decides, not the gap
    UPDATE queen.queues SET delayed_processing = 60 WHERE name = 'av.gap';
    SELECT * INTO v FROM queen.availability(v_id, v_group, clock_timestamp());
    ASSERT v.state = 'delayed' AND v.ready_at > clock_timestamp() + interval '50 s', v::text;
    UPDATE queen.queues SET delayed_processing = 0, window_buffer = 60 WHERE name = 'av.gap';
    SELECT * INTO v FROM queen.availability(v_id, v_group, clock_timestamp());
    ASSERT v.state = 'window' AND v.ready_at > clock_timestamp() + interval '50 s', v::text;
    UPDATE queen.queues SET window_buffer = 0 WHERE name = 'av.gap';

    -- settled holes behind the gap: the jump lands on settled messages and moves past them
    PERFORM test.pop(v_id, v_group, v_lease, 4);
    PERFORM test.push(v_id, 2);
    PERFORM test.ack(v_id, v_group, v_lease, '{4,5}');
    PERFORM test.age(v_id, interval '1 hour');
    UPDATE queen.segments SET base_seq = 4, count = 3, payloads = test.lines(3) WHERE partition_id = v_id AND base_seq = 3;
    SELECT * INTO v FROM queen.availability(v_id, v_group, clock_timestamp());
    ASSERT v.state = 'ready' AND v.cursor = 6 AND coalesce(bit_count(v.settled), 0) = 0, v::text;
    ASSERT (test.pop(v_id, v_group)).seqs = '{6,7,8}';
END $$;
