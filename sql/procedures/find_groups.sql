-- Names and ids for acks: the queue and partition of a partition id, and the group of that name on
-- the queue (NULL when it has never popped). No row: the partition is gone.
CREATE OR REPLACE FUNCTION queen.find_groups(p_partitions int[], p_groups text[])
RETURNS TABLE (ordinal int, queue_id int, queue_name text, partition_name text, group_id int)
LANGUAGE sql STABLE AS $$
    SELECT u.ordinal::int, q.id, q.name, p.name, g.id
    FROM unnest(p_partitions, p_groups) WITH ORDINALITY AS u(partition_id, group_name, ordinal)
    JOIN queen.partitions p ON p.id = u.partition_id
    JOIN queen.queues q ON q.id = p.queue_id
    LEFT JOIN queen.groups g ON g.queue_id = q.id AND g.name = u.group_name
$$;
