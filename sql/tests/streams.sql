-- streams: register, state, cycle (api 1, Streams).
CREATE FUNCTION test.cycle(p_query uuid, p_partition int, p_group int, p_lease uuid, p_seq bigint DEFAULT NULL, p_kind text DEFAULT 'completed',
    p_release boolean DEFAULT true, p_keys text[] DEFAULT '{}', p_values text[] DEFAULT '{}', p_ends numeric[] DEFAULT NULL,
    p_to int DEFAULT NULL, p_payload text DEFAULT NULL, p_txn text DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(concat_ws(' ', c.part, c.ordinal, c.base_seq, c.settled, CASE WHEN c.released THEN 'released' END, CASE WHEN c.dead THEN 'dead' END), ', ')
    FROM queen.stream_cycle(1, NULL, p_query, p_partition, p_group, p_lease, p_seq, p_kind, 'e', p_release, p_keys, p_values,
        coalesce(p_ends, array_fill(NULL::numeric, ARRAY[cardinality(p_keys)])),
        CASE WHEN p_to IS NULL THEN '{}' ELSE ARRAY[p_to] END, CASE WHEN p_to IS NULL THEN '{}' ELSE ARRAY[1] END,
        CASE WHEN p_to IS NULL THEN '{}' ELSE ARRAY[p_payload] END, CASE WHEN p_to IS NULL THEN '{}' ELSE ARRAY[p_txn] END,
        CASE WHEN p_to IS NULL THEN '{}' ELSE ARRAY[NULL::text] END, CASE WHEN p_to IS NULL THEN '{}' ELSE ARRAY[p_txn] END,
        CASE WHEN p_to IS NULL THEN '{}' ELSE ARRAY[p_txn] END, CASE WHEN p_to IS NULL THEN '{}' ELSE ARRAY[NULL::timestamptz] END,
        CASE WHEN p_to IS NULL THEN '{}' ELSE ARRAY[NULL::timestamptz] END, CASE WHEN p_to IS NULL THEN '{}' ELSE ARRAY[p_txn IS NOT NULL] END) c $$;

DO $$
DECLARE v record; w record; v_in int := test.partition('s.in'); v_out int := test.partition('s.out'); v_g int := test.groupid('s.in'); v_lease uuid := gen_random_uuid(); v_text text;
BEGIN
    SELECT * INTO v FROM queen.register_stream_query('q', 's.in', 's.out', 'h1', false);
    ASSERT v.fresh AND NOT v.reset;
    SELECT * INTO w FROM queen.register_stream_query('q', 's.in', 's.out', 'h1', true);
    ASSERT w.query_id = v.query_id AND NOT w.fresh AND NOT w.reset, 'the same hash: nothing to reset';
    PERFORM test.fails('SELECT queen.register_stream_query(''q'', ''s.in'', NULL, ''h2'', false)', 'QN409');

    PERFORM test.push(v_in, 6);
    PERFORM test.pop(v_in, v_g, v_lease, 4);
    -- state, push and a cumulative ack together; the lease ends although one message is left
    v_text := test.cycle(v.query_id, v_in, v_g, v_lease, 2, p_keys => '{k1,k2,k2,x}', p_values => ARRAY['{"windowEnd":5}', '1', '{"windowEnd":9}', NULL],
                         p_ends => '{5,NULL,9,NULL}', p_to => v_out, p_payload => '"out"', p_txn => 'o1');
    ASSERT v_text = 'ack 3 released, push 1 0', v_text;
    ASSERT (test.state(v_in, v_g)).cursor = 3 AND (test.state(v_in, v_g)).lease_id IS NULL;
    SELECT string_agg(key || '=' || value, ' ') INTO v_text FROM queen.get_stream_state(v.query_id, v_in, NULL, NULL, NULL);
    ASSERT v_text = 'k1={"windowEnd":5} k2={"windowEnd":9}', v_text;
    ASSERT (SELECT array_agg(key) FROM queen.get_stream_state(v.query_id, v_in, '{k2,zz}', 'k', 9)) = '{k2}'
       AND (SELECT array_agg(key) FROM queen.get_stream_state(v.query_id, v_in, '{}', NULL, 5)) = '{k1}'
       AND (SELECT count(*) FROM queen.get_stream_state(v.query_id, v_in, NULL, 'x', NULL)) = 0
       AND (SELECT count(*) FROM queen.get_stream_state(v.query_id, v_out, NULL, NULL, NULL)) = 0;

    -- within so many bytes: all of it or only its size
    SELECT string_agg(concat_ws('=', bytes, key, value), ' ') INTO v_text
    FROM queen.get_stream_state_within(v.query_id, v_in, NULL, NULL, NULL, 214);
    ASSERT v_text = '214=k1={"windowEnd":5} 214=k2={"windowEnd":9}', v_text;
    ASSERT (SELECT array_agg(concat_ws('=', bytes, key, value)) FROM queen.get_stream_state_within(v.query_id, v_in, NULL, NULL, NULL, 213)) = '{214}'
       AND (SELECT array_agg(concat_ws('=', bytes, key, value)) FROM queen.get_stream_state_within(v.query_id, v_out, NULL, NULL, NULL, 213)) = '{0}';

    -- any failure leaves everything as it was
    PERFORM test.fails(format('SELECT test.cycle(%L, %s, %s, %L, 3, p_keys => ''{k1}'', p_values => ARRAY[NULL]::text[])', v.query_id, v_in, v_g, v_lease), 'QN102');
    PERFORM test.pop(v_in, v_g, v_lease, 4);
    PERFORM test.fails(format('SELECT test.cycle(%L, %s, %s, %L, 3, p_keys => ''{k1}'', p_values => ARRAY[NULL]::text[], p_to => %s, p_payload => ''1'', p_txn => ''o1'')', v.query_id, v_in, v_g, v_lease, v_out), 'QN104');
    PERFORM test.fails(format('SELECT test.cycle(%L, %s, %s, %L, 1)', v.query_id, v_in, v_g, v_lease), 'QN103');
    PERFORM test.fails(format('SELECT test.cycle(%L, %s, %s, %L, 99)', v.query_id, v_in, v_g, v_lease), 'QN102');
    PERFORM test.fails(format('SELECT test.cycle(%L, %s, %s, %L, 3)', gen_random_uuid(), v_in, v_g, v_lease), 'QN105');
    ASSERT (SELECT count(*) FROM queen.get_stream_state(v.query_id, v_in, NULL, NULL, NULL)) = 2;

    -- a gate: part is acked, the denied tail stays leased and does not count as a delivery
    UPDATE queen.queues SET max_deliveries = 1 WHERE name = 's.in';
    v_text := test.cycle(v.query_id, v_in, v_g, v_lease, 3, p_release => false);
    ASSERT v_text = 'ack 1', v_text;
    ASSERT (test.state(v_in, v_g)).lease_id = v_lease AND (test.state(v_in, v_g)).deliveries = 0;
    PERFORM test.age(v_in, interval '301 s');
    ASSERT (test.pop(v_in, v_g, v_lease)).seqs = '{4,5}';
    -- so does one that denies everything
    ASSERT test.cycle(v.query_id, v_in, v_g, NULL, p_release => false) IS NULL;
    ASSERT (test.state(v_in, v_g)).lease_id = v_lease AND (test.state(v_in, v_g)).deliveries = 0;
    PERFORM test.age(v_in, interval '301 s');
    ASSERT (test.pop(v_in, v_g, v_lease)).seqs = '{4,5}';
    -- failed and dead, cumulatively
    UPDATE queen.queues SET retry_limit = 0 WHERE name = 's.in';
    v_text := test.cycle(v.query_id, v_in, v_g, v_lease, 5, 'failed');
    ASSERT v_text = 'ack 2 released dead' AND (SELECT count(*) FROM queen.dead_letters WHERE partition_id = v_in) = 2, v_text;
    -- state alone
    ASSERT test.cycle(v.query_id, v_in, v_g, NULL, p_release => false, p_keys => '{k1,k2}', p_values => ARRAY[NULL, '2']) IS NULL;
    ASSERT (SELECT string_agg(key || '=' || value, ' ') FROM queen.get_stream_state(v.query_id, v_in, NULL, NULL, NULL)) = 'k2=2';

    -- a cycle without an ack names no lease and ends none, whoever's is current
    PERFORM test.push(v_in, 2);
    PERFORM test.pop(v_in, v_g, v_lease, 2);
    ASSERT test.cycle(v.query_id, v_in, v_g, NULL, p_keys => '{k1}', p_values => ARRAY[NULL]::text[]) IS NULL;
    ASSERT (test.state(v_in, v_g)).lease_id = v_lease AND (test.state(v_in, v_g)).deliveries = 1;
    ASSERT test.cycle(v.query_id, v_in, v_g, v_lease, 7) = 'ack 2 released';
    ASSERT test.cycle(v.query_id, v_in, v_g, NULL) IS NULL;
    ASSERT test.cycle(v.query_id, v_in, -1, NULL) IS NULL;
    -- and is in the ledger all the same, so that what became of it can be asked
    PERFORM queen.stream_cycle(9, 90, v.query_id, v_in, v_g, NULL, NULL, 'completed', NULL, true, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}');
    ASSERT (SELECT committed FROM queen.resolve_batch(9, 90));

    -- reset: a new id, no state; the old worker is fenced off, the old state swept
    SELECT * INTO w FROM queen.register_stream_query('q', 's.in', 's.out', 'h2', true);
    ASSERT w.reset AND NOT w.fresh AND w.query_id <> v.query_id;
    PERFORM test.fails(format('SELECT test.cycle(%L, %s, %s, NULL, p_release => false)', v.query_id, v_in, v_g), 'QN105');
    ASSERT queen.sweep_stream_state(100) = 1;
    ASSERT NOT EXISTS (SELECT FROM queen.stream_state);
    -- a cycle that was under way has left a row behind the sweep; later the old id is forgotten
    INSERT INTO queen.stream_state (query_id, partition_id, key, value) VALUES (v.query_id, v_in, 'late', '1'), (w.query_id, v_in, 'k', '1');
    ASSERT queen.sweep_stream_state(100) = 1;
    ASSERT (SELECT string_agg(key, ' ') FROM queen.stream_state) = 'k';
    ASSERT queen.sweep_stream_state(100) = 0;
    ASSERT (SELECT count(*) FROM queen.retired_queries) = 1;
    UPDATE queen.retired_queries SET retired_at = retired_at - interval '11 minutes';
    ASSERT queen.sweep_stream_state(100) = 0;
    ASSERT NOT EXISTS (SELECT FROM queen.retired_queries);
END $$;

-- Keys of SDKs: parts with U+001F between them, long ones of random text, and characters that mean something to LIKE.
-- Found by prefix byte for byte.
DO $$
DECLARE
    v_in   int := test.partition('s.keys');
    v_id   uuid := (queen.register_stream_query('keys', 's.keys', NULL, 'h', false)).query_id;
    v_us   text := chr(31);
    v_long text := 'x' || (SELECT string_agg(chr(33 + (random() * 90)::int), '') FROM generate_series(1, 2047));
    v_keys text[];
BEGIN
    v_keys := ARRAY['w_1' || v_us || '10' || v_us || 'a', 'w_1' || v_us || '20' || v_us || E'b\n%', 'wx1' || v_us || '10', '%', '\', v_long];
    PERFORM test.cycle(v_id, v_in, -1, NULL, p_keys => v_keys, p_values => array_fill('1'::text, '{6}'));
    ASSERT (SELECT count(*) FROM queen.get_stream_state(v_id, v_in, v_keys, NULL, NULL)) = 6;
    ASSERT (SELECT array_agg(key) FROM queen.get_stream_state(v_id, v_in, NULL, 'w_1' || v_us, NULL)) = v_keys[1:2];
    ASSERT (SELECT array_agg(key) FROM queen.get_stream_state(v_id, v_in, NULL, '%', NULL)) = '{%}'
       AND (SELECT array_agg(key) FROM queen.get_stream_state(v_id, v_in, NULL, '\', NULL)) = ARRAY['\']
       AND (SELECT array_agg(key) FROM queen.get_stream_state(v_id, v_in, NULL, v_long, NULL)) = ARRAY[v_long];
    PERFORM test.cycle(v_id, v_in, -1, NULL, p_keys => v_keys, p_values => array_fill(NULL::text, '{6}'));
    ASSERT NOT EXISTS (SELECT FROM queen.get_stream_state(v_id, v_in, NULL, NULL, NULL));
END $$;

-- Without a lease of the caller's an ack far ahead is refused at once, not after a walk over every offset before it.
SET statement_timeout = '10s';
DO $$
DECLARE
    v_in    int := test.partition('s.far');
    v_g     int := test.groupid('s.far');
    v_id    uuid := (queen.register_stream_query('far', 's.far', NULL, 'h', false)).query_id;
    v_lease uuid := gen_random_uuid();
    v_kind  text;
BEGIN
    PERFORM test.push(v_in, 3);
    FOREACH v_kind IN ARRAY ARRAY['completed', 'failed', 'dlq', 'retry'] LOOP
        PERFORM test.fails(format('SELECT test.cycle(%L, %s, %s, NULL, 4000000000000000000, %L)', v_id, v_in, v_g, v_kind), 'QN102');
    END LOOP;
    PERFORM test.pop(v_in, v_g, v_lease, 1);
    PERFORM test.ack(v_in, v_g, v_lease, '{0}');
    FOREACH v_kind IN ARRAY ARRAY['completed', 'failed', 'dlq', 'retry'] LOOP   -- its lease has ended
        PERFORM test.fails(format('SELECT test.cycle(%L, %s, %s, NULL, 4000000000000000000, %L)', v_id, v_in, v_g, v_kind), 'QN102');
    END LOOP;
    PERFORM test.pop(v_in, v_g, v_lease, 2);
    FOREACH v_kind IN ARRAY ARRAY['completed', 'failed', 'dlq', 'retry'] LOOP   -- somebody else's, and its own
        PERFORM test.fails(format('SELECT test.cycle(%L, %s, %s, %L, 4000000000000000000, %L)', v_id, v_in, v_g, gen_random_uuid(), v_kind), 'QN102');
        PERFORM test.fails(format('SELECT test.cycle(%L, %s, %s, %L, 4000000000000000000, %L)', v_id, v_in, v_g, v_lease, v_kind), 'QN102');
    END LOOP;
    ASSERT (test.state(v_in, v_g)).lease_id = v_lease;
    ASSERT test.cycle(v_id, v_in, v_g, v_lease, 2) = 'ack 2 released';
END $$;

-- As many state operations as a cycle may have are applied in one pass.
DO $$
DECLARE
    v_in   int := test.partition('s.many');
    v_id   uuid := (queen.register_stream_query('many', 's.many', NULL, 'h', false)).query_id;
    v_keys text[] := ARRAY(SELECT 'k' || i FROM generate_series(1, 20000) i);
BEGIN
    PERFORM test.cycle(v_id, v_in, -1, NULL, p_keys => v_keys, p_values => array_fill('1'::text, '{20000}'));
    PERFORM test.cycle(v_id, v_in, -1, NULL, p_keys => v_keys || v_keys[1], p_values => array_fill(NULL::text, '{20000}') || '2'::text);
    ASSERT (SELECT string_agg(key || '=' || value, ' ') FROM queen.get_stream_state(v_id, v_in, NULL, NULL, NULL)) = 'k1=2';
END $$;
RESET statement_timeout;
