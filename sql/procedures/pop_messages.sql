-- requires: lease_rows
-- Lease and fetch in one call: one row per segment of a lease, or one row with its state for what
-- was not leased. Parameters and states are those of pop_sm_lease. Two statements: segments pushed
-- while the lease was being taken are not in a snapshot from before it.
CREATE OR REPLACE FUNCTION queen.pop_messages(
    p_requests int[], p_partitions int[], p_groups int[], p_leases uuid[], p_batches int[],
    p_seconds int[], p_auto_acks boolean[], p_max_bytes bigint)
RETURNS TABLE (ordinal int, state text, ready_in_ms bigint, cursor bigint, lease_end bigint,
               lease_until timestamptz, settled text, attempt_seqs bigint[], attempt_counts int[],
               base_seq bigint, count int, created_at timestamptz, payloads text, txns text, meta text)
LANGUAGE plpgsql AS $$
DECLARE
    v_rows queen.lease_row[] := queen.lease_rows(p_requests, p_partitions, p_groups, p_leases, p_batches,
                                                 p_seconds, p_auto_acks, p_max_bytes);
BEGIN
    RETURN QUERY
    SELECT r.ordinal, r.state, r.ready_in_ms, r.cursor, r.lease_end, r.lease_until, r.settled::text,
           r.attempt_seqs, r.attempt_counts, s.base_seq, s.count, s.created_at, s.payloads, s.txns, s.meta
    FROM unnest(v_rows) r
    LEFT JOIN LATERAL unnest(CASE WHEN r.state = 'leased' THEN r.segment_bases END) AS b(base) ON true
    LEFT JOIN queen.segments s ON s.partition_id = r.partition_id AND s.base_seq = b.base
    ORDER BY r.ordinal, s.base_seq;
END $$;
