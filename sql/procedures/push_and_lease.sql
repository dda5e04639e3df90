-- requires: append_lanes, push_messages
-- A push that carries leases: push_messages, and for lanes that have nothing the lease on what is pushed, in the
-- same transaction. A pop that waits is answered with this commit (docs/decisions/0010-hand-over.md).
--   p_broker .. p_known_untimed   as in push_messages
--   p_lanes .. p_deliveries       as in append_lanes, where p_lanes is p_partitions; but for
--   p_log_ends        the lease counts only if the log ended here when the partition's segments were stored: those
--                     it gives out are these very ones
--   p_firsts          the first segment of that partition (its place in p_partitions, 1 = first)
-- A lease that loses does no harm to the push, nor to another lease. Answers the rows of push_messages, then those of
-- append_lanes: their state is in status, and `now` is not NULL.
CREATE OR REPLACE FUNCTION queen.push_and_lease(
    p_broker bigint, p_n bigint, p_wait boolean,
    p_partitions int[], p_counts int[], p_payloads text[], p_txns text[], p_metas text[],
    p_txn_mins text[], p_txn_maxs text[], p_time_mins timestamptz[], p_time_maxs timestamptz[],
    p_untimed boolean[], p_known_froms bigint[], p_known_tos bigint[], p_encrypted boolean[], p_known_untimed boolean,
    p_lanes int[], p_groups int[], p_queues int[], p_versions bigint[], p_prev_epochs bigint[], p_prev_stamps bigint[],
    p_not_befores timestamptz[], p_log_ends bigint[], p_firsts int[], p_stamps bigint[], p_cursors bigint[],
    p_lease_ids uuid[], p_lease_ms bigint[], p_lease_ends bigint[], p_lease_seconds int[], p_deliveries int[])
RETURNS TABLE (ordinal int, status text, base_seq bigint, created_at timestamptz, line int,
               epoch bigint, stamp bigint, cursor bigint, settled text, failed text,
               attempt_seqs bigint[], attempt_counts int[], lease_id uuid, lease_until timestamptz, lease_end bigint,
               lease_seconds int, deliveries int, ready_at timestamptz, window_end bigint, now timestamptz)
LANGUAGE plpgsql AS $$
DECLARE
    v_bases bigint[] := '{}';   -- by segment, of those that are stored
    v_ends  bigint[] := '{}';
BEGIN
    FOR ordinal, status, base_seq, created_at, line IN
        SELECT m.ordinal, m.status, m.base_seq, m.created_at, m.line
        FROM queen.push_messages(p_broker, p_n, p_wait, p_partitions, p_counts, p_payloads, p_txns, p_metas, p_txn_mins,
                                 p_txn_maxs, p_time_mins, p_time_maxs, p_untimed, p_known_froms, p_known_tos, p_encrypted,
                                 p_known_untimed) m
    LOOP
        IF status = 'queued' THEN v_bases[ordinal] := base_seq; END IF;
        RETURN NEXT;
    END LOOP;
    -- What was compared under the partition's lock need not be compared again; no log ends at -1.
    FOR i IN 1 .. cardinality(p_lanes) LOOP
        v_ends[i] := CASE WHEN v_bases[p_firsts[i]] = p_log_ends[i] THEN NULL ELSE -1 END;
    END LOOP;

    FOR ordinal, status, epoch, stamp, cursor, settled, failed, attempt_seqs, attempt_counts, lease_id, lease_until,
        lease_end, lease_seconds, deliveries, ready_at, window_end, now IN
        SELECT a.* FROM queen.append_lanes(
            p_broker, NULL, true, p_lanes, p_groups, p_queues, p_versions, p_prev_epochs, p_prev_stamps, p_not_befores,
            NULL, v_ends, p_stamps, p_cursors, NULL, NULL, NULL, NULL, p_lease_ids, NULL, p_lease_ms, p_lease_ends,
            p_lease_seconds, p_deliveries, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) a
    LOOP
        base_seq := NULL; created_at := NULL; line := NULL;
        RETURN NEXT;
    END LOOP;
END $$;
