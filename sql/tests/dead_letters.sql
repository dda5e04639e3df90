-- list_dead_letters and count_dead_letters: every filter works (api 3).
DO $$
DECLARE
    v_a int := test.partition('dead.a', 'p1'); v_b int := test.partition('dead.b', 'p2'); v_g int; v record; v_lease uuid := gen_random_uuid(); v_mid timestamptz;
BEGIN
    PERFORM test.push_segments(ARRAY[v_a, v_b], ARRAY[E'{"x":1}\n2', '3'], ARRAY[E't1\n', NULL], ARRAY[E'\n{"producerSub":"s"}', NULL]);
    v_g := test.groupid('dead.a', 'g');
    PERFORM test.pop(v_a, v_g, v_lease); PERFORM test.ack(v_a, v_g, v_lease, p_items => '{0,1}', p_kinds => '{dlq,dlq}');
    v_mid := clock_timestamp();
    v_g := test.groupid('dead.b', 'h');
    PERFORM test.pop(v_b, v_g, v_lease); PERFORM test.ack(v_b, v_g, v_lease, p_items => '{0}', p_kinds => '{dlq}');
    ASSERT (SELECT payload FROM queen.list_dead_letters(NULL, NULL, NULL, NULL, NULL, 1, 0)) = '3', 'newest first';
    ASSERT queen.count_dead_letters(NULL, NULL, NULL, NULL, NULL) = 3;
    ASSERT queen.count_dead_letters('dead.a', NULL, NULL, NULL, NULL) = 2 AND queen.count_dead_letters(NULL, 'h', NULL, NULL, NULL) = 1
       AND queen.count_dead_letters(NULL, NULL, 'p1', NULL, NULL) = 2 AND queen.count_dead_letters('dead.a', 'h', NULL, NULL, NULL) = 0
       AND queen.count_dead_letters(NULL, NULL, NULL, v_mid, NULL) = 1 AND queen.count_dead_letters(NULL, NULL, NULL, NULL, v_mid) = 2;
    SELECT * INTO STRICT v FROM queen.list_dead_letters('dead.a', 'g', 'p1', NULL, v_mid, 1, 0);
    ASSERT v.seq = 1 AND v.transaction_id = v.id::text AND v.meta = '{"producerSub":"s"}' AND v.error = 'error of 1' AND v.partition_id = v_a;
    -- a copy: it outlives its message
    DELETE FROM queen.segments;
    ASSERT (SELECT transaction_id = 't1' AND payload = '{"x":1}' FROM queen.list_dead_letters('dead.a', NULL, NULL, NULL, NULL, 1, 1));
END $$;
