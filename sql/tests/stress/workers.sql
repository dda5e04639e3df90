-- The sessions of tests/sql/stress: procedures that commit, so each step is a transaction of its own.
-- What they were told by the procedures under test goes into tables that test.verify compares.
CREATE TABLE test.settled (partition_id int, group_id int, seq bigint, verdict text, PRIMARY KEY (partition_id, group_id, seq));
CREATE TABLE test.violations (at timestamptz DEFAULT clock_timestamp(), what text);
CREATE TABLE test.counts (worker text, what text, n bigint);

-- Pushes several segments in one call, some with ids that others push too; every tenth transaction rolls back.
CREATE PROCEDURE test.producer(p_seed float8, p_seconds float8, p_partitions int) LANGUAGE plpgsql AS $$
DECLARE
    v_end timestamptz := clock_timestamp() + p_seconds * interval '1 second';
    v_ids int[]; v_txns text[]; v_queued bigint := 0; v_busy bigint := 0; v_duplicates bigint := 0; v record;
BEGIN
    PERFORM setseed(p_seed);
    WHILE clock_timestamp() < v_end LOOP
        v_ids := ARRAY(SELECT i FROM generate_series(1, p_partitions) i ORDER BY random() LIMIT 1 + floor(random() * 3)::int);
        IF random() < 0.3 THEN v_ids := v_ids || v_ids[1]; END IF;
        -- two ids a segment: one shared with everybody, one of this moment; none at all for the doubled partition
        v_txns := ARRAY(SELECT CASE WHEN i > 3 OR i = cardinality(v_ids) AND v_ids[i] = v_ids[1] AND i > 1 THEN NULL
            ELSE 'shared' || floor(random() * 500)::int || E'\n' || test.uuid7(clock_timestamp(), floor(random() * 1000000)::bigint) END
            FROM generate_subscripts(v_ids, 1) i);
        FOR v IN SELECT r.status FROM test.push_segments(v_ids, ARRAY(SELECT E'1\n2' FROM unnest(v_ids)), v_txns,
                                                         p_wait => random() < 0.2) r LOOP
            v_queued := v_queued + (v.status = 'queued')::int;
            v_busy := v_busy + (v.status = 'busy')::int;
            v_duplicates := v_duplicates + (v.status = 'duplicate')::int;
        END LOOP;
        IF random() < 0.1 THEN ROLLBACK; ELSE COMMIT; END IF;
    END LOOP;
    INSERT INTO test.counts VALUES ('producer', 'queued', v_queued), ('producer', 'busy', v_busy), ('producer', 'duplicate', v_duplicates);
END $$;

-- Leases a few partitions in one call, holds each under a session lock of its own while it believes to
-- hold the lease (two holders cannot both get that lock), then gives random verdicts, or none ("crash").
CREATE PROCEDURE test.consumer(p_seed float8, p_seconds float8, p_partitions int, p_group int) LANGUAGE plpgsql AS $$
DECLARE
    v_end timestamptz := clock_timestamp() + p_seconds * interval '1 second';
    v_ids int[]; v_lease uuid; v record; v_seq bigint; v_seqs bigint[]; v_done bigint[]; v_items bigint[]; v_kinds text[];
    v_leased bigint := 0; v_again bigint := 0; v_settled bigint := 0; v_refused bigint := 0; v_crash boolean; v_ack record;
    v_rows record; v_new bigint[]; v_state text;
