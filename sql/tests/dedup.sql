-- I6: one `queued` per (partition, transactionId) while the message is retained.

-- ids without a time, in both cases, and in another partition
DO $$
DECLARE
    v_a int := test.partition('dedup', 'a'); v_b int := test.partition('dedup', 'b'); v record;
BEGIN
    PERFORM test.push(v_a, 3, E'one\ntwo\nthree');
    SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_a], ARRAY[test.lines(2)], ARRAY[E'new\ntwo']);
    ASSERT v.status = 'duplicate' AND v.line = 1 AND v.base_seq = 1
        AND v.created_at = (SELECT created_at + interval '1 us' FROM queen.segments WHERE partition_id = v_a), v::text;
    PERFORM test.push(v_a, 1, 'new');      -- nothing of the refused segment was stored
    PERFORM test.push(v_a, 1, 'ONE');      -- ids are bytes
    PERFORM test.push(v_b, 1, 'one');      -- another partition is another key
    PERFORM test.push(v_a, 2);             -- and no id is no duplicate
    PERFORM test.push(v_a, 2, E'\n');
END $$;

-- A duplicate in one of two partitions leaves the other stored; `again` for its siblings (I7)
DO $$
DECLARE
    v_a int := test.partition('dedup', 'sib-a'); v_b int := test.partition('dedup', 'sib-b'); v_rows text;
BEGIN
    PERFORM test.push(v_a, 2, E'x\ny');
    SELECT string_agg(format('%s %s %s', r.ordinal, r.status, r.line), ', ') INTO v_rows
    FROM test.push_segments(ARRAY[v_a, v_b, v_a, v_a], ARRAY[test.lines(1), test.lines(1), test.lines(3), test.lines(1)],
                            ARRAY['fresh', 'x', E'y\nz\nx', NULL]) r;
    ASSERT v_rows = '1 again , 2 queued , 3 duplicate 0, 3 duplicate 2, 4 again ', v_rows;
    ASSERT (SELECT max(base_seq) FROM queen.segments WHERE partition_id = v_a) = 0;
    ASSERT (SELECT count(*) FROM queen.segments WHERE partition_id = v_b) = 1;
    ASSERT NOT EXISTS (SELECT FROM queen.find_transactions(v_a, 'fresh', 0, 0));
END $$;

-- UUIDv7: inside the window no row in the side table, outside one; the boundary belongs to the inside. Ids
-- without a time are not in it
DO $$
DECLARE
    v_id int; v_c timestamptz; v_t timestamptz; v_ids text[]; v_w interval := queen.dedup_window(); v record;
BEGIN
    FOR round IN 1..2 LOOP
        v_id := test.partition('dedup', 'window' || round);
        v_ids := ARRAY[test.uuid7(clock_timestamp()), test.uuid7(clock_timestamp() - interval '50 s', 1),
                       test.uuid7(clock_timestamp() + interval '50 s', 2), test.uuid7(clock_timestamp() - interval '1 day', 3),
                       test.uuid7(clock_timestamp() + interval '1 day', 4), 'no time'];
        IF round = 2 THEN v_ids := ARRAY(SELECT upper(i) FROM unnest(v_ids) i); END IF;
        PERFORM test.push(v_id, 6, array_to_string(v_ids, E'\n'));
        ASSERT ARRAY(SELECT txn FROM queen.dedup WHERE partition_id = v_id ORDER BY seq)::text[] = v_ids[4:5],
            (SELECT string_agg(txn, ' ') FROM queen.dedup WHERE partition_id = v_id);
        FOR i IN 1..6 LOOP
            SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_id], ARRAY['1'], ARRAY[v_ids[i]]);
            ASSERT v.status = 'duplicate' AND v.base_seq = i - 1, format('%s: %s', i, v);
        END LOOP;
        -- an id in the other case is another id
        PERFORM test.push(v_id, 1, CASE WHEN round = 1 THEN upper(v_ids[3]) ELSE lower(v_ids[3]) END);
    END LOOP;
END $$;

-- exactly at W, on both sides: created_at is forced through the clock of the previous segment
DO $$
DECLARE
    v_id int; v_c timestamptz; v_txn text; v record; v_off interval;
