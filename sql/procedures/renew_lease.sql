-- requires: drop_stale_progress
-- Extends leases: every partition a lease still holds gets p_seconds from now, never less than it
-- had. p_seconds 0 = the lease's own length, at least 60. One row per lease:
--   renewed  lease_until is the earliest of its partitions'
--   expired  it was here, and is over          unknown  nobody has seen it
--   again    another change came between: call again
CREATE OR REPLACE FUNCTION queen.renew_lease(p_leases uuid[], p_seconds int[])
RETURNS TABLE (ordinal int, state text, lease_until timestamptz) LANGUAGE plpgsql AS $$
DECLARE
    v_now      timestamptz := clock_timestamp();
    v_ordinals int[];
    v_ids      int[];
    v_groups   int[];
    v_epochs   bigint[];
    v_untils   timestamptz[];
    v_lost     int[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    WITH key AS MATERIALIZED (
        SELECT DISTINCT u.ordinal::int, r.partition_id, r.group_id, u.lease, u.seconds
        FROM unnest(p_leases, p_seconds) WITH ORDINALITY AS u(lease, seconds, ordinal)
        JOIN queen.progress r ON r.lease_id = u.lease
        JOIN queen.partitions p ON p.id = r.partition_id
        JOIN queen.groups g ON g.id = r.group_id AND g.queue_id = p.queue_id
        JOIN queen.queues q ON q.id = p.queue_id
    ), held AS MATERIALIZED (
        SELECT k.ordinal, s.*, max(greatest(s.lease_until, v_now + interval '1 second'
                   * CASE WHEN k.seconds > 0 THEN k.seconds ELSE greatest(s.lease_seconds, 60) END))
                   OVER (PARTITION BY s.partition_id, s.group_id) AS new_until  -- the most anyone asks for
        FROM key k
        CROSS JOIN LATERAL (
            SELECT r.* FROM queen.progress r
            WHERE r.partition_id = k.partition_id AND r.group_id = k.group_id
            ORDER BY r.epoch DESC LIMIT 1) s
        WHERE s.lease_id = k.lease AND s.lease_until > v_now
    ), inserted AS (
        INSERT INTO queen.progress (partition_id, group_id, epoch, cursor, settled, failed, attempt_seqs,
            attempt_counts, lease_id, lease_until, lease_end, lease_seconds, deliveries, ready_at, window_end, changed_at)
        SELECT h.partition_id, h.group_id, h.epoch + 1, h.cursor, h.settled, h.failed, h.attempt_seqs,
               h.attempt_counts, h.lease_id, h.new_until, h.lease_end, h.lease_seconds, h.deliveries, h.ready_at, h.window_end, v_now
        FROM held h ORDER BY h.partition_id, h.group_id
        ON CONFLICT DO NOTHING
        RETURNING queen.progress.partition_id, queen.progress.group_id, queen.progress.epoch, queen.progress.lease_until
    )
    SELECT array_agg(h.ordinal), array_agg(h.partition_id), array_agg(h.group_id),
           array_agg(i.epoch), array_agg(i.lease_until)
    INTO v_ordinals, v_ids, v_groups, v_epochs, v_untils
    FROM held h LEFT JOIN inserted i ON i.partition_id = h.partition_id AND i.group_id = h.group_id;

    v_lost := queen.drop_stale_progress(v_ids, v_groups, v_epochs);

    RETURN QUERY
    SELECT u.ordinal::int,
           CASE WHEN bool_or(h.ordinal IS NOT NULL AND (h.epoch IS NULL OR h.place = ANY (v_lost))) THEN 'again'
                WHEN bool_or(h.ordinal IS NOT NULL) THEN 'renewed'
                WHEN EXISTS (SELECT FROM queen.progress r WHERE r.lease_id = u.lease) THEN 'expired'
                ELSE 'unknown' END,
           min(h.lease_until)
    FROM unnest(p_leases) WITH ORDINALITY AS u(lease, ordinal)
    LEFT JOIN unnest(v_ordinals, v_epochs, v_untils) WITH ORDINALITY AS h(ordinal, epoch, lease_until, place)
        ON h.ordinal = u.ordinal
    GROUP BY u.ordinal, u.lease ORDER BY u.ordinal;
END $$;
