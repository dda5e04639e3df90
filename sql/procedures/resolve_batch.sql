-- What became of a write transaction whose connection was lost? Inserts its key again, waiting for it if
-- it still runs. committed: it is stored, and where. Not committed: it never will be, from the commit of
-- this call on, because its own insert would now conflict.
CREATE OR REPLACE FUNCTION queen.resolve_batch(p_broker bigint, p_n bigint)
RETURNS TABLE (committed boolean, partitions int[], base_seqs bigint[], created_ats timestamptz[])
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO queen.batches (broker, n) VALUES (p_broker, p_n) ON CONFLICT DO NOTHING;
    IF FOUND THEN
        RETURN QUERY SELECT false, NULL::int[], NULL::bigint[], NULL::timestamptz[];
        RETURN;
    END IF;
    RETURN QUERY
    SELECT true, b.partitions, b.base_seqs,
           ARRAY(SELECT s.created_at
                 FROM unnest(b.partitions, b.base_seqs) WITH ORDINALITY AS u(partition_id, base_seq, ordinal)
                 LEFT JOIN queen.segments s ON s.partition_id = u.partition_id AND s.base_seq = u.base_seq
                 ORDER BY u.ordinal)
    FROM queen.batches b WHERE b.broker = p_broker AND b.n = p_n;
END $$;
