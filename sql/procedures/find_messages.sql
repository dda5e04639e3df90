-- requires: dedup
-- The offsets of messages named by partition and transactionId (which for a message without one is
-- its id). No row: not found. One search per partition, whatever the number of its messages.
CREATE OR REPLACE FUNCTION queen.find_messages(p_partitions int[], p_txns text[])
RETURNS TABLE (ordinal int, seq bigint, created_at timestamptz) LANGUAGE sql STABLE AS $$
    SELECT a.ordinals[f.line + 1], f.seq, f.created_at
    FROM (SELECT u.partition_id, array_agg(u.ordinal::int ORDER BY u.ordinal) AS ordinals,
                 string_agg(u.txn, E'\n' ORDER BY u.ordinal) AS txns
          FROM unnest(p_partitions, p_txns) WITH ORDINALITY AS u(partition_id, txn, ordinal)
          WHERE position(E'\n' IN u.txn) = 0  -- no transactionId has one
          GROUP BY u.partition_id) a
    CROSS JOIN LATERAL queen.find_transactions(a.partition_id, a.txns, 0, 0) f
$$;
