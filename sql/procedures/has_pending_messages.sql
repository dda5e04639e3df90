-- requires: availability
-- Has a group something to take from a partition now (one row of the arrays)? And if not, in how
-- many milliseconds (NULL: not before something happens)? pending NULL: partition, queue or group is
-- gone. The light question of a waiting pop; the same predicate as the lease.
CREATE OR REPLACE FUNCTION queen.has_pending_messages(p_partitions int[], p_groups int[])
RETURNS TABLE (ordinal int, pending boolean, ready_in_ms bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    SELECT u.ordinal::int, a.state = 'ready',
           CASE WHEN a.ready_at IS NOT NULL
                THEN greatest(0, ceil(extract(epoch FROM a.ready_at - v_now) * 1000))::bigint END
    FROM unnest(p_partitions, p_groups) WITH ORDINALITY AS u(partition_id, group_id, ordinal)
    LEFT JOIN LATERAL queen.availability(u.partition_id, u.group_id, v_now) a ON true;
END $$;
