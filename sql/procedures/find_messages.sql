-- requires: dedup
-- The offsets of messages named by partition and transactionId (which for a message without one is
-- its id). No row: not found.
CREATE OR REPLACE FUNCTION queen.find_messages(p_partitions int[], p_txns text[])
RETURNS TABLE (ordinal int, seq bigint, created_at timestamptz) LANGUAGE sql STABLE AS $$
    SELECT u.ordinal::int, f.seq, f.created_at
    FROM unnest(p_partitions, p_txns) WITH ORDINALITY AS u(partition_id, txn, ordinal)
    CROSS JOIN LATERAL queen.find_transactions(u.partition_id, u.txn, 0, 0) f
$$;
