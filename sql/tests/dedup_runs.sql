-- I6 for ids without a time inside: the log, runs of hashes over it, and their merging (dedup_runs).

CREATE FUNCTION test.runs(p_partition int) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(format('%s:%s-%s', level, from_seq, to_seq) || CASE state WHEN 'ready' THEN '' ELSE ' ' || state END, ', '
                      ORDER BY from_seq, level) FROM queen.dedup_runs WHERE partition_id = p_partition $$;

-- Everything that is to be done in the background; how many steps.
CREATE FUNCTION test.merge_all() RETURNS int LANGUAGE plpgsql AS $$
DECLARE v_steps int := 0;
BEGIN
    WHILE queen.merge_untimed() LOOP v_steps := v_steps + 1; ASSERT v_steps < 10000, 'the steps do not end'; END LOOP;
    RETURN v_steps;
END $$;

-- Every id that is stored is found at its place, and no other, one by one and all together.
CREATE FUNCTION test.check_found(p_partition int, p_absent text[] DEFAULT '{}') RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_wanted text; v_found text; v_all text;
BEGIN
    SELECT string_agg(l.txn, E'\n' ORDER BY s.base_seq, l.line),
           string_agg(format('%s', s.base_seq + l.line - 1), ' ' ORDER BY s.base_seq, l.line) INTO v_all, v_wanted
    FROM queen.segments s CROSS JOIN LATERAL string_to_table(s.txns, E'\n') WITH ORDINALITY AS l(txn, line)
    WHERE s.partition_id = p_partition AND l.txn <> '';
    SELECT string_agg(f.seq::text, ' ' ORDER BY f.line) INTO v_found
    FROM queen.find_transactions(p_partition, array_to_string(v_all || p_absent, E'\n'), 0, 0) f;
    ASSERT v_found IS NOT DISTINCT FROM v_wanted, format('all together: %s instead of %s', v_found, v_wanted);
    SELECT string_agg(f.seq::text, ' ' ORDER BY a.line) INTO v_found
    FROM string_to_table(array_to_string(v_all || p_absent, E'\n'), E'\n') WITH ORDINALITY AS a(txn, line)
    CROSS JOIN LATERAL queen.find_transactions(p_partition, a.txn, 0, 0) f;
    ASSERT v_found IS NOT DISTINCT FROM v_wanted, format('one by one: %s instead of %s', v_found, v_wanted);
END $$;

-- A run is made of segments when there are enough, and of whole segments only; what it covers is found through it.
DO $$
DECLARE v_id int := test.partition('runs', 'index'); v_seg record; v record;
BEGIN
    ASSERT NOT queen.index_untimed(v_id, 1), 'there is nothing';
    PERFORM test.push(v_id, 3, E'a\n\nc');
    PERFORM test.push(v_id, 2);
    PERFORM test.push(v_id, 1, test.uuid7(clock_timestamp()));
    PERFORM test.push(v_id, 2, 'd' || E'\n' || test.uuid7(clock_timestamp(), 1));
    ASSERT (SELECT array_agg(untimed ORDER BY base_seq) FROM queen.segments WHERE partition_id = v_id) = '{t,NULL,f,t}';
    ASSERT NOT queen.index_untimed(v_id, 5) AND test.runs(v_id) IS NULL, 'too few';
    ASSERT queen.index_untimed(v_id, 4) AND test.runs(v_id) = '1:0-8', test.runs(v_id);
    ASSERT NOT queen.index_untimed(v_id, 1);
    PERFORM test.push(v_id, 1, 'e');
    PERFORM test.check_found(v_id, ARRAY['f', 'A']);
    -- through the run: without it nobody finds them
    DELETE FROM queen.dedup_hashes WHERE partition_id = v_id;
    ASSERT (SELECT array_agg(f.line) FROM queen.find_transactions(v_id, E'a\nc\nd\ne', 0, 0) f) = '{3}';
END $$;

