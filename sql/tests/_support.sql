-- Helpers of the contract tests: they say in one line what the broker says in many arrays.
CREATE SCHEMA test;

CREATE FUNCTION test.partition(p_queue text, p_partition text DEFAULT 'Default') RETURNS int LANGUAGE sql AS $$
    SELECT partition_id FROM queen.ensure_partitions(ARRAY[p_queue], ARRAY[p_partition]) $$;

CREATE FUNCTION test.groupid(p_queue text, p_group text DEFAULT 'g', p_mode text DEFAULT 'all',
                             p_time timestamptz DEFAULT NULL) RETURNS int LANGUAGE sql AS $$
    SELECT group_id FROM queen.ensure_group(p_queue, p_group, p_mode, p_time) $$;

CREATE FUNCTION test.uuid7(p_time timestamptz, p_tail bigint DEFAULT 0) RETURNS text LANGUAGE sql AS $$
    SELECT (lpad(to_hex((floor(extract(epoch FROM p_time) * 1000))::bigint), 12, '0')
         || '7000' || '8000' || lpad(to_hex(p_tail), 12, '0'))::uuid::text $$;

-- Documents {"n":from} ..
CREATE FUNCTION test.lines(p_count int, p_from int DEFAULT 0) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg('{"n":' || i || '}', E'\n' ORDER BY i) FROM generate_series(p_from, p_from + p_count - 1) i $$;

-- push_messages with what the broker works out beside the lines.
CREATE FUNCTION test.push_segments(p_partitions int[], p_payloads text[], p_txns text[] DEFAULT NULL,
    p_metas text[] DEFAULT NULL, p_known_froms bigint[] DEFAULT NULL, p_known_tos bigint[] DEFAULT NULL,
    p_wait boolean DEFAULT true, p_broker bigint DEFAULT 1, p_n bigint DEFAULT NULL, p_known_untimed boolean DEFAULT false)
RETURNS TABLE (ordinal int, status text, base_seq bigint, created_at timestamptz, line int) LANGUAGE sql AS $$
    SELECT r.* FROM (
        SELECT array_agg(cardinality(string_to_array(u.payloads, E'\n')) ORDER BY u.i) AS counts,
               array_agg(u.txns ORDER BY u.i) AS txns, array_agg(u.meta ORDER BY u.i) AS metas,
               array_agg(x.txn_min ORDER BY u.i) AS txn_mins, array_agg(x.txn_max ORDER BY u.i) AS txn_maxs,
               array_agg(x.time_min ORDER BY u.i) AS time_mins, array_agg(x.time_max ORDER BY u.i) AS time_maxs,
               array_agg(x.untimed ORDER BY u.i) AS untimed,
               array_agg(coalesce(u.known_from, 0) ORDER BY u.i) AS known_froms,
               array_agg(coalesce(u.known_to, 0) ORDER BY u.i) AS known_tos
        FROM ROWS FROM (unnest(p_payloads), unnest(p_txns), unnest(p_metas), unnest(p_known_froms), unnest(p_known_tos))
             WITH ORDINALITY AS u(payloads, txns, meta, known_from, known_to, i)
        CROSS JOIN LATERAL (
            SELECT min(t COLLATE "C") AS txn_min, max(t COLLATE "C") AS txn_max, min(queen.uuid7_time(t)) AS time_min,
                   max(queen.uuid7_time(t)) AS time_max, bool_or(queen.uuid7_time(t) IS NULL) AS untimed
            FROM string_to_table(u.txns, E'\n') t WHERE t <> '') x) a
    CROSS JOIN LATERAL queen.push_messages(p_broker, p_n, p_wait, p_partitions, a.counts, p_payloads, a.txns, a.metas,
        a.txn_mins, a.txn_maxs, a.time_mins, a.time_maxs, a.untimed, a.known_froms, a.known_tos, NULL, p_known_untimed) r
    ORDER BY r.ordinal, r.line $$;

