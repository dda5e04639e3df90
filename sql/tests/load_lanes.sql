-- load_lanes: all that is decided about a lane is decided from this.

-- A lane nobody has begun: epoch 0 and the group's start; a queue nobody has pushed to
DO $$
DECLARE
    v_id int := test.partition('load.fresh', 'p'); v_group int := test.groupid('load.fresh'); v record;
BEGIN
    SELECT * INTO STRICT v FROM queen.load_lanes(ARRAY[v_id], ARRAY[v_group], ARRAY[10]);
    ASSERT (v.ordinal, v.epoch, v.stamp, v.cursor, v.from_seq, v.seq_end, v.live_end, v.known_end, v.deliveries) = (1, 0, 0, 0, 0, 0, 0, 0, 0), v::text;
    ASSERT v.newest_at IS NULL AND v.segment_bases IS NULL AND v.lease_id IS NULL AND v.hidden IS NULL AND v.partition_name = 'p';
    ASSERT v.now BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp();
END $$;

-- What the queue's options say
DO $$
DECLARE
    v_id int; v_group int; v record;
BEGIN
    PERFORM queen.configure('load.options', NULL, NULL, '{"leaseTime": 7, "retryLimit": 8, "retryDelay": 9, "maxDeliveries": 10,
        "delayedProcessing": 11, "windowBuffer": 12, "retentionSeconds": 90, "maxWaitTimeSeconds": 100}', false);
    v_id := test.partition('load.options'); v_group := test.groupid('load.options');
    SELECT * INTO STRICT v FROM queen.load_lanes(ARRAY[v_id], ARRAY[v_group], ARRAY[10]);
    ASSERT (v.lease_time, v.retry_limit, v.retry_delay, v.max_deliveries, v.delayed_processing, v.window_buffer, v.expires_after)
         = (7, 8, 9, 10, 11, 12, 90), v::text;
    ASSERT (v.queue_id, v.version) = (SELECT q.id, q.version FROM queen.queues q WHERE q.name = 'load.options');
    PERFORM queen.configure('load.options', NULL, NULL, '{"retentionEnabled": false}', false);
    SELECT * INTO STRICT v FROM queen.load_lanes(ARRAY[v_id], ARRAY[v_group], ARRAY[10]);
    ASSERT v.expires_after = 100, 'retention is switched off';
    PERFORM queen.configure('load.options', NULL, NULL, '{"retentionEnabled": true, "maxWaitTimeSeconds": 30}', false);
    SELECT * INTO STRICT v FROM queen.load_lanes(ARRAY[v_id], ARRAY[v_group], ARRAY[10]);
    ASSERT v.expires_after = 30, 'the shorter of both';
END $$;

-- The newest row of progress, all of it
DO $$
DECLARE
    v_id int := test.partition('load.row'); v_group int := test.groupid('load.row'); v_lease uuid := gen_random_uuid(); v record; s queen.progress;
BEGIN
    UPDATE queen.queues SET retry_delay = 60000, window_buffer = 1 WHERE name = 'load.row';
    PERFORM test.push(v_id, 5);
    PERFORM test.age(v_id, '1 hour');
    PERFORM test.pop(v_id, v_group, v_lease, 4);
    PERFORM test.ack(v_id, v_group, v_lease, '{2}', '{1}', '{failed}');
    s := test.state(v_id, v_group);
    SELECT * INTO STRICT v FROM queen.load_lanes(ARRAY[v_id], ARRAY[v_group], ARRAY[10]);
    ASSERT (v.epoch, v.stamp, v.cursor, v.settled, v.failed, v.attempt_seqs, v.attempt_counts, v.lease_id, v.lease_until, v.lease_end,
            v.lease_seconds, v.deliveries, v.ready_at, v.window_end)
         = (s.epoch, s.stamp, s.cursor, s.settled::text, s.failed::text, s.attempt_seqs, s.attempt_counts, s.lease_id, s.lease_until,
            s.lease_end, s.lease_seconds, s.deliveries, s.ready_at, s.window_end), v::text || s::text;
    ASSERT v.epoch = 2 AND v.settled LIKE '001%' AND v.failed = '01' AND v.attempt_seqs = '{1}' AND v.from_seq = 0, v::text;