-- Many ids are a run as well, whatever the number of segments, and at most about 16384 at once.
DO $$
DECLARE v_id int := test.partition('runs', 'many');
BEGIN
    FOR i IN 1..9 LOOP
        PERFORM test.push_segments(ARRAY[v_id], ARRAY[test.lines(3000)], ARRAY(SELECT string_agg(format('key-%s-%s', i, k), E'\n')
                                   FROM generate_series(1, 3000) k), p_wait => false);
        ASSERT NOT EXISTS (SELECT FROM queen.find_transactions(v_id, format(E'key-%s-0\nkey-%s-1', i, i + 1), 0, 0));
    END LOOP;
    ASSERT queen.index_untimed(v_id, 1000) AND test.runs(v_id) = '1:0-15000', test.runs(v_id);
    ASSERT queen.index_untimed(v_id, 1000) AND test.runs(v_id) = '1:0-15000, 1:15000-27000', test.runs(v_id);
    ASSERT NOT queen.index_untimed(v_id, 1000);
    ASSERT (SELECT bool_and(cardinality(hashes) = cardinality(places) AND first_hash = hashes[1] AND cardinality(hashes) <= 128)
            AND sum(cardinality(hashes)) = 27000 FROM queen.dedup_hashes WHERE partition_id = v_id);
    ASSERT (SELECT count(*) FROM queen.find_transactions(v_id, (
        SELECT string_agg(txns, E'\n' ORDER BY base_seq) FROM queen.segments WHERE partition_id = v_id), 0, 0) f WHERE f.line = f.seq) = 27000;
END $$;

-- Sixteen runs of a level become one of the next, while pushes see the old or the new ones.
DO $$
DECLARE v_id int := test.partition('runs', 'merge'); v_most int := 0;
BEGIN
    FOR i IN 1..300 LOOP
        PERFORM test.push(v_id, 2, 'one' || i || E'\n' || 'two' || i);
        ASSERT queen.index_untimed(v_id, 1);
        IF i % 7 = 0 AND i < 50 THEN PERFORM queen.merge_untimed(); END IF;
        IF i = 16 THEN ASSERT test.runs(v_id) LIKE '1:0-2, 2:0-32 building, 1:2-4, %', test.runs(v_id); END IF;
        IF i IN (40, 200) THEN PERFORM test.check_found(v_id, ARRAY['one', 'two301']); END IF;
        IF i > 50 THEN PERFORM test.merge_all(); END IF;
    END LOOP;
    PERFORM test.merge_all();
    PERFORM test.check_found(v_id, ARRAY['one', 'two301']);
    ASSERT test.runs(v_id) LIKE '3:0-%' AND (SELECT count(*) <= 32 AND bool_and(state = 'ready') FROM queen.dedup_runs WHERE partition_id = v_id),
        test.runs(v_id);
    ASSERT NOT EXISTS (SELECT FROM queen.dedup_hashes h WHERE h.partition_id = v_id AND NOT EXISTS (
        SELECT FROM queen.dedup_runs r WHERE r.partition_id = v_id AND r.from_seq = h.from_seq AND r.level = h.level)), 'hashes of no run';
END $$;

-- A large merge goes on in ranges of hashes; nothing is seen of it before it is whole.
DO $$
DECLARE v_id int := test.partition('runs', 'ranges'); v_steps int := 0; v_before text;
BEGIN
    FOR i IN 1..16 LOOP
        PERFORM test.push(v_id, 2000, (SELECT string_agg(format('key-%s-%s', i, k), E'\n') FROM generate_series(1, 2000) k));
        PERFORM queen.index_untimed(v_id, 1);
    END LOOP;
    ASSERT (SELECT parts = 4 AND state = 'building' FROM queen.dedup_runs WHERE partition_id = v_id AND level = 2), test.runs(v_id);
    v_before := test.runs(v_id);
    FOR i IN 1..3 LOOP
        PERFORM queen.merge_untimed();
        ASSERT test.runs(v_id) = v_before AND (SELECT built = i FROM queen.dedup_runs WHERE partition_id = v_id AND level = 2), test.runs(v_id);
        ASSERT (SELECT count(*) FROM queen.find_transactions(v_id, E'key-1-1\nkey-9-77\nkey-16-2000\nkey-17-1', 0, 0)) = 3;
    END LOOP;
    PERFORM test.merge_all();
    ASSERT test.runs(v_id) = '2:0-32000', test.runs(v_id);
    ASSERT (SELECT count(*) FROM queen.find_transactions(v_id, (
        SELECT string_agg(txns, E'\n' ORDER BY base_seq) FROM queen.segments WHERE partition_id = v_id), 0, 0) f WHERE f.line = f.seq) = 32000;
    ASSERT (SELECT array_agg(h ORDER BY first_hash, i) = array_agg(h ORDER BY h) FROM queen.dedup_hashes,
            unnest(hashes) WITH ORDINALITY AS u(h, i) WHERE partition_id = v_id), 'not sorted';
