-- requires: lease_rows
-- Leases partitions to groups: one row of the arrays is one (partition, group). Rows with the same
-- p_requests value belong to one pop: together they give at most p_batches messages, in the order
-- of the rows.
--   p_leases     the lease id, made by the caller: leasing again with it returns the same lease
--   p_seconds    length of the lease, 0 = the queue's
--   p_auto_acks  settle what is delivered at once and hold no lease
--   p_max_bytes  what one partition may give; at least one segment
--   p_strict     p_max_bytes is what one pop may be given of all its partitions, with transactionIds and
--                meta; a segment that alone is larger is not given
-- Answers a row for each:
--   leased   deliver [cursor, lease_end) without the settled; the segments to read are named. None:
--            what this lease covered is gone from the log meanwhile.
--            ready_in_ms is NULL when the lease has all there is, 0 when there may be more
--   held, retry, delayed, window   not now; ready_in_ms says when to ask again
--   empty    nothing there          gone   no such partition, queue or group
--   full     the pop's batch, or its bytes, were filled by earlier rows
--   large    the first segment is larger than p_max_bytes (p_strict): lease_end is its bytes
--   again    ask again at once: another caller was faster (also an earlier row of this call), or
--            the first message was dead-lettered
CREATE OR REPLACE FUNCTION queen.pop_sm_lease(
    p_requests int[], p_partitions int[], p_groups int[], p_leases uuid[], p_batches int[],
    p_seconds int[], p_auto_acks boolean[], p_max_bytes bigint, p_strict boolean DEFAULT false)
RETURNS TABLE (ordinal int, state text, ready_in_ms bigint, cursor bigint, lease_end bigint,
               lease_until timestamptz, settled bit varying, attempt_seqs bigint[], attempt_counts int[],
               segment_bases bigint[], segment_counts int[], segment_times timestamptz[])
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY
    SELECT r.ordinal, r.state, r.ready_in_ms, r.cursor, r.lease_end, r.lease_until, r.settled,
           r.attempt_seqs, r.attempt_counts, r.segment_bases, r.segment_counts, r.segment_times
    FROM unnest(queen.lease_rows(p_requests, p_partitions, p_groups, p_leases, p_batches, p_seconds,
                                 p_auto_acks, p_max_bytes, p_strict)) r;
END $$;