-- One segment of p_count documents {"n":..}; the offset of the first.
CREATE FUNCTION test.push(p_partition int, p_count int DEFAULT 1, p_txns text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE v record;
BEGIN
    SELECT * INTO STRICT v FROM test.push_segments(ARRAY[p_partition], ARRAY[test.lines(p_count)], ARRAY[p_txns]);
    ASSERT v.status = 'queued', v.status;
    RETURN v.base_seq;
END $$;

CREATE TYPE test.delivery AS (state text, ready_in_ms bigint, seqs bigint[], cursor bigint, lease_end bigint,
                              lease_until timestamptz, failures int[], payloads text[]);

-- A pop of one partition through pop_messages: which offsets are delivered, how often each failed.
CREATE FUNCTION test.pop(p_partition int, p_group int, p_lease uuid DEFAULT gen_random_uuid(), p_batch int DEFAULT 10,
                         p_seconds int DEFAULT 0, p_auto_ack boolean DEFAULT false, p_max_bytes bigint DEFAULT 1 << 30)
RETURNS test.delivery LANGUAGE plpgsql AS $$
DECLARE v test.delivery;
BEGIN
    SELECT min(r.state), min(r.ready_in_ms), array_agg(m.seq ORDER BY m.seq) FILTER (WHERE m.seq IS NOT NULL),
           min(r.cursor), min(r.lease_end), min(r.lease_until),
           array_agg(coalesce(r.attempt_counts[array_position(r.attempt_seqs, m.seq)], 0) ORDER BY m.seq)
               FILTER (WHERE m.seq IS NOT NULL),
           array_agg(m.payload ORDER BY m.seq) FILTER (WHERE m.seq IS NOT NULL)
    INTO v
    FROM queen.pop_messages(ARRAY[1], ARRAY[p_partition], ARRAY[p_group], ARRAY[p_lease], ARRAY[p_batch],
                            ARRAY[p_seconds], ARRAY[p_auto_ack], p_max_bytes) r
    LEFT JOIN LATERAL (
        SELECT r.base_seq + l.line - 1 AS seq, l.payload
        FROM string_to_table(r.payloads, E'\n') WITH ORDINALITY AS l(payload, line)
        WHERE r.base_seq + l.line - 1 >= r.cursor AND r.base_seq + l.line - 1 < r.lease_end
          AND coalesce(substr(r.settled, (r.base_seq + l.line - r.cursor)::int, 1), '') <> '1') m ON r.state = 'leased';
    RETURN v;
END $$;

-- Verdicts of one key; p_kinds belongs to p_items.
CREATE FUNCTION test.ack(p_partition int, p_group int, p_lease uuid, p_done bigint[] DEFAULT '{}',
    p_items bigint[] DEFAULT '{}', p_kinds text[] DEFAULT '{}', p_cumulative bigint DEFAULT NULL,
    p_retry_from bigint DEFAULT NULL, p_ends boolean DEFAULT false)
RETURNS TABLE (state text, cursor bigint, settled text, failed text, lease_end bigint,
               new_cursor bigint, released boolean, ready_in_ms bigint, dead_seqs bigint[]) LANGUAGE sql AS $$
    SELECT a.state, a.cursor, a.settled, a.failed, a.lease_end, a.new_cursor, a.released, a.ready_in_ms, a.dead_seqs
    FROM (SELECT coalesce(min(d), 0) AS base FROM unnest(p_done) d) b
    CROSS JOIN LATERAL queen.ack_messages(1, NULL, ARRAY[p_partition], ARRAY[p_group], ARRAY[p_lease], ARRAY[b.base],
        ARRAY[queen.bits_of(ARRAY(SELECT d - b.base FROM unnest(p_done) d))::text],
        ARRAY[p_cumulative], ARRAY[p_retry_from], ARRAY[p_ends],
        ARRAY(SELECT 1 FROM unnest(p_items)), p_items, p_kinds,
        ARRAY(SELECT 'error of ' || i FROM unnest(p_items) i)) a $$;

-- execute_transaction with what the broker works out beside the lines. Operations are numbered acks first.
CREATE FUNCTION test.transaction(p_partitions int[] DEFAULT '{}', p_payloads text[] DEFAULT '{}', p_txns text[] DEFAULT '{}',
    p_ack_partitions int[] DEFAULT '{}', p_ack_groups int[] DEFAULT '{}', p_ack_leases uuid[] DEFAULT '{}', p_ack_txns text[] DEFAULT '{}',
    p_ack_kinds text[] DEFAULT NULL, p_required uuid[] DEFAULT '{}', p_ack_seqs bigint[] DEFAULT NULL, p_n bigint DEFAULT NULL,
    p_ack_cumulatives boolean[] DEFAULT NULL)
RETURNS TABLE (part text, ordinal int, status text, partition_id int, base_seq bigint, created_at timestamptz, line int,
               dead boolean, released boolean) LANGUAGE sql AS $$
    SELECT r.* FROM (
        SELECT coalesce(array_agg(cardinality(string_to_array(u.payloads, E'\n')) ORDER BY u.i), '{}') AS counts,
               coalesce(array_agg(x.txn_min ORDER BY u.i), '{}') AS txn_mins, coalesce(array_agg(x.txn_max ORDER BY u.i), '{}') AS txn_maxs,
               coalesce(array_agg(x.time_min ORDER BY u.i), '{}') AS time_mins, coalesce(array_agg(x.time_max ORDER BY u.i), '{}') AS time_maxs,
               coalesce(array_agg(x.untimed ORDER BY u.i), '{}') AS untimed
        FROM ROWS FROM (unnest(p_payloads), unnest(p_txns)) WITH ORDINALITY AS u(payloads, txns, i)
        CROSS JOIN LATERAL (
            SELECT min(t COLLATE "C") AS txn_min, max(t COLLATE "C") AS txn_max, min(queen.uuid7_time(t)) AS time_min,
                   max(queen.uuid7_time(t)) AS time_max, bool_or(queen.uuid7_time(t) IS NULL) AS untimed
            FROM string_to_table(u.txns, E'\n') t WHERE t <> '') x) a
    CROSS JOIN LATERAL queen.execute_transaction(1, p_n, p_partitions, a.counts, p_payloads, p_txns,
        array_fill(NULL::text, ARRAY[cardinality(p_partitions)]), a.txn_mins, a.txn_maxs, a.time_mins, a.time_maxs, a.untimed,
        ARRAY(SELECT (i + cardinality(p_ack_txns) - 1)::int FROM generate_series(1, (SELECT sum(c) FROM unnest(a.counts) c)) i),
        ARRAY(SELECT i - 1 FROM generate_subscripts(p_ack_txns, 1) i), p_ack_partitions, p_ack_groups, p_ack_leases, p_ack_txns,
        coalesce(p_ack_seqs, array_fill(NULL::bigint, ARRAY[cardinality(p_ack_txns)])),
        coalesce(p_ack_kinds, array_fill('completed'::text, ARRAY[cardinality(p_ack_txns)])),
        coalesce(p_ack_cumulatives, array_fill(false, ARRAY[cardinality(p_ack_txns)])),
        array_fill('because'::text, ARRAY[cardinality(p_ack_txns)]), p_required) r $$;

CREATE FUNCTION test.state(p_partition int, p_group int) RETURNS queen.progress LANGUAGE sql AS $$
    SELECT r FROM queen.progress r WHERE partition_id = p_partition AND group_id = p_group ORDER BY epoch DESC LIMIT 1 $$;

CREATE FUNCTION test.available(p_partition int, p_group int) RETURNS text LANGUAGE sql AS $$
    SELECT state FROM queen.availability(p_partition, p_group, clock_timestamp()) $$;

-- append_lanes with rows as JSON, e.g. [{"partition": 1, "group": 1, "new": 11, "lease": "..", "lease_ms": 60000, "lease_end": 2}]:
-- the columns of queen.progress by their names, and
--   new           the stamp of the new row
--   epoch, stamp  the predecessor; epoch missing: the lane's newest row as it is now, 0: none
--   queue, version, partition, group   queue and version missing: as they are now
--   not_before, held, log_end, lease_ms, ready_ms, frees, dead (a list of [seq, error, failures])   as the arguments
CREATE FUNCTION test.append(p_rows jsonb, p_sync boolean DEFAULT true, p_broker bigint DEFAULT 1, p_n bigint DEFAULT NULL)
RETURNS TABLE (ordinal int, state text, epoch bigint, stamp bigint, cursor bigint, settled text, failed text,
               attempt_seqs bigint[], attempt_counts int[], lease_id uuid, lease_until timestamptz, lease_end bigint,
               lease_seconds int, deliveries int, ready_at timestamptz, window_end bigint, now timestamptz) LANGUAGE sql AS $$
    WITH asked AS MATERIALIZED (
        SELECT a.o, r.*, coalesce(r.queue, p.queue_id) AS queue_id, coalesce(r.version, q.version) AS queue_version,
               coalesce(r.epoch, n.epoch, 0) AS prev_epoch, coalesce(r.stamp, n.stamp, 0) AS prev_stamp
        FROM jsonb_array_elements(p_rows) WITH ORDINALITY AS a(e, o)
        CROSS JOIN LATERAL jsonb_to_record(a.e) AS r(partition int, "group" int, queue int, version bigint, epoch bigint, stamp bigint,
            new bigint, not_before timestamptz, held boolean, log_end bigint, cursor bigint, settled text, failed text,
            attempt_seqs text, attempt_counts text, lease uuid, lease_until timestamptz, lease_ms bigint, lease_end bigint,
            lease_seconds int, deliveries int, ready_at timestamptz, ready_ms bigint, window_end bigint, frees boolean, dead jsonb)
        LEFT JOIN queen.partitions p ON p.id = r.partition
        LEFT JOIN queen.queues q ON q.id = coalesce(r.queue, p.queue_id)
        LEFT JOIN LATERAL test.state(r.partition, r."group") n ON true
    ), dead AS (
        SELECT array_agg(a.o::int ORDER BY a.o, d.p) AS places, array_agg((d.e ->> 0)::bigint ORDER BY a.o, d.p) AS seqs,
               array_agg(d.e ->> 1 ORDER BY a.o, d.p) AS errors, array_agg((d.e ->> 2)::int ORDER BY a.o, d.p) AS counts
        FROM asked a CROSS JOIN LATERAL jsonb_array_elements(a.dead) WITH ORDINALITY AS d(e, p)
    )
    SELECT l.* FROM (
        SELECT array_agg(a.partition ORDER BY a.o) AS partitions, array_agg(a."group" ORDER BY a.o) AS groups,
               array_agg(a.queue_id ORDER BY a.o) AS queues, array_agg(a.queue_version ORDER BY a.o) AS versions,
               array_agg(a.prev_epoch ORDER BY a.o) AS epochs, array_agg(a.prev_stamp ORDER BY a.o) AS stamps,
               array_agg(a.not_before ORDER BY a.o) AS not_befores, array_agg(a.held ORDER BY a.o) AS held,
               array_agg(a.log_end ORDER BY a.o) AS log_ends, array_agg(a.new ORDER BY a.o) AS news,
               array_agg(coalesce(a.cursor, 0) ORDER BY a.o) AS cursors, array_agg(a.settled ORDER BY a.o) AS settled,
               array_agg(a.failed ORDER BY a.o) AS failed, array_agg(a.attempt_seqs ORDER BY a.o) AS attempt_seqs,
               array_agg(a.attempt_counts ORDER BY a.o) AS attempt_counts, array_agg(a.lease ORDER BY a.o) AS leases,
               array_agg(a.lease_until ORDER BY a.o) AS lease_untils, array_agg(a.lease_ms ORDER BY a.o) AS lease_ms,
               array_agg(a.lease_end ORDER BY a.o) AS lease_ends, array_agg(a.lease_seconds ORDER BY a.o) AS lease_seconds,
               array_agg(coalesce(a.deliveries, 0) ORDER BY a.o) AS deliveries, array_agg(a.ready_at ORDER BY a.o) AS ready_ats,
               array_agg(a.ready_ms ORDER BY a.o) AS ready_ms, array_agg(a.window_end ORDER BY a.o) AS window_ends,
               array_agg(a.frees ORDER BY a.o) AS frees FROM asked a) x
    CROSS JOIN dead d
    CROSS JOIN LATERAL queen.append_lanes(p_broker, p_n, p_sync, x.partitions, x.groups, x.queues, x.versions, x.epochs, x.stamps,
        x.not_befores, x.held, x.log_ends, x.news, x.cursors, x.settled, x.failed, x.attempt_seqs, x.attempt_counts, x.leases,
        x.lease_untils, x.lease_ms, x.lease_ends, x.lease_seconds, x.deliveries, x.ready_ats, x.ready_ms, x.window_ends, x.frees,
        d.places, d.seqs, d.errors, d.counts) l $$;

-- Such rows for specs, which cannot say {, as 'partition=1 group=1 new=11; partition=2 ..', values without spaces.
CREATE FUNCTION test.lanes(p_rows text) RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_agg(l.lane ORDER BY r.o)
    FROM string_to_table(p_rows, ';') WITH ORDINALITY AS r(row, o)
    CROSS JOIN LATERAL (
        SELECT jsonb_object_agg(split_part(f, '=', 1), CASE WHEN f LIKE 'dead=%' THEN split_part(f, '=', 2)::jsonb
                                                            ELSE to_jsonb(split_part(f, '=', 2)) END) AS lane
        FROM regexp_split_to_table(trim(r.row), '\s+') f) l $$;

-- A whole pass of the stats job in steps of p_probes; how many steps.
CREATE FUNCTION test.measure(p_probes int DEFAULT 3000) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_holder uuid := gen_random_uuid(); v_steps int := 0; v_queue int := 0; v_after int := 0; v_carry jsonb; v record;
BEGIN
    SELECT * INTO STRICT v FROM queen.begin_stats(v_holder, 0, true, NULL);
    ASSERT v.state = 'yours', v.state;
    LOOP
        SELECT * INTO STRICT v FROM queen.measure_stats(v_holder, v_queue, v_after, v_carry, p_probes);
        v_steps := v_steps + 1;
        ASSERT v_steps < 10000, 'the steps do not end';
        EXIT WHEN v.state = 'done';
        ASSERT v.state = 'going', v.state;
        v_queue := v.next_queue;
        v_after := v.next_after;
        v_carry := v.carry;
    END LOOP;
    RETURN v_steps;
END $$;

-- Lets time pass for one partition: everything on it becomes older.
CREATE FUNCTION test.age(p_partition int, p_by interval) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE queen.segments SET created_at = created_at - p_by WHERE partition_id = p_partition;
    UPDATE queen.progress SET lease_until = lease_until - p_by, ready_at = ready_at - p_by WHERE partition_id = p_partition;
END $$;

-- Runs a command that must fail with this SQLSTATE; the DETAIL of its error.
CREATE FUNCTION test.fails(p_command text, p_sqlstate text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE v_state text; v_message text; v_detail text;
BEGIN
    BEGIN
        EXECUTE p_command;
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS v_state = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT, v_detail = PG_EXCEPTION_DETAIL;
        ASSERT v_state = p_sqlstate, format('%s instead of %s: %s', v_state, p_sqlstate, v_message);
        RETURN v_detail;
    END;
    RAISE EXCEPTION 'expected % but nothing failed', p_sqlstate;
END $$;

-- Random tests say where they began: \set seed, then test.seed().
CREATE FUNCTION test.seed() RETURNS void LANGUAGE plpgsql AS $$
DECLARE v double precision := coalesce(nullif(current_setting('test.seed', true), '')::float8, round(random()::numeric, 6)::float8);
BEGIN
    RAISE WARNING 'seed % (repeat: PGOPTIONS="-c test.seed=%")', v, v;
    PERFORM setseed(v);
END $$;

-- For the isolation specs, whose permutations share a database: everything as it was when made.
CREATE FUNCTION test.reset() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE (SELECT 'TRUNCATE ' || string_agg(format('queen.%I', relname), ', ') || ' RESTART IDENTITY'
             FROM pg_class WHERE relnamespace = 'queen'::regnamespace AND relkind = 'r');
END $$;