END $$;

-- A hash only nominates: ids that share one are told apart by their lines, and stay in one row.
DO $$
DECLARE v_id int := test.partition('runs', 'equal'); v_hash bigint; v_rows text;
BEGIN
    PERFORM test.push(v_id, 400, (SELECT string_agg('k' || i, E'\n' ORDER BY i) FROM generate_series(0, 399) i));
    PERFORM queen.index_untimed(v_id, 1);
    v_hash := hashtextextended('k250', queen.dedup_seed());
    DELETE FROM queen.dedup_hashes WHERE partition_id = v_id;
    PERFORM queen.store_hashes(v_id, 0, 1, array_agg(h ORDER BY h, p), array_agg(p ORDER BY h, p))
    FROM (SELECT CASE WHEN i BETWEEN 100 AND 349 THEN v_hash WHEN i < 100 THEN v_hash - 1000 + i ELSE v_hash + i END AS h, i AS p
          FROM generate_series(0, 399) i) x;
    SELECT string_agg(cardinality(hashes)::text, ',' ORDER BY first_hash) INTO v_rows FROM queen.dedup_hashes WHERE partition_id = v_id;
    ASSERT v_rows = '350,34,16' OR v_rows = '350,50', v_rows;
    ASSERT (SELECT array_agg(f.seq) FROM queen.find_transactions(v_id, 'k250', 0, 0) f) = '{250}';
    UPDATE queen.segments SET txns = replace(txns, 'k250', 'gone') WHERE partition_id = v_id;
    ASSERT NOT EXISTS (SELECT FROM queen.find_transactions(v_id, 'k250', 0, 0)), 'a hash alone is a duplicate';
END $$;

-- Retention takes runs with it, their hashes in steps; what it has taken may be pushed again.
DO $$
DECLARE v_id int := test.partition('runs.old', 'a'); v record;
BEGIN
    UPDATE queen.queues SET retention_seconds = 60 WHERE name = 'runs.old';
    FOR i IN 1..20 LOOP
        PERFORM test.push(v_id, 1, 'k' || i);
        PERFORM queen.index_untimed(v_id, 1);
    END LOOP;
    PERFORM test.merge_all();
    ASSERT test.runs(v_id) = '2:0-16, 1:16-17, 1:17-18, 1:18-19, 1:19-20', test.runs(v_id);
    UPDATE queen.segments SET created_at = created_at - interval '100 s' WHERE partition_id = v_id AND base_seq < 10;
    PERFORM queen.sweep_segments(0, 1000, 1000);
    ASSERT test.runs(v_id) LIKE '2:0-16, %', 'half of a run is needed';
    PERFORM test.check_found(v_id, ARRAY['k1', 'k10']);
    ASSERT test.push(v_id, 1, 'k3') = 20, 'no longer retained';
    UPDATE queen.segments SET created_at = created_at - interval '100 s' WHERE partition_id = v_id AND base_seq < 17;
    PERFORM queen.sweep_segments(0, 1000, 1000);
    ASSERT test.runs(v_id) LIKE '2:0-16 dropped, 1:16-17 dropped, 1:17-18,%', test.runs(v_id);
    PERFORM test.check_found(v_id, ARRAY['k1', 'k16']);
    PERFORM test.merge_all();
    ASSERT test.runs(v_id) LIKE '1:17-18, %' AND NOT EXISTS (SELECT FROM queen.dedup_hashes WHERE partition_id = v_id AND from_seq < 17);
    PERFORM test.check_found(v_id, ARRAY['k1', 'k16']);
    -- a merge leaves out what is gone
    FOR i IN 21..40 LOOP PERFORM test.push(v_id, 1, 'k' || i); PERFORM queen.index_untimed(v_id, 1); END LOOP;
    UPDATE queen.segments SET created_at = created_at - interval '100 s' WHERE partition_id = v_id AND base_seq < 19;
    PERFORM queen.sweep_segments(0, 1000, 1000);
    PERFORM test.merge_all();
    ASSERT (SELECT min(h.from_seq + p) FROM queen.dedup_hashes h, unnest(h.places) p WHERE h.partition_id = v_id) = 19, test.runs(v_id);
    PERFORM test.check_found(v_id);