BEGIN
    PERFORM setseed(p_seed);
    WHILE clock_timestamp() < v_end LOOP
        -- often one, sometimes all: a pop of all that waits at the first has a stale view of the last
        v_ids := ARRAY(SELECT i FROM generate_series(1, p_partitions) i ORDER BY random()
                       LIMIT CASE WHEN random() < 0.6 THEN 1 ELSE p_partitions END);
        v_lease := gen_random_uuid();
        v_crash := random() < 0.02;
        -- one statement: its answer must be what was committed, so it is kept until after the commit
        SELECT array_agg(r.partition_id) AS ids, array_agg(r.state) AS states, array_agg(r.cursor) AS cursors,
               array_agg(r.lease_end) AS ends, array_agg(r.settled::text) AS settled
        INTO v_rows
        FROM (SELECT v_ids[l.ordinal] AS partition_id, l.state, l.cursor, l.lease_end, l.settled
              FROM queen.pop_sm_lease(array_fill(1, ARRAY[cardinality(v_ids)]), v_ids, array_fill(p_group, ARRAY[cardinality(v_ids)]),
                  array_fill(v_lease, ARRAY[cardinality(v_ids)]), array_fill(50, ARRAY[cardinality(v_ids)]),
                  array_fill(CASE WHEN v_crash THEN 1 ELSE 300 END, ARRAY[cardinality(v_ids)]),
                  array_fill(false, ARRAY[cardinality(v_ids)]), 1000000) l) r;
        COMMIT;
        FOR i IN 1..cardinality(v_ids) LOOP
            v_again := v_again + (v_rows.states[i] = 'again')::int;
            CONTINUE WHEN v_rows.states[i] <> 'leased';
            v_leased := v_leased + 1;
            v_seqs := ARRAY(SELECT s FROM generate_series(v_rows.cursors[i], v_rows.ends[i] - 1) s
                            WHERE coalesce(substr(v_rows.settled[i], (s - v_rows.cursors[i])::int + 1, 1), '') <> '1');
            -- (a crashed lease may be over already, and its messages settled by another)
            IF NOT v_crash AND EXISTS (SELECT FROM test.settled t WHERE t.partition_id = v_rows.ids[i] AND t.group_id = p_group AND t.seq = ANY (v_seqs)) THEN
                INSERT INTO test.violations (what) VALUES (format('settled messages delivered again: partition %s group %s %s', v_rows.ids[i], p_group, v_seqs));
            END IF;
            COMMIT;
            CONTINUE WHEN v_crash;
            IF NOT pg_try_advisory_lock(77, v_rows.ids[i] * 100 + p_group) THEN
                INSERT INTO test.violations (what) VALUES (format('two holders of partition %s group %s', v_rows.ids[i], p_group));
                COMMIT;
                CONTINUE;
            END IF;
            IF random() < 0.2 THEN PERFORM queen.renew_lease(ARRAY[v_lease], ARRAY[300]); COMMIT; END IF;
            v_done := '{}'; v_items := '{}'; v_kinds := '{}';
            FOREACH v_seq IN ARRAY v_seqs LOOP
                IF random() < 0.8 THEN v_done := v_done || v_seq;
                ELSIF random() < 0.5 THEN v_items := v_items || v_seq; v_kinds := v_kinds || 'failed'::text; END IF;
            END LOOP;
            PERFORM pg_advisory_unlock(77, v_rows.ids[i] * 100 + p_group);
            LOOP  -- the last verdict ends the lease, so that every partition moves on
                SELECT * INTO v_ack FROM test.ack(v_rows.ids[i], p_group, v_lease, v_done, v_items, v_kinds, p_ends => true);
                EXIT WHEN v_ack.state <> 'again';
                COMMIT;
            END LOOP;
            IF v_ack.state = 'applied' THEN
                INSERT INTO test.settled
                SELECT v_rows.ids[i], p_group, s, CASE WHEN s = ANY (v_ack.dead_seqs) THEN 'dead' ELSE 'completed' END
                FROM unnest(v_done || v_ack.dead_seqs) s;
                v_settled := v_settled + cardinality(v_done);
            ELSE
                v_refused := v_refused + 1;
                INSERT INTO test.violations (what) VALUES (format('a lease of 300 s was refused: %s', v_ack));
            END IF;
            COMMIT;
        END LOOP;
    END LOOP;
    INSERT INTO test.counts VALUES ('consumer', 'leased', v_leased), ('consumer', 'again', v_again), ('consumer', 'settled', v_settled);
END $$;

-- The same from memory: loads lanes, now and then thinks so long that what it knows is old, and appends what it decides.
CREATE PROCEDURE test.appender(p_seed float8, p_seconds float8, p_partitions int, p_group int) LANGUAGE plpgsql AS $$
DECLARE
    v_end timestamptz := clock_timestamp() + p_seconds * interval '1 second';
    v_ids int[]; v_lanes jsonb; v_answers jsonb; v_lane jsonb; v_answer jsonb; v_seqs bigint[]; v_done bigint[]; v_settled bit varying;
    v_cursor bigint; v_moved int; v_ack record; v_won bigint := 0; v_lost bigint := 0; v_busy bigint := 0; v_count bigint := 0;
