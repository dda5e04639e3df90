-- requires: await_standby
-- What became of a write transaction that ended without a certain answer? Inserts its key again, waiting for it
-- if it still runs. committed: it is stored, and where; the standby has it when this call is committed. Not
-- committed: it never will be, from the commit of this call on, because its own insert would now conflict. May be
-- asked again, with the same answer: base_seqs {-1} marks the rows that are inserted here.
CREATE OR REPLACE FUNCTION queen.resolve_batch(p_broker bigint, p_n bigint)
RETURNS TABLE (committed boolean, partitions int[], base_seqs bigint[], created_ats timestamptz[])
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO queen.batches (broker, n, base_seqs) VALUES (p_broker, p_n, '{-1}') ON CONFLICT DO NOTHING;
    IF FOUND THEN
        RETURN QUERY SELECT false, NULL::int[], NULL::bigint[], NULL::timestamptz[];
        RETURN;
    END IF;
    PERFORM queen.await_standby();
    RETURN QUERY
    SELECT b.base_seqs <> '{-1}', b.partitions, b.base_seqs,
           ARRAY(SELECT s.created_at
                 FROM unnest(b.partitions, b.base_seqs) WITH ORDINALITY AS u(partition_id, base_seq, ordinal)
                 LEFT JOIN queen.segments s ON s.partition_id = u.partition_id AND s.base_seq = u.base_seq
                 ORDER BY u.ordinal)
    FROM queen.batches b WHERE b.broker = p_broker AND b.n = p_n;
END $$;
