-- Finds the partitions with the given names and creates what is missing, queues included. Selects
-- first: an ON CONFLICT insert would burn an id for every partition that exists.
CREATE OR REPLACE FUNCTION queen.ensure_partitions(p_queues text[], p_partitions text[])
RETURNS TABLE (ordinal int, queue_id int, partition_id int) LANGUAGE plpgsql AS $$
DECLARE
    v_born int[];
BEGIN
    IF EXISTS (SELECT FROM unnest(p_queues) AS u(name)
               WHERE NOT EXISTS (SELECT FROM queen.queues q WHERE q.name = u.name)) THEN
        WITH born AS (
            INSERT INTO queen.queues (name, namespace, task)
            SELECT DISTINCT u.name, split_part(u.name, '.', 1), split_part(u.name, '.', 2)
            FROM unnest(p_queues) AS u(name)
            WHERE NOT EXISTS (SELECT FROM queen.queues q WHERE q.name = u.name)
            ORDER BY 1
            ON CONFLICT DO NOTHING RETURNING id)
        SELECT array_agg(b.id) INTO v_born FROM born b;
        PERFORM queen.join_families(v_born, true);
    END IF;

    -- LIMIT: one probe per name, also where the planner still believes the table to be small
    INSERT INTO queen.partitions (queue_id, name)
    SELECT DISTINCT q.id, u.partition
    FROM unnest(p_queues, p_partitions) AS u(queue, partition)
    JOIN queen.queues q ON q.name = u.queue
    LEFT JOIN LATERAL (SELECT p.id FROM queen.partitions p
                       WHERE p.queue_id = q.id AND p.name = u.partition LIMIT 1) p ON true
    WHERE p.id IS NULL
    ORDER BY 1, 2
    ON CONFLICT DO NOTHING;

    RETURN QUERY
    SELECT u.ordinal::int, q.id, p.id
    FROM unnest(p_queues, p_partitions) WITH ORDINALITY AS u(queue, partition, ordinal)
    JOIN queen.queues q ON q.name = u.queue
    CROSS JOIN LATERAL (SELECT p.id FROM queen.partitions p
                        WHERE p.queue_id = q.id AND p.name = u.partition LIMIT 1) p;
END $$;
