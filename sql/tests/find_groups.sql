-- find_groups: names and ids for acks.
DO $$
DECLARE v_id int := test.partition('fg', 'p'); v_g int := test.groupid('fg', 'a'); v_rows text;
BEGIN
    SELECT string_agg(format('%s %s %s %s', ordinal, queue_name, partition_name, group_id = v_g), ', ' ORDER BY ordinal) INTO v_rows
    FROM queen.find_groups(ARRAY[v_id, -1, v_id], ARRAY['a', 'a', 'unknown']);
    ASSERT v_rows = '1 fg p t, 3 fg p ', v_rows;
END $$;
