-- GET /api/v1/messages: newest first, each filter, what each group has made of a message.
DO $$
DECLARE
    v_a int := test.partition('m.one', 'a'); v_b int := test.partition('m.one', 'b'); v_c int := test.partition('m.two');
    v_g int; v_q int; v_lease uuid := gen_random_uuid(); v json; v_mid timestamptz;
BEGIN
    PERFORM test.push_segments(ARRAY[v_a], ARRAY[test.lines(3)], ARRAY[E'a0\n\na2'], ARRAY[E'{"traceId":"00000000-0000-4000-8000-000000000001","producerSub":"s"}\n\n']);
    PERFORM test.push(v_b, 2, E'b0\nb1');
    v_mid := clock_timestamp();
    PERFORM test.push(v_c, 2); PERFORM test.push(v_a, 1, 'a3');
    v := queen.report_messages(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 200, 0);
    ASSERT (SELECT string_agg(x->>'partition' || coalesce(substr(x->>'transactionId', 1, 2), ''), ' ' ORDER BY o)
            FROM json_array_elements(v->'messages') WITH ORDINALITY u(x, o)) ~ '^aa3 Default.. Default.. bb1 bb0 aa2 a.. aa0$', v::text;
    ASSERT v->'mode'->>'type' = 'none' AND (SELECT bool_and(x->>'status' = 'pending') FROM json_array_elements(v->'messages') x);
    ASSERT (SELECT x->>'queuePath' = 'm.one/a' AND x->>'traceId' LIKE '%1' AND x->>'producerSub' = 's' AND x->>'namespace' = 'm' AND x->>'task' = 'one'
            FROM json_array_elements(v->'messages') x WHERE x->>'transactionId' = 'a0');
    -- pages and filters
    ASSERT (SELECT string_agg(x->>'transactionId', ' ' ORDER BY o) = 'b1 b0' FROM json_array_elements(queen.report_messages('m.one', 'b', NULL, NULL, NULL, NULL, NULL, 200, 0)::json->'messages') WITH ORDINALITY u(x, o));
    ASSERT (SELECT string_agg(x->>'transactionId', ' ' ORDER BY o) = 'b0 a2' FROM json_array_elements(queen.report_messages('m.one', NULL, NULL, NULL, NULL, NULL, NULL, 2, 2)::json->'messages') WITH ORDINALITY u(x, o));
    ASSERT json_array_length(queen.report_messages(NULL, NULL, 'm', 'two', NULL, NULL, NULL, 200, 0)::json->'messages') = 2;
    ASSERT json_array_length(queen.report_messages(NULL, NULL, NULL, NULL, NULL, v_mid, NULL, 200, 0)::json->'messages') = 3;
    ASSERT json_array_length(queen.report_messages(NULL, NULL, NULL, NULL, NULL, NULL, v_mid, 3, 0)::json->'messages') = 3;
    ASSERT json_array_length(queen.report_messages(NULL, NULL, NULL, NULL, NULL, NULL, v_mid, 200, 4)::json->'messages') = 1;
    ASSERT json_array_length(queen.report_messages('no such', NULL, NULL, NULL, NULL, NULL, NULL, 200, 0)::json->'messages') = 0;

    -- what became of them: completed, dead, processing, pending in one lane
    v_g := test.groupid('m.one', 'g'); v_q := test.groupid('m.one', '__QUEUE_MODE__');
    PERFORM test.pop(v_a, v_g, v_lease, p_batch => 3);
    PERFORM test.ack(v_a, v_g, v_lease, p_done => '{0}', p_items => '{1}', p_kinds => '{dlq}');
    PERFORM test.pop(v_a, v_q, p_batch => 1, p_auto_ack => true);
    v := queen.report_messages('m.one', 'a', NULL, NULL, NULL, NULL, NULL, 200, 0);
    ASSERT v->'mode'->>'type' = 'hybrid' AND v->'mode'->>'busGroupsCount' = '1';
    ASSERT (SELECT array_agg(x->>'status' ORDER BY o) = '{pending,processing,dead_letter,completed}' AND array_agg(x->>'queueStatus' ORDER BY o) = '{pending,pending,pending,completed}'
            AND array_agg(x->'busStatus'->>'consumedBy' ORDER BY o) = '{0,0,0,1}' AND array_agg(x->>'leaseExpiresAt' IS NULL ORDER BY o) = '{t,f,t,t}'
            FROM json_array_elements(v->'messages') WITH ORDINALITY u(x, o)), v::text;
    ASSERT (SELECT bool_and(json_array_length(m) = 1 AND m->0->>'status' = s) FROM unnest('{processing,dead_letter,completed}'::text[]) s,
            LATERAL (SELECT queen.report_messages('m.one', NULL, NULL, NULL, s, NULL, NULL, 200, 0)::json->'messages' AS m) r);
    ASSERT json_array_length(queen.report_messages('m.one', 'a', NULL, NULL, 'pending', NULL, NULL, 200, 0)::json->'messages') = 1;

    -- one message; deleted ones are nowhere
    ASSERT (SELECT document::json->>'status' = 'dead_letter' AND payload = '{"n":1}' AND document::json->>'errorMessage' = 'error of 1'
                   AND document::json->'consumerGroups'->1->>'consumed' = 'true'
            FROM queen.find_message(v_a, (SELECT transaction_id FROM queen.list_dead_letters('m.one', NULL, NULL, NULL, NULL, 1, 0))));
    ASSERT NOT EXISTS (SELECT FROM queen.find_message(v_a, 'nothing')) AND NOT EXISTS (SELECT FROM queen.find_message(98765, 'a0'));
    PERFORM queen.delete_message(v_a, 'a3');
    ASSERT NOT EXISTS (SELECT FROM queen.find_message(v_a, 'a3'));
    ASSERT (SELECT string_agg(x->>'transactionId', ' ' ORDER BY o) = 'b1 b0 a2' FROM json_array_elements(queen.report_messages('m.one', NULL, NULL, NULL, NULL, NULL, NULL, 3, 0)::json->'messages') WITH ORDINALITY u(x, o));
    -- a dead letter whose message retention has taken
    DELETE FROM queen.segments WHERE partition_id = v_a;
    ASSERT (SELECT payload = '{"n":1}' AND document::json->>'status' = 'dead_letter'
            FROM queen.find_message(v_a, (SELECT transaction_id FROM queen.list_dead_letters('m.one', NULL, NULL, NULL, NULL, 1, 0))));
