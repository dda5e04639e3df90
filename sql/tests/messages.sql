-- queen.messages: one row per message, for people.
DO $$
DECLARE
    v_id int := test.partition('view', 'p'); v_rows text;
BEGIN
    PERFORM test.push_segments(ARRAY[v_id, v_id], ARRAY[E'1\n"\\u0000"\n{"a":1}', '[]'], ARRAY[E'x\n\nz', NULL],
                               ARRAY[E'\n{"traceId":"t"}\n', NULL]);
    SELECT string_agg(format('%s %s %s %s %s', queue, partition, seq, payload, meta), ', ' ORDER BY seq) INTO v_rows
    FROM queen.messages WHERE queue = 'view';
    ASSERT v_rows = 'view p 0 1 , view p 1 "\u0000" {"traceId":"t"}, view p 2 {"a":1} , view p 3 [] ', v_rows;
    ASSERT (SELECT array_agg(transaction_id ORDER BY seq) = ARRAY['x', (array_agg(id::text ORDER BY seq))[2], 'z', (array_agg(id::text ORDER BY seq))[4]]
            FROM queen.messages WHERE queue = 'view');
    ASSERT (SELECT count(DISTINCT created_at) = 4 AND array_agg(id ORDER BY seq) = array_agg(id ORDER BY id)
            FROM queen.messages WHERE queue = 'view');
    UPDATE queen.segments SET payloads = NULL, txns = NULL, meta = NULL WHERE partition_id = v_id AND base_seq = 3;
    ASSERT (SELECT count(*) FROM queen.messages WHERE queue = 'view') = 3, 'a blanked segment has no messages';
END $$;
