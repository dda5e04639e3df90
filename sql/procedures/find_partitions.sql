-- The partitions of these names, a row for each: queue_id NULL = no such queue, partition_id NULL = no such
-- partition; encrypted is the queue's option.
-- Each name costs one probe of a unique index, whatever the statistics say. They may be of a time when the
-- table was small or every queue had one partition, and a session keeps the plan it made then. So:
--   * a LATERAL with a LIMIT: the planner cannot make a join of it that reads the whole table;
--   * no sequential scan, no sort: an index is read, in its order;
--   * the name as a range, in the order of names: only the unique index has that. For a name that is equal the
--     index (queue_id, id) looks as good, and reads every partition of the queue.
CREATE OR REPLACE FUNCTION queen.find_partitions(p_queues text[], p_partitions text[])
RETURNS TABLE (ordinal int, queue_id int, partition_id int, encrypted boolean) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_incremental_sort = off AS $$
BEGIN
    RETURN QUERY
    SELECT u.ordinal::int, q.id, p.id, q.encryption_enabled
    FROM unnest(p_queues, p_partitions) WITH ORDINALITY AS u(queue, partition, ordinal)
    LEFT JOIN LATERAL (
        SELECT x.id, x.encryption_enabled FROM queen.queues x WHERE x.name = u.queue LIMIT 1) q ON true
    LEFT JOIN LATERAL (
        SELECT x.id FROM queen.partitions x
        WHERE x.queue_id = q.id AND x.name >= u.partition AND x.name <= u.partition ORDER BY x.name LIMIT 1) p ON true;
END $$;