END $$;

-- A group's start: positions, a time, and partitions born later
DO $$
DECLARE
    v_id int := test.partition('load.start'); v_later int; v_new int; v_time int; v record;
BEGIN
    PERFORM test.push(v_id, 3);
    v_new := test.groupid('load.start', 'new', 'new');
    v_time := test.groupid('load.start', 'time', 'time', (SELECT created_at + interval '1 us' FROM queen.segments WHERE partition_id = v_id));
    v_later := test.partition('load.start', 'later');
    PERFORM test.push(v_later, 1);
    SELECT array_agg(cursor ORDER BY ordinal) AS cursors, array_agg(from_seq ORDER BY ordinal) AS froms,
           array_agg(epoch ORDER BY ordinal) AS epochs INTO STRICT v
    FROM queen.load_lanes(ARRAY[v_id, v_later, v_id], ARRAY[v_new, v_new, v_time], ARRAY[1, 1, 1]);
    ASSERT v.cursors = '{3,0,1}' AND v.froms = '{3,0,1}' AND v.epochs = '{0,0,0}', v::text;
END $$;

-- Segments: from the one that holds from_seq on, as many as the messages asked for stand in; where the knowledge ends
DO $$
DECLARE
    v_id int := test.partition('load.index'); v_group int := test.groupid('load.index'); v_lease uuid := gen_random_uuid(); v record;
BEGIN
    FOR i IN 1..6 LOOP PERFORM test.push(v_id, 10, CASE WHEN i = 2 THEN repeat(E'\n', 9) || 'x' END); END LOOP;
    SELECT * INTO STRICT v FROM queen.load_lanes(ARRAY[v_id], ARRAY[v_group], ARRAY[11]);
    ASSERT v.segment_bases = '{0,10}' AND v.segment_counts = '{10,10}' AND v.known_end = 20 AND v.seq_end = 60, v::text;
    ASSERT v.segment_bytes = ARRAY(SELECT octet_length(payloads)::bigint + coalesce(octet_length(txns), 0) FROM queen.segments
                                   WHERE partition_id = v_id AND base_seq < 20 ORDER BY base_seq)
       AND v.segment_times = ARRAY(SELECT created_at FROM queen.segments WHERE partition_id = v_id AND base_seq < 20 ORDER BY base_seq);
    ASSERT v.newest_at = (SELECT created_at + interval '9 us' FROM queen.segments WHERE partition_id = v_id AND base_seq = 50);
    SELECT * INTO STRICT v FROM queen.load_lanes(ARRAY[v_id], ARRAY[v_group], ARRAY[1000]);
    ASSERT v.segment_bases = '{0,10,20,30,40,50}' AND v.known_end = 60;
    SELECT * INTO STRICT v FROM queen.load_lanes(ARRAY[v_id], ARRAY[v_group], ARRAY[0]);
    ASSERT v.segment_bases = '{0}' AND v.known_end = 10, 'at least one';

    -- the cursor inside a segment, and settled messages behind it, which do not count
    PERFORM test.pop(v_id, v_group, v_lease, 30);
    PERFORM test.ack(v_id, v_group, v_lease, ARRAY(SELECT g FROM generate_series(0, 29) g WHERE g < 13 OR g > 14));
    SELECT * INTO STRICT v FROM queen.load_lanes(ARRAY[v_id], ARRAY[v_group], ARRAY[2]);
    ASSERT v.cursor = 13 AND v.from_seq = 13 AND v.segment_bases = '{10}' AND v.known_end = 20, v::text;
    SELECT * INTO STRICT v FROM queen.load_lanes(ARRAY[v_id], ARRAY[v_group], ARRAY[3]);
    ASSERT v.segment_bases = '{10,20,30}' AND v.known_end = 40, v::text;

    -- retention has taken the front and a blank stands at the end
    DELETE FROM queen.segments WHERE partition_id = v_id AND base_seq IN (10, 20, 40);
    UPDATE queen.segments SET payloads = NULL WHERE partition_id = v_id AND base_seq = 50;
    SELECT * INTO STRICT v FROM queen.load_lanes(ARRAY[v_id], ARRAY[v_group], ARRAY[100]);
    ASSERT v.cursor = 13 AND v.from_seq = 30 AND v.segment_bases = '{30}' AND v.known_end = 60 AND v.live_end = 40 AND v.seq_end = 60, v::text;
    UPDATE queen.segments SET payloads = NULL WHERE partition_id = v_id;
    SELECT * INTO STRICT v FROM queen.load_lanes(ARRAY[v_id], ARRAY[v_group], ARRAY[100]);
    ASSERT v.segment_bases IS NULL AND v.live_end = 0 AND v.known_end = 60 AND v.from_seq = 13, v::text;
