-- push_messages: offsets, clocks, refusals. Dedup has a file of its own.

-- I1: offsets are gapless, created_at rises strictly, several segments of one partition in one call
DO $$
DECLARE
    v_a int := test.partition('push', 'a'); v_b int := test.partition('push', 'b'); v record; v_rows text;
BEGIN
    SELECT string_agg(format('%s %s %s', r.ordinal, r.status, r.base_seq), ', ' ORDER BY r.ordinal) INTO v_rows
    FROM test.push_segments(ARRAY[v_a, v_b, v_a, v_a],
                            ARRAY[test.lines(3), test.lines(1), test.lines(2, 3), test.lines(1, 5)]) r;
    ASSERT v_rows = '1 queued 0, 2 queued 0, 3 queued 3, 4 queued 5', v_rows;
    FOR i IN 1..20 LOOP PERFORM test.push(v_a, i % 3 + 1); END LOOP;
    ASSERT NOT EXISTS (
        SELECT FROM (SELECT base_seq - lag(base_seq + count) OVER w AS gap,
                            created_at - lag(created_at + (count - 1) * interval '1 us') OVER w AS rise
                     FROM queen.segments WHERE partition_id = v_a WINDOW w AS (ORDER BY base_seq)) s
        WHERE gap <> 0 OR rise <= interval '0'), 'a gap or a step back';
    ASSERT (SELECT string_agg((payload ->> 'n'), ',' ORDER BY seq) FROM queen.messages
            WHERE queue = 'push' AND partition = 'a' AND seq < 6) = '0,1,2,3,4,5';
END $$;

-- The clock may step back: times go on rising (design 3).
DO $$
DECLARE
    v_id int := test.partition('push', 'clock'); v_before timestamptz;
BEGIN
    PERFORM test.push(v_id, 5);
    PERFORM test.age(v_id, interval '-1 hour');
    SELECT created_at INTO v_before FROM queen.segments WHERE partition_id = v_id;
    PERFORM test.push(v_id, 1);
    ASSERT (SELECT created_at FROM queen.segments WHERE partition_id = v_id AND base_seq = 5)
         = v_before + interval '5 microseconds', 'time went back with the clock';
END $$;

-- The number of lines must be the number of messages, in each of the three texts.
DO $$
DECLARE
    v_id int := test.partition('push', 'lines');
    v_call text := 'SELECT * FROM queen.push_messages(1, NULL, true, ARRAY[%s], ARRAY[2], ARRAY[%L], ARRAY[%L]::text[], '
        'ARRAY[%L]::text[], ''{NULL}'', ''{NULL}'', ''{NULL}'', ''{NULL}'', ''{NULL}'', ''{0}'', ''{0}'')';
BEGIN
    PERFORM test.fails(format(v_call, v_id, '1', NULL, NULL), 'QN011');
    PERFORM test.fails(format(v_call, v_id, E'1\n2\n3', NULL, NULL), 'QN011');
    PERFORM test.fails(format(v_call, v_id, NULL, NULL, NULL), 'QN011');
    PERFORM test.fails(format(v_call, v_id, E'1\n2', 'x', NULL), 'QN011');
    PERFORM test.fails(format(v_call, v_id, E'1\n2', NULL, E'{}\n{}\n'), 'QN011');
    ASSERT NOT EXISTS (SELECT FROM queen.segments WHERE partition_id = v_id);
    EXECUTE format(v_call, v_id, E'1\n2', E'x\n', E'\n{}');
    ASSERT (SELECT count(*) FROM queen.messages WHERE queue = 'push' AND partition = 'lines') = 2;
END $$;

-- I2: any isolation but read committed is refused.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT test.fails(format('SELECT test.push(%s)', test.partition('push', 'isolation')), 'QN010');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT test.fails(format('SELECT test.push(%s)', test.partition('push', 'isolation')), 'QN010');
ROLLBACK;

-- gone: unknown, deleted, or of a deleted queue; its neighbours are stored (I7). busy is an isolation spec.
DO $$
DECLARE
    v_a int := test.partition('push.gone', 'a'); v_b int := test.partition('push', 'stays'); v_statuses text;
