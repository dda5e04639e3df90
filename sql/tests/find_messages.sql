-- find_messages: offsets by transactionId, for acks of messages this broker does not remember.
DO $$
DECLARE
    v_a int := test.partition('find', 'a'); v_b int := test.partition('find', 'b'); v_t text := test.uuid7(clock_timestamp());
    v_old text := test.uuid7('2020-01-01Z'); v_own text; v_rows text;
BEGIN
    PERFORM test.push(v_a, 3, E'x\n\n' || v_t); PERFORM test.push(v_b, 2, v_old || E'\nx');
    SELECT id::text INTO v_own FROM queen.messages WHERE queue = 'find' AND partition = 'a' AND seq = 1;
    SELECT string_agg(format('%s:%s', f.ordinal, f.seq), ' ' ORDER BY f.ordinal) INTO v_rows
    FROM queen.find_messages(ARRAY[v_b, v_a, v_a, v_a, v_a, v_b, v_b, v_a, -1, v_a, v_a, v_a],
        ARRAY['x', v_t, 'x', v_own, v_old, v_old, v_own, 'X', 'x', '', E'x\ny', v_t]) f;
    ASSERT v_rows = '1:1 2:2 3:0 4:1 6:0 12:2', v_rows;
    ASSERT (SELECT f.created_at = m.created_at FROM queen.find_messages(ARRAY[v_a], ARRAY[v_t]) f
            JOIN queen.messages m ON m.queue = 'find' AND m.partition = 'a' AND m.seq = f.seq);
    ASSERT (SELECT count(*) FROM queen.find_messages('{}', '{}')) = 0;
END $$;