BEGIN
    PERFORM setseed(p_seed);
    WHILE clock_timestamp() < v_end LOOP
        v_ids := ARRAY(SELECT i FROM generate_series(1, p_partitions) i ORDER BY random()
                       LIMIT CASE WHEN random() < 0.6 THEN 1 ELSE p_partitions END);
        SELECT jsonb_agg(jsonb_build_object('partition', v_ids[l.ordinal], 'group', p_group, 'epoch', l.epoch, 'stamp', l.stamp,
                   'new', floor(random() * 1e15)::bigint, 'not_before', l.lease_until, 'cursor', l.from_seq,
                   'settled', queen.bits_from(l.settled::bit varying, l.from_seq - l.cursor)::text, 'lease', gen_random_uuid(),
                   'lease_ms', 300000, 'lease_end', least(l.from_seq + 50, l.known_end, l.live_end), 'lease_seconds', 300))
        INTO v_lanes
        FROM queen.load_lanes(v_ids, array_fill(p_group, ARRAY[cardinality(v_ids)]), array_fill(50, ARRAY[cardinality(v_ids)])) l
        WHERE l.from_seq < l.live_end;
        COMMIT;
        IF random() < 0.3 THEN PERFORM pg_sleep(random() * 0.02); END IF;
        CONTINUE WHEN v_lanes IS NULL;
        SELECT jsonb_agg(jsonb_build_object('state', a.state, 'stamp', a.stamp, 'epoch', a.epoch) ORDER BY a.ordinal) INTO v_answers
        FROM test.append(v_lanes, p_sync => false) a;
        COMMIT;
        FOR i IN 0..jsonb_array_length(v_lanes) - 1 LOOP
            v_lane := v_lanes -> i;
            v_answer := v_answers -> i;
            v_lost := v_lost + (v_answer ->> 'state' = 'lost')::int;
            v_busy := v_busy + (v_answer ->> 'state' = 'busy')::int;
            CONTINUE WHEN v_answer ->> 'state' <> 'won';
            v_won := v_won + 1;
            v_cursor := (v_lane ->> 'cursor')::bigint;
            v_settled := (v_lane ->> 'settled')::bit varying;
            v_seqs := ARRAY(SELECT s FROM generate_series(v_cursor, (v_lane ->> 'lease_end')::bigint - 1) s
                            WHERE NOT queen.bits_get(v_settled, s - v_cursor));
            IF EXISTS (SELECT FROM test.settled t WHERE t.partition_id = (v_lane ->> 'partition')::int AND t.group_id = p_group AND t.seq = ANY (v_seqs)) THEN
                INSERT INTO test.violations (what) VALUES (format('settled messages delivered again: %s %s', v_lane, v_seqs));
            END IF;
            COMMIT;
            IF NOT pg_try_advisory_lock(77, (v_lane ->> 'partition')::int * 100 + p_group) THEN
                INSERT INTO test.violations (what) VALUES (format('two holders of a lane: %s', v_lane));
                COMMIT;
                CONTINUE;
            END IF;
            v_done := v_seqs[1:1 + floor(random() * cardinality(v_seqs))::int];
            v_settled := queen.bits_or(v_settled, queen.bits_of(ARRAY(SELECT s - v_cursor FROM unnest(v_done) s)));
            v_moved := queen.bits_leading(v_settled);
            PERFORM pg_advisory_unlock(77, (v_lane ->> 'partition')::int * 100 + p_group);
            LOOP
                SELECT * INTO v_ack FROM test.append(jsonb_build_array(jsonb_build_object('partition', v_lane -> 'partition', 'group', p_group,
                    'epoch', v_answer -> 'epoch', 'stamp', v_answer -> 'stamp', 'new', floor(random() * 1e15)::bigint, 'held', true,
                    'cursor', v_cursor + v_moved, 'settled', queen.bits_from(v_settled, v_moved)::text, 'frees', true)));
                EXIT WHEN v_ack.state <> 'busy';
                COMMIT;
            END LOOP;
            IF v_ack.state = 'won' THEN
                INSERT INTO test.settled SELECT (v_lane ->> 'partition')::int, p_group, s, 'completed' FROM unnest(v_done) s;
                v_count := v_count + cardinality(v_done);
            ELSE
                INSERT INTO test.violations (what) VALUES (format('a lease of 300 s was lost: %s %s', v_lane, v_ack));
            END IF;
            COMMIT;
        END LOOP;
    END LOOP;
    INSERT INTO test.counts VALUES ('appender', 'won', v_won), ('appender', 'lost', v_lost), ('appender', 'busy', v_busy), ('appender', 'settled', v_count);
END $$;