BEGIN
    DELETE FROM queen.queues WHERE name = 'push.gone';
    SELECT string_agg(r.status, ',' ORDER BY r.ordinal) INTO v_statuses
    FROM test.push_segments(ARRAY[v_a, v_b, 2000000000], ARRAY['1', '2', '3']) r;
    ASSERT v_statuses = 'gone,queued,gone', v_statuses;
    ASSERT (SELECT count(*) FROM queen.segments WHERE partition_id IN (v_a, v_b)) = 1;
END $$;

-- meta, bytes in = bytes out, and the row in batches
DO $$
DECLARE
    v_id int := test.partition('push', 'meta'); v record; v_status text;
BEGIN
    PERFORM test.push_segments(ARRAY[v_id], ARRAY[E'{"a" : 1.10,"a":"\\u0000"}\n"\\ud800"\nnull'], ARRAY[E'x\n\nü'],
        ARRAY[E'{"traceId":"t"}\n\n'], p_broker => 7, p_n => 70);
    SELECT * INTO v FROM queen.segments WHERE partition_id = v_id;
    ASSERT v.payloads = E'{"a" : 1.10,"a":"\\u0000"}\n"\\ud800"\nnull' AND v.txns = E'x\n\nü' AND v.meta = E'{"traceId":"t"}\n\n';
    ASSERT (SELECT b.partitions = ARRAY[v_id] AND b.base_seqs = '{0}' AND b.xid = pg_current_xact_id()
            FROM queen.batches b WHERE broker = 7 AND n = 70), 'no row in batches';
    -- nothing stored, nothing recorded
    SELECT r.status INTO v_status FROM test.push_segments(ARRAY[v_id], ARRAY['1'], ARRAY['x'], p_broker => 7, p_n => 71) r;
    ASSERT v_status = 'duplicate' AND NOT EXISTS (SELECT FROM queen.batches WHERE broker = 7 AND n = 71);
    -- the same key again is a conflict and stores nothing
    PERFORM test.fails(format('SELECT * FROM test.push_segments(ARRAY[%s], ARRAY[''1''], p_broker => 7, p_n => 70)', v_id), '23505');
    ASSERT (SELECT count(*) FROM queen.segments WHERE partition_id = v_id) = 1;
END $$;

-- stale: payloads are encrypted exactly where the queue's option says so; neighbours are stored (I7)
DO $$
DECLARE
    v_plain int := test.partition('push', 'plain'); v_secret int := test.partition('push.secret'); v_encrypted boolean[]; v_statuses text;
BEGIN
    UPDATE queen.queues SET encryption_enabled = true WHERE name = 'push.secret';
    FOREACH v_encrypted SLICE 1 IN ARRAY ARRAY[[false, false], [false, true], [true, true], [true, false]] LOOP
        SELECT string_agg(r.status, ',' ORDER BY r.ordinal) INTO v_statuses
        FROM queen.push_messages(1, NULL, true, ARRAY[v_plain, v_secret], '{1,1}', '{1,2}', '{NULL,NULL}', '{NULL,NULL}', '{NULL,NULL}',
            '{NULL,NULL}', '{NULL,NULL}', '{NULL,NULL}', '{NULL,NULL}', '{0,0}', '{0,0}', v_encrypted) r;
        ASSERT v_statuses = CASE WHEN v_encrypted[1] THEN 'stale' ELSE 'queued' END || ','
                         || CASE WHEN v_encrypted[2] THEN 'queued' ELSE 'stale' END, format('%s: %s', v_encrypted, v_statuses);
    END LOOP;
    ASSERT (SELECT count(*) FROM queen.segments WHERE partition_id = v_secret) = 2;
    SELECT r.status INTO v_statuses FROM test.push_segments(ARRAY[v_secret], '{1}') r;  -- nothing said: not encrypted
    ASSERT v_statuses = 'stale', v_statuses;
    ASSERT (SELECT count(*) FROM queen.segments WHERE partition_id = v_plain) = 2;
    PERFORM test.fails('SELECT queen.push(''push.secret'', ''1'')', 'QN400');
    PERFORM test.fails(format('SELECT * FROM test.transaction(ARRAY[%s, %s], ''{1,2}'', ''{NULL,NULL}'')', v_plain, v_secret), 'QN012');
    ASSERT (SELECT count(*) FROM queen.segments WHERE partition_id IN (v_plain, v_secret)) = 4;
END $$;