END $$;

-- The newest of a partition are deleted, one segment each: the one before them is still newer than what others have.
DO $$
DECLARE v_old int := test.partition('m.deleted', 'old'); v_id int := test.partition('m.deleted', 'new');
BEGIN
    PERFORM test.push(v_old, 1), test.push(v_id, 1), test.push(v_id, 1), test.push(v_id, 1);
    INSERT INTO queen.hidden_messages VALUES (v_id, 1, 3);
    UPDATE queen.partitions SET hides = true WHERE id = v_id;
    ASSERT ARRAY(SELECT ROW(n.partition_id, n.seq)::text FROM queen.newest_messages(ARRAY[v_old, v_id], NULL, NULL, NULL, 1) n)
         = ARRAY[ROW(v_id, 0::bigint)::text];
END $$;

-- Against a plain sort of everything, at random: uneven lanes, pages, times, deleted ones.
DO $$
DECLARE v_ids int[]; v_count int; v_from timestamptz; v_to timestamptz; v_times timestamptz[];
BEGIN
    PERFORM test.seed();
    v_ids := ARRAY(SELECT test.partition('rnd', 'p' || i) FROM generate_series(1, 12) i);
    FOR i IN 1..150 LOOP
        PERFORM test.push(v_ids[1 + floor(12 * random() ^ 3)::int], 1 + floor(random() * 3)::int);
    END LOOP;
    INSERT INTO queen.hidden_messages SELECT v_ids[1], 4 * i, 4 * i + 1 + floor(random() * 3)::int FROM generate_series(0, 10) i;
    UPDATE queen.partitions SET hides = true WHERE id = v_ids[1];
    v_times := ARRAY(SELECT created_at FROM queen.segments WHERE partition_id = ANY (v_ids));
    FOR i IN 1..60 LOOP
        v_count := 1 + floor(random() ^ 2 * 60)::int;
        v_from := CASE WHEN random() < 0.3 THEN v_times[1 + floor(random() * cardinality(v_times))::int] END;
        v_to := CASE WHEN random() < 0.3 THEN v_times[1 + floor(random() * cardinality(v_times))::int] END;
        ASSERT ARRAY(SELECT ROW(n.partition_id, n.seq)::text FROM queen.newest_messages(v_ids, NULL, v_from, v_to, v_count) n ORDER BY n.created_at DESC, n.partition_id)
             = ARRAY(SELECT ROW(x.id, x.seq)::text FROM (
                         SELECT s.partition_id AS id, s.base_seq + k AS seq, s.created_at + k * interval '1 microsecond' AS at
                         FROM queen.segments s, generate_series(0, s.count - 1) k WHERE s.partition_id = ANY (v_ids)) x
                     WHERE (v_from IS NULL OR x.at >= v_from) AND (v_to IS NULL OR x.at <= v_to) AND queen.hidden_bits(x.id, NULL, x.seq, x.seq + 1) IS NULL
                     ORDER BY x.at DESC, x.id LIMIT v_count), format('%s from %s to %s', v_count, v_from, v_to);
    END LOOP;
END $$;