END $$;

-- So does clearing; and a run of the one segment that stays blank is made anew only after the old one has gone.
DO $$
DECLARE v_id int := test.partition('runs.cleared');
BEGIN
    FOR i IN 1..3 LOOP PERFORM test.push(v_id, 1, 'k' || i); PERFORM queen.index_untimed(v_id, 1); END LOOP;
    PERFORM queen.clear_queue('runs.cleared', NULL, 0, NULL, NULL, 100);
    ASSERT test.runs(v_id) = '1:0-1 dropped, 1:1-2 dropped, 1:2-3 dropped', test.runs(v_id);
    ASSERT test.push(v_id, 1, 'k1') = 3;
    PERFORM test.check_found(v_id, ARRAY['k2', 'k3']);
    ASSERT NOT queen.index_untimed(v_id, 1), 'the place is taken';
    PERFORM test.merge_all();
    ASSERT queen.index_untimed(v_id, 1) AND test.runs(v_id) = '1:2-4', test.runs(v_id);
    PERFORM test.check_found(v_id, ARRAY['k2', 'k3']);
END $$;

-- Deleting takes all of it.
DO $$
DECLARE v_id int := test.partition('runs.deleted');
BEGIN
    FOR i IN 1..20 LOOP PERFORM test.push(v_id, 1, 'k' || i); PERFORM queen.index_untimed(v_id, 1); END LOOP;
    PERFORM queen.delete_queue('runs.deleted');
    FOR i IN 1..20 LOOP PERFORM queen.sweep_orphans(7, '0'); END LOOP;
    ASSERT NOT EXISTS (SELECT FROM queen.dedup_runs WHERE partition_id = v_id)
       AND NOT EXISTS (SELECT FROM queen.dedup_hashes WHERE partition_id = v_id);
END $$;

-- Ids that were stored before there were runs are in queen.dedup; both are asked.
DO $$
DECLARE v_id int := test.partition('runs', 'before'); v record;
BEGIN
    INSERT INTO queen.segments (partition_id, base_seq, count, created_at, payloads, txns)
    VALUES (v_id, 0, 2, clock_timestamp(), E'1\n2', E'old1\nold2');
    INSERT INTO queen.dedup VALUES (v_id, 'old1', 0), (v_id, 'old2', 1);
    SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_id], ARRAY[E'1\n2'], ARRAY[E'new\nold2']);
    ASSERT v.status = 'duplicate' AND v.line = 1 AND v.base_seq = 1, v;
    PERFORM test.push(v_id, 1, 'new');
    PERFORM queen.index_untimed(v_id, 1);
    ASSERT test.runs(v_id) = '1:0-3';
    PERFORM test.check_found(v_id, ARRAY['old3']);
    -- their segments may still be written while procedures are replaced: whoever knows only what is before them asks
    SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_id], ARRAY['1'], ARRAY['old2'], NULL, ARRAY[2], ARRAY[3], p_known_untimed => true);
    ASSERT v.status = 'duplicate', v;
END $$;