-- Leases the first partition, thinks, and gives up: who waits for it has an ever older view of the others.
CREATE PROCEDURE test.ditherer(p_seconds float8, p_group int) LANGUAGE plpgsql AS $$
DECLARE v_end timestamptz := clock_timestamp() + p_seconds * interval '1 second';
BEGIN
    WHILE clock_timestamp() < v_end LOOP
        PERFORM pg_sleep(CASE WHEN (test.pop(1, p_group)).state = 'leased' THEN 0.2 ELSE 0.001 END);
        ROLLBACK;
    END LOOP;
END $$;

-- Cleans up old epochs as fast as it can.
CREATE PROCEDURE test.sweeper(p_seconds float8) LANGUAGE plpgsql AS $$
DECLARE
    v_end timestamptz := clock_timestamp() + p_seconds * interval '1 second'; v record; v_removed bigint := 0;
BEGIN
    SELECT 0 AS next_partition_id, 0 AS next_group_id, 0 AS removed INTO v;
    WHILE clock_timestamp() < v_end LOOP
        SELECT * INTO v FROM queen.sweep_progress(coalesce(v.next_partition_id, 0), coalesce(v.next_group_id, 0), 200);
        v_removed := v_removed + v.removed;
        COMMIT;
        PERFORM queen.index_untimed(p.id, 1 + floor(random() * 8)::int) FROM queen.partitions p;
        PERFORM queen.merge_untimed();
        COMMIT;
    END LOOP;
    INSERT INTO test.counts VALUES ('sweeper', 'removed', v_removed);
END $$;

-- Takes what is left, then compares. One row per violation.
CREATE FUNCTION test.verify(p_partitions int, p_groups int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE d test.delivery; v_lease uuid;
BEGIN
    UPDATE queen.progress SET lease_until = now() - interval '1 second' WHERE lease_id IS NOT NULL;
    FOR p IN 1..p_partitions LOOP FOR g IN 1..p_groups LOOP LOOP
        v_lease := gen_random_uuid();
        d := test.pop(p, g, v_lease, 10000);
        EXIT WHEN d.state = 'empty';
        IF d.state <> 'leased' THEN RETURN NEXT format('partition %s group %s cannot be drained: %s', p, g, d.state); EXIT; END IF;
        IF EXISTS (SELECT FROM test.settled t WHERE t.partition_id = p AND t.group_id = g AND t.seq = ANY (d.seqs)) THEN
            RETURN NEXT format('settled messages delivered again: partition %s group %s', p, g);
        END IF;
        PERFORM test.ack(p, g, v_lease, d.seqs);
        INSERT INTO test.settled SELECT p, g, s, 'drained' FROM unnest(d.seqs) s ON CONFLICT DO NOTHING;
    END LOOP; END LOOP; END LOOP;

    RETURN QUERY SELECT x.what FROM test.violations x;
    RETURN QUERY
    SELECT format('partition %s: gap or step back at offset %s', s.partition_id, s.base_seq)
    FROM (SELECT partition_id, base_seq, base_seq - coalesce(lag(base_seq + count) OVER w, 0) AS gap,
                 created_at - lag(created_at + (count - 1) * interval '1 us') OVER w AS rise
          FROM queen.segments WINDOW w AS (PARTITION BY partition_id ORDER BY base_seq)) s
    WHERE s.gap <> 0 OR s.rise <= interval '0';
    RETURN QUERY
    SELECT format('partition %s: id %s stored %s times', s.partition_id, t.txn, count(*))
    FROM queen.segments s, string_to_table(s.txns, E'\n') AS t(txn) GROUP BY s.partition_id, t.txn HAVING count(*) > 1;
    RETURN QUERY
    SELECT format('partition %s group %s: %s of %s messages settled', e.partition_id, g, count(t.seq), e.seq_end)
    FROM (SELECT partition_id, max(base_seq + count) AS seq_end FROM queen.segments GROUP BY 1) e
    CROSS JOIN generate_series(1, p_groups) g
    LEFT JOIN test.settled t ON t.partition_id = e.partition_id AND t.group_id = g
    GROUP BY e.partition_id, g, e.seq_end HAVING count(t.seq) <> e.seq_end;
    RETURN QUERY
    SELECT format('dead letters: %s, told: %s', x.letters, x.told)
    FROM (SELECT (SELECT count(*) FROM queen.dead_letters) AS letters, (SELECT count(*) FROM test.settled WHERE verdict = 'dead') AS told) x
    WHERE x.letters <> x.told;
    RETURN QUERY SELECT format('only %s leases were taken', sum(n)) FROM test.counts WHERE what = 'leased' HAVING sum(n) < 50;
END $$;