BEGIN
    FOREACH v_off IN ARRAY ARRAY['-60.001 s', '-60 s', '60 s', '60.001 s']::interval[] LOOP
        v_id := test.partition('dedup', 'edge' || v_off);
        v_c := date_trunc('second', clock_timestamp()) + interval '1 hour';
        INSERT INTO queen.segments (partition_id, base_seq, count, created_at, payloads)
        VALUES (v_id, 0, 1, v_c - interval '1 us', '0');
        v_txn := test.uuid7(v_c + v_off);
        PERFORM test.push(v_id, 1, v_txn);
        ASSERT (SELECT created_at FROM queen.segments WHERE partition_id = v_id AND base_seq = 1) = v_c;
        ASSERT (abs(extract(epoch FROM v_off)) > 60) = EXISTS (SELECT FROM queen.dedup WHERE partition_id = v_id), v_off::text;
        SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_id], ARRAY['1'], ARRAY[v_txn]);
        ASSERT v.status = 'duplicate' AND v.base_seq = 1, v_off || v::text;
    END LOOP;
END $$;

-- A replay after hours: the id is found through the time inside it, in the middle of a long log, also in
-- a segment that was written before segments had times
DO $$
DECLARE
    v_id int; v_txn text := test.uuid7(clock_timestamp() - interval '2 hours', 77); v record; v_time timestamptz;
BEGIN
    FOREACH v_time IN ARRAY ARRAY[NULL, queen.uuid7_time(v_txn)] LOOP
    v_id := test.partition('dedup', 'hours' || coalesce(v_time::text, ''));
    FOR i IN 1..10 LOOP PERFORM test.push(v_id, 2, test.uuid7(clock_timestamp(), i) || E'\n' || test.uuid7(clock_timestamp(), 100 + i)); END LOOP;
    UPDATE queen.segments SET created_at = created_at - interval '2 hours' WHERE partition_id = v_id;
    UPDATE queen.segments SET txns = v_txn || E'\nx', time_min = v_time, time_max = v_time WHERE partition_id = v_id AND base_seq = 8;
    FOR i IN 11..20 LOOP PERFORM test.push(v_id, 2, test.uuid7(clock_timestamp(), i) || E'\n'); END LOOP;
    SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_id], ARRAY[E'1\n2'], ARRAY['other' || E'\n' || v_txn]);
    ASSERT v.status = 'duplicate' AND v.line = 1 AND v.base_seq = 8, 'a replay after hours: ' || v.status;
    END LOOP;
END $$;

-- A segment tells the times of its ids, and only those that may hold an id are split
DO $$
DECLARE v_id int := test.partition('dedup', 'times'); v_t timestamptz := date_trunc('second', clock_timestamp());
BEGIN
    PERFORM test.push(v_id, 3, test.uuid7(v_t, 1) || E'\n\n' || test.uuid7(v_t - interval '5 s', 2));
    PERFORM test.push(v_id, 2, E'untimed\n');
    PERFORM test.push(v_id, 2);
    ASSERT (SELECT string_agg(format('%s %s', s.time_min, s.time_max), ', ' ORDER BY s.base_seq)
            FROM queen.segments s WHERE s.partition_id = v_id) = format('%s %s, infinity -infinity,  ', v_t - interval '5 s', v_t);
END $$;

-- Segments of several ids, near in time and far, found again one by one and all together.
DO $$
DECLARE
    v_id int := test.partition('dedup', 'several'); v_base timestamptz := clock_timestamp(); v_all text; v_found text; v_wanted text;