-- On a server that hashes in another way runs are not believed, and made anew.
DO $$
DECLARE v_id int := test.partition('runs', 'restored');
BEGIN
    FOR i IN 1..5 LOOP PERFORM test.push(v_id, 1, 'k' || i); PERFORM queen.index_untimed(v_id, 1); END LOOP;
    UPDATE queen.dedup_key SET proof = proof + 1;
    UPDATE queen.dedup_hashes SET hashes = ARRAY(SELECT h # 12345 FROM unnest(hashes) h);
    PERFORM test.check_found(v_id, ARRAY['k6']);
    ASSERT NOT queen.index_untimed(v_id, 1) AND queen.merge_untimed();
    ASSERT test.runs(v_id) IS NULL AND queen.dedup_seed() IS NOT NULL;
    PERFORM test.check_found(v_id, ARRAY['k6']);
    ASSERT queen.index_untimed(v_id, 1) AND test.runs(v_id) = '1:0-5';
    PERFORM test.check_found(v_id, ARRAY['k6']);
END $$;

-- Whoever pushes without a memory (SQL, transactions) indexes what it has searched.
DO $$
DECLARE v_id int := test.partition('runs', 'inline');
BEGIN
    FOR i IN 1..200 LOOP PERFORM queen.push('runs', '1', 'inline', 'order-' || i); END LOOP;
    ASSERT (SELECT count(*) BETWEEN 2 AND 3 AND max(to_seq) >= 128 FROM queen.dedup_runs WHERE partition_id = v_id), test.runs(v_id);
    PERFORM test.check_found(v_id, ARRAY['order-0', 'order-201']);
    -- within a transaction of its own as well
    ASSERT queen.push('runs', '1', 'inline', 'order-7') = (SELECT queen.message_id(created_at, v_id, base_seq) FROM queen.segments
                                                          WHERE partition_id = v_id AND base_seq = 6);
END $$;

-- What a broker's memory covers costs nothing: a push whose ids it has compared asks no index at all.
CREATE FUNCTION test.probes() RETURNS bigint LANGUAGE sql AS $$
    SELECT coalesce(sum(pg_stat_get_xact_numscans(c.oid)), 0)::bigint FROM pg_class c
    WHERE c.relname IN ('dedup_pkey', 'dedup_runs_pkey', 'dedup_hashes_pkey', 'dedup_key_pkey') $$;
DO $$
DECLARE v_id int := test.partition('runs', 'covered'); v_before bigint; v record;
BEGIN
    FOR i IN 1..40 LOOP PERFORM test.push(v_id, 100, (SELECT string_agg(format('k-%s-%s', i, k), E'\n') FROM generate_series(1, 100) k));
                        PERFORM queen.index_untimed(v_id, 1); END LOOP;
    PERFORM test.merge_all();
    v_before := test.probes();
    SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_id], ARRAY[test.lines(2)], ARRAY[E'new1\nnew2'], NULL, ARRAY[0], ARRAY[4000],
                                                   p_wait => false, p_known_untimed => true);
    ASSERT v.status = 'queued' AND test.probes() = v_before, format('%s probes', test.probes() - v_before);
    -- and without memory a probe per run, whatever they hold
    ASSERT test.runs(v_id) = '2:0-1600, 2:1600-4000', test.runs(v_id);
    SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_id], ARRAY['1'], ARRAY['new3'], p_wait => false);
    ASSERT v.status = 'queued' AND test.probes() - v_before = 6, format('%s probes', test.probes() - v_before);
END $$;

-- load_ids pages through the log in both directions and leaves nothing out; only ids without a time are worth sending.
DO $$
DECLARE v_id int := test.partition('runs', 'load'); v_up bigint[] := '{}'; v_down bigint[] := '{}'; v_from bigint := 0; v_to bigint; v record;
        v_rows int;
BEGIN
    FOR i IN 1..30 LOOP
        PERFORM test.push(v_id, 1000, (SELECT string_agg(format('k-%s-%s', i, k), E'\n') FROM generate_series(1, 1000) k));
        PERFORM test.push(v_id, 1, test.uuid7(clock_timestamp(), i));
        PERFORM test.push(v_id, 1);
    END LOOP;
    SELECT max(base_seq + count) INTO v_to FROM queen.segments WHERE partition_id = v_id;
    LOOP
        SELECT coalesce(array_agg(base_seq ORDER BY base_seq), '{}'), max(base_seq + count), count(*) AS n,
               bool_and((txns IS NOT NULL) = (count = 1000)) AS right INTO v FROM queen.load_ids(v_id, v_from, v_to);
        EXIT WHEN v.n = 0;
        ASSERT v.right AND v.n <= 33, v;
        v_up := v_up || v.coalesce; v_from := v.max;
    END LOOP;
    ASSERT v_from = v_to;
    LOOP
        SELECT coalesce(array_agg(base_seq ORDER BY base_seq), '{}'), min(base_seq), count(*) AS n INTO v FROM queen.load_ids(v_id, NULL, v_to);
        EXIT WHEN v.n = 0;
        v_down := v.coalesce || v_down; v_to := v.min;
    END LOOP;
    ASSERT v_to = 0 AND v_up = v_down AND v_up = ARRAY(SELECT base_seq FROM queen.segments WHERE partition_id = v_id ORDER BY 1);
