-- requires: ids
-- The dead letters of one message, named by partition and transactionId (its id, if it has none): one for each
-- group in which it died.
CREATE OR REPLACE FUNCTION queen.letters_of_message(p_partition_id int, p_txn text)
RETURNS TABLE (group_id int, seq bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_seq bigint := CASE WHEN queen.uuid7_time(p_txn) IS NOT NULL  -- of its id
        THEN ('x' || replace(substr(p_txn, 20), '-', ''))::bit(64)::bigint & ((1::bigint << 43) - 1) END;
BEGIN
    RETURN QUERY
    SELECT d.group_id, d.seq FROM queen.dead_letters d
    JOIN queen.groups g ON g.id = d.group_id
    WHERE d.partition_id = p_partition_id AND d.txn = p_txn
    UNION ALL
    SELECT d.group_id, d.seq
    FROM queen.partitions p
    JOIN queen.groups g ON g.queue_id = p.queue_id
    CROSS JOIN LATERAL (
        SELECT x.* FROM queen.dead_letters x
        WHERE x.partition_id = p.id AND x.group_id = g.id AND x.seq = v_seq OFFSET 0) d
    WHERE p.id = p_partition_id AND d.txn IS NULL AND queen.message_id(d.created_at, p.id, d.seq)::text = lower(p_txn);
END $$;