BEGIN
    PERFORM test.seed();
    FOR i IN 1..60 LOOP
        PERFORM test.push(v_id, 5, (SELECT string_agg(
            test.uuid7(v_base + ((random() - 0.5) * CASE WHEN random() < 0.3 THEN 400 ELSE 20 END) * interval '1 s', i * 10 + j), E'\n')
            FROM generate_series(1, 5) j));
    END LOOP;
    SELECT string_agg(u.txn, E'\n' ORDER BY random()) INTO v_all
    FROM (SELECT string_to_table(txns, E'\n') AS txn FROM queen.segments WHERE partition_id = v_id
          UNION ALL SELECT test.uuid7(v_base + ((random() - 0.5) * 400) * interval '1 s', 100000 + k) FROM generate_series(1, 100) k) u;
    SELECT string_agg(format('%s:%s', a.line - 1, m.seq), ' ' ORDER BY a.line) INTO v_wanted
    FROM string_to_table(v_all, E'\n') WITH ORDINALITY AS a(txn, line)
    JOIN (SELECT t.txn, s.base_seq + t.line - 1 AS seq FROM queen.segments s, string_to_table(s.txns, E'\n') WITH ORDINALITY AS t(txn, line)
          WHERE s.partition_id = v_id) m USING (txn);
    SELECT string_agg(format('%s:%s', f.line, f.seq), ' ' ORDER BY f.line) INTO v_found FROM queen.find_transactions(v_id, v_all, 0, 0) f;
    ASSERT v_found = v_wanted AND (SELECT count(*) FROM regexp_matches(v_found, ':', 'g')) = 300, 'all together';
    SELECT string_agg(format('%s:%s', a.line - 1, f.seq), ' ' ORDER BY a.line) INTO v_found
    FROM string_to_table(v_all, E'\n') WITH ORDINALITY AS a(txn, line), queen.find_transactions(v_id, a.txn, 0, 0) f;
    ASSERT v_found = v_wanted, 'one by one';
END $$;

-- A message without a transactionId has its id for one (api 1)
DO $$
DECLARE
    v_id int := test.partition('dedup', 'own'); v_own text; v record;
BEGIN
    PERFORM test.push(v_id, 3, E'a\n\nc');
    SELECT id::text INTO v_own FROM queen.messages WHERE queue = 'dedup' AND partition = 'own' AND seq = 1;
    SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_id], ARRAY['1'], ARRAY[v_own]);
    ASSERT v.status = 'duplicate' AND v.base_seq = 1;
    PERFORM test.push(v_id, 1, upper(v_own));
    -- the id of a message that has a transactionId is not its transactionId
    PERFORM test.push(v_id, 1, (SELECT id::text FROM queen.messages WHERE queue = 'dedup' AND partition = 'own' AND seq = 0));
    -- an id of another partition's message
    PERFORM test.push(test.partition('dedup', 'own2'), 1, v_own);
    -- a message that is no longer retained is no longer a duplicate: its id would be lost
    UPDATE queen.segments SET payloads = NULL, txns = NULL, meta = NULL WHERE partition_id = v_id;
    PERFORM test.push(v_id, 1, v_own);
END $$;

-- Known ranges: what the caller has compared already is not looked at again, the rest is
DO $$
DECLARE
    v_id int := test.partition('dedup', 'known'); v_ids text[]; v record;
BEGIN
    v_ids := ARRAY(SELECT test.uuid7(clock_timestamp(), i) FROM generate_series(1, 5) i);
    FOR i IN 1..5 LOOP PERFORM test.push(v_id, 2, v_ids[i] || E'\n' || 'untimed' || i); END LOOP;
    FOR i IN 1..5 LOOP  -- all known but segment i
        SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_id], ARRAY['1'], ARRAY[v_ids[i]], NULL,
            ARRAY[CASE WHEN i = 1 THEN 2 ELSE 0 END], ARRAY[CASE WHEN i = 1 THEN 10 ELSE (i - 1) * 2 END]);
        ASSERT v.status = 'duplicate' AND v.base_seq = (i - 1) * 2, format('segment %s: %s', i, v);
        -- of ids without a time nothing is known, unless the caller says so
        SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_id], ARRAY['1'], ARRAY['untimed' || i], NULL, ARRAY[0], ARRAY[10]);
        ASSERT v.status = 'duplicate' AND v.base_seq = i * 2 - 1;
    END LOOP;
    -- the range is believed
    SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_id], ARRAY['1'], ARRAY[v_ids[3]], NULL, ARRAY[4], ARRAY[6]);
    ASSERT v.status = 'queued';
    SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_id], ARRAY['1'], ARRAY['untimed3'], NULL, ARRAY[0], ARRAY[4], p_known_untimed => true);
    ASSERT v.status = 'duplicate' AND v.base_seq = 5, 'behind what is known: ' || v;
    SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_id], ARRAY['1'], ARRAY['untimed3'], NULL, ARRAY[6], ARRAY[11], p_known_untimed => true);
    ASSERT v.status = 'duplicate' AND v.base_seq = 5, 'before what is known: ' || v;
    SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_id], ARRAY['1'], ARRAY['untimed3'], NULL, ARRAY[0], ARRAY[11], p_known_untimed => true);
    ASSERT v.status = 'queued', 'the range is believed: ' || v;