END $$;

-- Random: pushes with and without a memory, runs, merges, retention in between; a model keeps what must be refused.
DO $$
DECLARE
    v_id int := test.partition('runs.random'); v_txn text; v record; v_known_from bigint; v_known_to bigint; v_end bigint;
    v_seen text[] := '{}'; v_seqs bigint[] := '{}'; v_queued int := 0; v_duplicates int := 0; v_first bigint; v_levels int; v_seq bigint;
BEGIN
    PERFORM test.seed();
    UPDATE queen.queues SET retention_seconds = 60 WHERE name = 'runs.random';
    FOR i IN 1..1500 LOOP
        IF random() < 0.15 THEN PERFORM queen.index_untimed(v_id, 1 + floor(random() * 4)::int); END IF;
        IF random() < 0.2 THEN PERFORM queen.merge_untimed(); v_levels := greatest(v_levels, (SELECT max(level) FROM queen.dedup_runs)); END IF;
        IF random() < 0.01 THEN  -- the older half expires
            SELECT coalesce(max(base_seq), 0) INTO v_first FROM queen.segments WHERE partition_id = v_id;
            v_first := v_first - floor(100 * random());
            UPDATE queen.segments SET created_at = created_at - interval '1 hour' WHERE partition_id = v_id AND base_seq < v_first;
            PERFORM queen.sweep_segments(0, 1000, 100000);
            SELECT min(base_seq) INTO v_first FROM queen.segments WHERE partition_id = v_id;
            SELECT array_agg(s), array_agg(q) INTO v_seen, v_seqs FROM unnest(v_seen, v_seqs) AS u(s, q) WHERE q >= v_first;
            v_seen := coalesce(v_seen, '{}'); v_seqs := coalesce(v_seqs, '{}');
        END IF;
        v_txn := CASE WHEN random() < 0.4 AND cardinality(v_seen) > 0 THEN v_seen[1 + floor(random() * cardinality(v_seen))::int]
                      WHEN random() < 0.1 THEN test.uuid7(clock_timestamp(), i) ELSE 'id' || i END;
        v_seq := v_seqs[array_position(v_seen, v_txn)];
        -- a range the caller may claim: whole segments, none of which holds the id
        v_known_from := 0; v_known_to := 0;
        IF random() < 0.5 THEN
            SELECT coalesce(max(base_seq), 0) INTO v_end FROM queen.segments WHERE partition_id = v_id;
            v_known_from := floor(random() * v_end); v_known_to := v_known_from + floor(random() * (v_end - v_known_from));
            IF v_seq >= v_known_from AND v_seq < v_known_to THEN v_known_from := 0; v_known_to := 0; END IF;
        END IF;
        SELECT * INTO STRICT v FROM test.push_segments(ARRAY[v_id], ARRAY['1'], ARRAY[v_txn], NULL, ARRAY[v_known_from], ARRAY[v_known_to],
                                                       p_wait => random() < 0.1, p_known_untimed => true);
        ASSERT (v.status = 'duplicate') = (v_seq IS NOT NULL) AND (v_seq IS NULL OR v.base_seq = v_seq), format('step %s %s %s %s', i, v_txn, v_seq, v);
        IF v.status = 'queued' THEN v_seen := v_seen || v_txn; v_seqs := v_seqs || v.base_seq; v_queued := v_queued + 1;
        ELSE v_duplicates := v_duplicates + 1; END IF;
    END LOOP;
    ASSERT v_queued > 300 AND v_duplicates > 200, format('%s %s', v_queued, v_duplicates);
    ASSERT v_levels >= 2, v_levels::text;
END $$;
