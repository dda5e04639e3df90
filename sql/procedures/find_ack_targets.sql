-- requires: dedup
-- What an ack names by partition, group and transactionId. A row for every partition that is there:
-- group_id NULL = the group has never popped, seq NULL = no such message.
CREATE OR REPLACE FUNCTION queen.find_ack_targets(p_partitions int[], p_groups text[], p_txns text[])
RETURNS TABLE (ordinal int, queue_name text, partition_name text, group_id int, seq bigint)
LANGUAGE sql STABLE AS $$
    WITH asked AS MATERIALIZED (
        SELECT u.partition_id, u.group_name, u.txn, u.ordinal,
               row_number() OVER (PARTITION BY u.partition_id ORDER BY u.ordinal) - 1 AS line
        FROM unnest(p_partitions, p_groups, p_txns) WITH ORDINALITY AS u(partition_id, group_name, txn, ordinal)
    ), found AS MATERIALIZED (  -- one search per partition
        SELECT a.partition_id, f.line, min(f.seq) AS seq
        FROM (SELECT b.partition_id, string_agg(b.txn, E'\n' ORDER BY b.ordinal) AS txns
              FROM asked b GROUP BY b.partition_id) a
        CROSS JOIN LATERAL queen.find_transactions(a.partition_id, a.txns, 0, 0) f
        GROUP BY a.partition_id, f.line
    )
    SELECT a.ordinal::int, q.name, p.name, g.id, f.seq
    FROM asked a
    JOIN queen.partitions p ON p.id = a.partition_id
    JOIN queen.queues q ON q.id = p.queue_id
    LEFT JOIN queen.groups g ON g.queue_id = q.id AND g.name = a.group_name
    LEFT JOIN found f ON f.partition_id = a.partition_id AND f.line = a.line
$$;
