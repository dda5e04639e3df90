-- ensure_partitions: creates what is missing and burns no id for what exists (design 3).
DO $$
DECLARE
    v_rows text; v_partition_ids bigint; v_queue_ids bigint;
BEGIN
    PERFORM queen.ensure_partitions(ARRAY['orders.eu.x', 'plain', 'orders.eu.x', 'plain'], ARRAY['p1', 'Default', 'p2', 'Default']);
    SELECT string_agg(format('%s %s %s', e.ordinal, q.name, p.name), ', ' ORDER BY e.ordinal) INTO v_rows
    FROM queen.ensure_partitions(ARRAY['orders.eu.x', 'plain', 'orders.eu.x', 'plain'], ARRAY['p1', 'Default', 'p2', 'Default']) e
    JOIN queen.queues q ON q.id = e.queue_id JOIN queen.partitions p ON p.id = e.partition_id AND p.queue_id = q.id;
    ASSERT v_rows = '1 orders.eu.x p1, 2 plain Default, 3 orders.eu.x p2, 4 plain Default', v_rows;
    ASSERT (SELECT (namespace, task) = ('orders', 'eu') FROM queen.queues WHERE name = 'orders.eu.x');
    ASSERT (SELECT (namespace, task) = ('plain', '') FROM queen.queues WHERE name = 'plain');
    SELECT last_value INTO v_partition_ids FROM queen.partitions_id_seq;
    SELECT last_value INTO v_queue_ids FROM queen.queues_id_seq;
    ASSERT v_partition_ids = 3 AND v_queue_ids = 2, 'one id for each that was made';
    FOR i IN 1..10 LOOP
        PERFORM queen.ensure_partitions(ARRAY['orders.eu.x', 'plain', 'orders.eu.x'], ARRAY['p1', 'Default', 'p2']);
    END LOOP;
    ASSERT (SELECT last_value FROM queen.partitions_id_seq) = v_partition_ids AND (SELECT last_value FROM queen.queues_id_seq) = v_queue_ids,
        'ids were burnt for what exists';
    PERFORM queen.ensure_partitions(ARRAY['plain', 'plain'], ARRAY['Default', 'new']);
    ASSERT (SELECT last_value FROM queen.partitions_id_seq) = v_partition_ids + 1;
    -- names are bytes: case and spaces differ, and so do composed and decomposed letters
    ASSERT (SELECT count(DISTINCT partition_id) FROM queen.ensure_partitions(array_fill('plain'::text, '{5}'),
        ARRAY['A', 'a', 'a ', U&'\00e9', U&'e\0301'])) = 5;
    -- ids are new on every creation
    DELETE FROM queen.queues WHERE name = 'plain';
    ASSERT (SELECT queue_id FROM queen.ensure_partitions(ARRAY['plain'], ARRAY['Default'])) > v_queue_ids;
    ASSERT (SELECT count(*) FROM queen.ensure_partitions('{}', '{}')) = 0;
END $$;
