-- requires: pop_sm_lease
-- Lease and fetch in one call: one row per segment of a lease, or one row with its state for what
-- was not leased. Parameters and states are those of pop_sm_lease.
CREATE OR REPLACE FUNCTION queen.pop_messages(
    p_requests int[], p_partitions int[], p_groups int[], p_leases uuid[], p_batches int[],
    p_seconds int[], p_auto_acks boolean[], p_max_bytes bigint)
RETURNS TABLE (ordinal int, state text, ready_in_ms bigint, cursor bigint, lease_end bigint,
               lease_until timestamptz, settled text, attempt_seqs bigint[], attempt_counts int[],
               base_seq bigint, count int, created_at timestamptz, payloads text, txns text, meta text)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY
    SELECT l.ordinal, l.state, l.ready_in_ms, l.cursor, l.lease_end, l.lease_until, l.settled::text,
           l.attempt_seqs, l.attempt_counts, s.base_seq, s.count, s.created_at, s.payloads, s.txns, s.meta
    FROM queen.pop_sm_lease(p_requests, p_partitions, p_groups, p_leases, p_batches, p_seconds,
                            p_auto_acks, p_max_bytes) l
    LEFT JOIN LATERAL unnest(CASE WHEN l.state = 'leased' THEN l.segment_bases END) AS b(base) ON true
    LEFT JOIN queen.segments s ON s.partition_id = p_partitions[l.ordinal] AND s.base_seq = b.base
    WHERE s.base_seq IS NULL OR s.base_seq < l.lease_end
    ORDER BY l.ordinal, s.base_seq;
END $$;