END $$;

-- The limits: as many segments as messages, and none that begins 10,000 offsets behind
DO $$
DECLARE
    v_id int := test.partition('load.limits'); v_group int := test.groupid('load.limits'); v record;
BEGIN
    FOR i IN 1..205 LOOP PERFORM test.push(v_id, 1); END LOOP;
    SELECT * INTO STRICT v FROM queen.load_lanes(ARRAY[v_id], ARRAY[v_group], ARRAY[203]);
    ASSERT cardinality(v.segment_bases) = 203 AND v.known_end = 203 AND v.seq_end = 205, v::text;
    v_id := test.partition('load.limits', 'wide');
    PERFORM test.push(v_id, 6000), test.push(v_id, 6000), test.push(v_id, 1);
    SELECT * INTO STRICT v FROM queen.load_lanes(ARRAY[v_id], ARRAY[v_group], ARRAY[100000]);
    ASSERT v.segment_bases = '{0,6000}' AND v.known_end = 12000 AND v.seq_end = 12001, v::text;
END $$;

-- Expired messages are passed; hidden ones are, and marked behind
DO $$
DECLARE
    v_id int := test.partition('load.hidden'); v_group int := test.groupid('load.hidden'); v_other int := test.groupid('load.hidden', 'o'); v record;
BEGIN
    UPDATE queen.queues SET retention_seconds = 60 WHERE name = 'load.hidden';
    PERFORM test.push(v_id, 2);
    PERFORM test.age(v_id, '2 minutes');
    PERFORM test.push(v_id, 4, E'a\nb\nc\nd');
    SELECT * INTO STRICT v FROM queen.load_lanes(ARRAY[v_id], ARRAY[v_group], ARRAY[100]);
    ASSERT v.cursor = 0 AND v.from_seq = 2 AND v.segment_bases = '{2}' AND v.expires_after = 60 AND v.hidden IS NULL, v::text;
    PERFORM queen.delete_message(v_id, 'a');
    PERFORM queen.delete_message(v_id, 'c');
    INSERT INTO queen.hidden_messages VALUES (v_id, 5, 6, v_other);
    SELECT * INTO STRICT v FROM queen.load_lanes(ARRAY[v_id], ARRAY[v_group], ARRAY[100]);
    ASSERT v.from_seq = 3 AND v.hidden = '011', v::text;
    SELECT * INTO STRICT v FROM queen.load_lanes(ARRAY[v_id], ARRAY[v_other], ARRAY[100]);
    ASSERT v.from_seq = 3 AND v.hidden = '01', v::text;
END $$;

-- What is gone has no row; the others keep their places
DO $$
DECLARE
    v_id int := test.partition('load.gone'); v_group int := test.groupid('load.gone'); v_other int := test.groupid('load.fresh');
BEGIN
    ASSERT (SELECT array_agg(ordinal) FROM queen.load_lanes(ARRAY[v_id, v_id, 0, v_id], ARRAY[v_other, 0, v_group, v_group], ARRAY[1, 1, 1, 1])) = '{4}';
    PERFORM queen.delete_queue('load.gone');
    ASSERT NOT EXISTS (SELECT FROM queen.load_lanes(ARRAY[v_id], ARRAY[v_group], ARRAY[1]));
    ASSERT NOT EXISTS (SELECT FROM queen.load_lanes('{}', '{}', '{}'));
END $$;
