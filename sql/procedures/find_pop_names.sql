-- What pops name, a row for each: the ids of queue, group and partition, NULL where there is none; without a
-- queue also whether the group's start is recorded already (`early`). Makes nothing, so it waits for nobody.
-- Each name costs one probe of a unique index, as in find_partitions.
CREATE OR REPLACE FUNCTION queen.find_pop_names(p_queues text[], p_groups text[], p_partitions text[])
RETURNS TABLE (ordinal int, queue_id int, group_id int, partition_id int, early boolean) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_incremental_sort = off AS $$
BEGIN
    RETURN QUERY
    SELECT u.ordinal::int, q.id, g.id, p.id,
           q.id IS NULL AND EXISTS (SELECT FROM queen.early_groups e
                                    WHERE e.queue_name = u.queue AND e.group_name = u.name OFFSET 0)
    FROM unnest(p_queues, p_groups, p_partitions) WITH ORDINALITY AS u(queue, name, partition, ordinal)
    LEFT JOIN LATERAL (SELECT x.id FROM queen.queues x WHERE x.name = u.queue LIMIT 1) q ON true
    LEFT JOIN LATERAL (
        SELECT x.id FROM queen.groups x WHERE x.queue_id = q.id AND x.name = u.name LIMIT 1) g ON true
    LEFT JOIN LATERAL (
        SELECT x.id FROM queen.partitions x
        WHERE x.queue_id = q.id AND x.name >= u.partition AND x.name <= u.partition ORDER BY x.name LIMIT 1) p ON true;
END $$;
