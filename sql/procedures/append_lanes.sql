-- requires: announce, await_standby, dead_letter, locks
-- Compare and append: one row of the arrays is the next row of one lane (partition, group), decided by the caller from
-- a predecessor, and is stored only if that still is the lane's newest row. Nothing is decided here, and nothing waits:
-- a lane that somebody else is changing is `busy`. Arrays of which nothing is set may be NULL. Per call:
--   p_broker, p_n     the key of this transaction in queen.batches; p_n NULL = none of the caller's; partitions whose
--                     lease has ended are announced all the same, to everybody but p_broker (NULL: to everybody)
--   p_sync            false: the rows are leases only, which a crash may forget
-- Per lane, REQUIRES: no lane twice. What is compared:
--   p_queues, p_versions            the queue and the version of it that the decision was made with
--   p_prev_epochs, p_prev_stamps    the predecessor; epoch 0: the lane has no row yet
--   p_not_befores     NULL, or: not before this time
--   p_held            true: only while the predecessor's lease lives
--   p_log_ends        NULL, or: only while the partition's log ends here
-- and what is stored:
--   p_stamps          the stamp of the new row, random
--   p_cursors ..      as the columns of queen.progress; bitmaps as '0101', attempts as '{7,9}' and '{1,2}'
--   p_lease_untils, p_lease_ms    until when the lease lives: the later of a time and of so long from now
--   p_ready_ats, p_ready_ms       the same for ready_at
--   p_frees           the lease has ended: others may have the partition
-- p_dead_*: messages that become dead letters if their row (the lane's place in the arrays, 1 = first) is stored.
-- Answers per lane the newest row as it is now, NULLs when there is none, the clock, and
--   won       the new row is the newest
--   gone      partition, queue or group is no more
--   stale     the queue has another version: load the lane again
--   lost      another row is the newest, the one answered
--   early, expired, moved    it is still the predecessor, and the time has not come, its lease is over, or the log
--                            ends elsewhere
--   busy      it is still the predecessor, and another transaction is changing the lane
CREATE OR REPLACE FUNCTION queen.append_lanes(
    p_broker bigint, p_n bigint, p_sync boolean,
    p_partitions int[], p_groups int[], p_queues int[], p_versions bigint[], p_prev_epochs bigint[], p_prev_stamps bigint[],
    p_not_befores timestamptz[], p_held boolean[], p_log_ends bigint[],
    p_stamps bigint[], p_cursors bigint[], p_settled text[], p_failed text[], p_attempt_seqs text[], p_attempt_counts text[],
    p_lease_ids uuid[], p_lease_untils timestamptz[], p_lease_ms bigint[], p_lease_ends bigint[], p_lease_seconds int[],
    p_deliveries int[], p_ready_ats timestamptz[], p_ready_ms bigint[], p_window_ends bigint[], p_frees boolean[],
    p_dead_rows int[], p_dead_seqs bigint[], p_dead_errors text[], p_dead_counts int[])
RETURNS TABLE (ordinal int, state text, epoch bigint, stamp bigint, cursor bigint, settled text, failed text,
               attempt_seqs bigint[], attempt_counts int[], lease_id uuid, lease_until timestamptz, lease_end bigint,
               lease_seconds int, deliveries int, ready_at timestamptz, window_end bigint, now timestamptz)
LANGUAGE plpgsql AS $$
DECLARE
    v_inserted int;
    v_won      int[] := '{}';
    v_freed    int[] := '{}';
BEGIN
    now := clock_timestamp();
    IF NOT p_sync THEN
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;

    -- Probes with OFFSET 0: as joins they would cost several times as much.
    INSERT INTO queen.progress (partition_id, group_id, epoch, stamp, cursor, settled, failed, attempt_seqs, attempt_counts,
        lease_id, lease_until, lease_end, lease_seconds, deliveries, ready_at, window_end, changed_at)
    SELECT u.partition_id, u.group_id, p_prev_epochs[u.i] + 1, p_stamps[u.i], p_cursors[u.i], p_settled[u.i]::bit varying,
           p_failed[u.i]::bit varying, p_attempt_seqs[u.i]::bigint[], p_attempt_counts[u.i]::int[], p_lease_ids[u.i],
           greatest(p_lease_untils[u.i], now + p_lease_ms[u.i] * interval '1 millisecond'),
           p_lease_ends[u.i], p_lease_seconds[u.i], p_deliveries[u.i],
           greatest(p_ready_ats[u.i], now + p_ready_ms[u.i] * interval '1 millisecond'), p_window_ends[u.i], now
    FROM unnest(p_partitions, p_groups) WITH ORDINALITY AS u(partition_id, group_id, i)
    CROSS JOIN LATERAL (
        SELECT FROM queen.queues q WHERE q.id = p_queues[u.i] AND q.version = p_versions[u.i] OFFSET 0) q
    LEFT JOIN LATERAL (
        SELECT true AS stands, r.lease_until FROM queen.progress r
        WHERE r.partition_id = u.partition_id AND r.group_id = u.group_id
          AND r.epoch = p_prev_epochs[u.i] AND r.stamp = p_prev_stamps[u.i]
        FOR NO KEY UPDATE SKIP LOCKED) s ON true
    WHERE (p_not_befores[u.i] <= now) IS NOT FALSE
      AND (p_log_ends[u.i] IS NULL OR p_log_ends[u.i] = coalesce((
          SELECT t.base_seq + t.count FROM queen.segments t
          WHERE t.partition_id = u.partition_id ORDER BY t.base_seq DESC LIMIT 1), 0))
      AND (p_held[u.i] IS NOT TRUE OR s.lease_until > now)
      AND CASE WHEN p_prev_epochs[u.i] > 0 THEN s.stands
               ELSE NOT EXISTS (SELECT FROM queen.progress r
                                WHERE r.partition_id = u.partition_id AND r.group_id = u.group_id)
                    AND pg_try_advisory_xact_lock(queen.lane_lock_class(), queen.lane_lock_key(u.partition_id, u.group_id)) END
    ORDER BY u.partition_id, u.group_id
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS v_inserted = ROW_COUNT;

    -- A statement of its own, whose snapshot is younger: only now is it known who has won. Old epochs are cleaned up,
    -- so the insert may have found its place free although later epochs exist.
    FOR ordinal, state, epoch, stamp, cursor, settled, failed, attempt_seqs, attempt_counts, lease_id, lease_until,
        lease_end, lease_seconds, deliveries, ready_at, window_end IN
        SELECT u.i, CASE WHEN r.stamp = p_stamps[u.i] THEN 'won'
                         WHEN NOT EXISTS (SELECT FROM queen.queues q WHERE q.id = p_queues[u.i])
                           OR NOT EXISTS (SELECT FROM queen.partitions p WHERE p.id = u.partition_id)
                           OR NOT EXISTS (SELECT FROM queen.groups g WHERE g.id = u.group_id) THEN 'gone'
                         WHEN p_versions[u.i] <> (SELECT q.version FROM queen.queues q WHERE q.id = p_queues[u.i]) THEN 'stale'
                         WHEN coalesce(r.epoch, 0) <> p_prev_epochs[u.i] OR r.stamp <> p_prev_stamps[u.i] THEN 'lost'
                         WHEN p_not_befores[u.i] > now THEN 'early'
                         WHEN p_held[u.i] AND (r.lease_until > now) IS NOT TRUE THEN 'expired'
                         WHEN p_log_ends[u.i] <> coalesce((
                             SELECT t.base_seq + t.count FROM queen.segments t
                             WHERE t.partition_id = u.partition_id ORDER BY t.base_seq DESC LIMIT 1), 0) THEN 'moved'
                         ELSE 'busy' END,
               r.epoch, r.stamp, r.cursor, r.settled::text, r.failed::text, r.attempt_seqs, r.attempt_counts, r.lease_id,
               r.lease_until, r.lease_end, r.lease_seconds, r.deliveries, r.ready_at, r.window_end
        FROM unnest(p_partitions, p_groups) WITH ORDINALITY AS u(partition_id, group_id, i)
        LEFT JOIN LATERAL (
            SELECT x.* FROM queen.progress x
            WHERE x.partition_id = u.partition_id AND x.group_id = u.group_id ORDER BY x.epoch DESC LIMIT 1) r ON true
    LOOP
        IF state = 'won' THEN
            v_won := v_won || ordinal;
            IF p_frees[ordinal] THEN v_freed := v_freed || p_partitions[ordinal]; END IF;
        END IF;
        RETURN NEXT;
    END LOOP;

    IF v_inserted > cardinality(v_won) THEN   -- rare: below the newest, where nobody may find them
        DELETE FROM queen.progress r
        USING unnest(p_partitions, p_groups, p_prev_epochs, p_stamps) WITH ORDINALITY AS u(partition_id, group_id, prev_epoch, stamp, i)
        WHERE r.partition_id = u.partition_id AND r.group_id = u.group_id AND r.epoch = u.prev_epoch + 1
          AND r.stamp = u.stamp AND NOT u.i = ANY (v_won);
    END IF;

    IF cardinality(p_dead_rows) > 0 THEN
        PERFORM queen.dead_letter(array_agg(p_partitions[d.place]), array_agg(p_groups[d.place]), array_agg(d.seq),
                                  array_agg(d.error), array_agg(d.failures))
        FROM unnest(p_dead_rows, p_dead_seqs, p_dead_errors, p_dead_counts) AS d(place, seq, error, failures)
        WHERE d.place = ANY (v_won)
        HAVING count(*) > 0;
    END IF;

    -- Other brokers: what these leases held may be taken again.
    IF p_n IS NOT NULL THEN
        INSERT INTO queen.batches (broker, n, partitions) VALUES (p_broker, p_n, v_freed);
    ELSIF cardinality(v_freed) > 0 THEN
        PERFORM queen.announce(v_freed, coalesce(p_broker, 0));
    ELSIF p_sync AND v_inserted = 0 THEN  -- nothing is written; what is settled may be answered as success
        PERFORM queen.await_standby();
    END IF;
END $$;
