-- requires: find_partitions
-- Finds the partitions with the given names and creates what is missing, queues included. Selects
-- first: an ON CONFLICT insert would burn an id for every partition that exists. Where nothing is missing
-- nothing is written, not even a lock for writing is asked for.
CREATE OR REPLACE FUNCTION queen.ensure_partitions(p_queues text[], p_partitions text[])
RETURNS TABLE (ordinal int, queue_id int, partition_id int) LANGUAGE plpgsql AS $$
DECLARE
    v_born int[];
BEGIN
    IF EXISTS (SELECT FROM queen.find_partitions(p_queues, p_partitions) f WHERE f.queue_id IS NULL) THEN
        WITH born AS (
            INSERT INTO queen.queues (name, namespace, task)
            SELECT DISTINCT u.name, split_part(u.name, '.', 1), split_part(u.name, '.', 2)
            FROM queen.find_partitions(p_queues, p_partitions) f
            CROSS JOIN LATERAL (SELECT p_queues[f.ordinal] AS name) u
            WHERE f.queue_id IS NULL
            ORDER BY 1
            ON CONFLICT DO NOTHING RETURNING id)
        SELECT array_agg(b.id) INTO v_born FROM born b;
        PERFORM queen.join_families(v_born, true);
    END IF;

    IF EXISTS (SELECT FROM queen.find_partitions(p_queues, p_partitions) f WHERE f.partition_id IS NULL) THEN
        INSERT INTO queen.partitions (queue_id, name)
        SELECT DISTINCT f.queue_id, p_partitions[f.ordinal]
        FROM queen.find_partitions(p_queues, p_partitions) f
        WHERE f.partition_id IS NULL
          AND f.queue_id IS NOT NULL  -- else the queue was deleted meanwhile
        ORDER BY 1, 2
        ON CONFLICT DO NOTHING;
    END IF;

    RETURN QUERY
    SELECT f.ordinal, f.queue_id, f.partition_id
    FROM queen.find_partitions(p_queues, p_partitions) f WHERE f.partition_id IS NOT NULL;
END $$;
