-- Reads segments by their keys, as a lease has named them. A segment that retention has taken
-- meanwhile is left out.
CREATE OR REPLACE FUNCTION queen.pop_sm_fetch(p_partitions int[], p_bases bigint[])
RETURNS TABLE (ordinal int, count int, created_at timestamptz, payloads text, txns text, meta text)
LANGUAGE sql STABLE AS $$
    SELECT u.ordinal::int, s.count, s.created_at, s.payloads, s.txns, s.meta
    FROM unnest(p_partitions, p_bases) WITH ORDINALITY AS u(partition_id, base_seq, ordinal)
    JOIN queen.segments s ON s.partition_id = u.partition_id AND s.base_seq = u.base_seq
    WHERE s.payloads IS NOT NULL
$$;