END $$;

-- Random: ids of every kind, clocks that jump, replays; a model keeps what must be refused.
DO $$
DECLARE
    v_id int := test.partition('dedup', 'random'); v_txn text; v record; v_base timestamptz := clock_timestamp();
    v_seen text[] := '{}'; v_queued int := 0; v_duplicates int := 0;
BEGIN
    PERFORM test.seed();
    FOR i IN 1..400 LOOP
        IF random() < 0.05 THEN   -- the newest segment moves into the future: the clock of the partition runs ahead
            UPDATE queen.segments SET created_at = created_at + (random() * 90) * interval '1 second'
            WHERE partition_id = v_id AND base_seq = (SELECT max(base_seq) FROM queen.segments WHERE partition_id = v_id)
              AND txns IS NULL;
        END IF;
        IF random() < 0.1 THEN PERFORM test.push(v_id, 1); CONTINUE; END IF;
        v_txn := CASE WHEN random() < 0.4 AND cardinality(v_seen) > 0 THEN v_seen[1 + floor(random() * cardinality(v_seen))::int]
                      WHEN random() < 0.2 THEN 'id' || i
                      ELSE test.uuid7(v_base + (random() * 600 - 300) * interval '1 second', i) END;
        SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_id], ARRAY['1'], ARRAY[v_txn]);
        ASSERT (v.status = 'duplicate') = (v_txn = ANY (v_seen)), format('step %s %s %s', i, v_txn, v);
        IF v.status = 'queued' THEN v_seen := v_seen || v_txn; v_queued := v_queued + 1;
        ELSE v_duplicates := v_duplicates + 1;
             ASSERT split_part((SELECT txns FROM queen.segments WHERE partition_id = v_id AND base_seq = v.base_seq), E'\n', 1) = v_txn; END IF;
    END LOOP;
    ASSERT v_queued > 50 AND v_duplicates > 50;
END $$;

-- Segments that somebody else stored are passed over only when their times tell that none holds the id.
DO $$
DECLARE
    v_id int := test.partition('dedup', 'others'); v_old text := test.uuid7(clock_timestamp(), 1); v_own text; v_txn text; v record;
BEGIN
    PERFORM test.push(v_id, 1, v_old);
    SELECT queen.message_id(created_at, v_id, base_seq)::text INTO STRICT v_own
    FROM test.push_segments(ARRAY[v_id], ARRAY['1']);   -- a message without an id
    FOR i IN 2..70 LOOP  -- more than are looked at one by one
        PERFORM pg_sleep(0.002);
        v_txn := test.uuid7(clock_timestamp(), i);
        ASSERT NOT queen.may_hold(v_id, 0, 1000, queen.uuid7_time(v_txn), queen.uuid7_time(v_txn)) OR i > 60, i::text;
        SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_id], ARRAY['1'], ARRAY[v_txn]);
        ASSERT v.status = 'queued', v::text;
        SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_id], ARRAY['1'], ARRAY[v_txn]);
        ASSERT v.status = 'duplicate' AND v.base_seq = i, v::text;
        SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_id], ARRAY['1'], ARRAY[v_old]);
        ASSERT v.status = 'duplicate' AND v.base_seq = 0, format('%s: %s', i, v);
        SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_id], ARRAY['1'], ARRAY[v_own]);
        ASSERT v.status = 'duplicate' AND v.base_seq = 1, format('%s: %s', i, v);
        SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_id], ARRAY['1'], ARRAY[v_old], NULL, ARRAY[i], ARRAY[i + 1]);
        ASSERT v.status = 'duplicate' AND v.base_seq = 0, format('%s, before what is known: %s', i, v);
    END LOOP;
END $$;
