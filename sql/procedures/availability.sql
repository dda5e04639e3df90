-- requires: bits, first_seq_at, hidden, lane_state
-- The one predicate that lease, resolve and has_pending share: what could group p_group_id be given
-- from partition p_partition_id at p_now? No row: partition, queue or group is gone. States:
--   ready    messages [cursor, avail_end) may be delivered, those settled left out; ready_at is NULL
--            when there are none behind them
--   held     another lease lives until ready_at
--   retry    a failed message waits for its retryDelay until ready_at
--   delayed  the first message is not due before ready_at (delayedProcessing)
--   window   the partition is still being written to; quiet at ready_at at the earliest (windowBuffer)
--   empty    nothing is left
-- cursor and settled are already moved past what is settled, expired, deleted, hidden from the group or
-- before its start, so a message is really there at cursor whenever the state is not held or empty.
CREATE OR REPLACE FUNCTION queen.availability(p_partition_id int, p_group_id int, p_now timestamptz)
RETURNS TABLE (state text, ready_at timestamptz, epoch bigint, cursor bigint, avail_end bigint,
               settled bit varying, attempt_seqs bigint[], attempt_counts int[],
               lease_id uuid, lease_until timestamptz, lease_end bigint, deliveries int,
               old_cursor bigint, window_end bigint, lease_time int, max_deliveries int)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT CASE WHEN l.lease_id IS NOT NULL AND l.lease_until > p_now THEN 'held'
                WHEN l.cursor >= coalesce(l.live_end, 0) THEN 'empty'
                WHEN l.ready_at > p_now THEN 'retry'
                WHEN l.cursor >= o.due_end THEN 'delayed'
                WHEN l.cursor >= o.window_end THEN 'window'
                ELSE 'ready' END,
           CASE WHEN l.lease_id IS NOT NULL AND l.lease_until > p_now THEN l.lease_until
                WHEN l.cursor >= coalesce(l.live_end, 0) THEN NULL
                WHEN l.ready_at > p_now THEN l.ready_at
                WHEN l.cursor >= o.due_end THEN (
                    SELECT g.created_at + (l.cursor - g.base_seq) * interval '1 microsecond'
                         + l.delayed_processing * interval '1 second'
                    FROM queen.segments g
                    WHERE g.partition_id = p_partition_id AND g.base_seq <= l.cursor
                    ORDER BY g.base_seq DESC LIMIT 1)
                WHEN l.cursor >= o.window_end THEN l.newest_at + l.window_buffer * interval '1 second'
                WHEN o.due_end < l.live_end OR o.window_end < l.live_end THEN p_now
           END,
           l.epoch, l.cursor, least(l.live_end, o.due_end, o.window_end),
           CASE WHEN l.hides THEN queen.with_hidden(p_partition_id, p_group_id, l.cursor, queen.bits_from(l.settled, l.cursor - l.old_cursor))
                ELSE queen.bits_from(l.settled, l.cursor - l.old_cursor) END, l.attempt_seqs, l.attempt_counts,
           l.lease_id, l.lease_until, l.lease_end, coalesce(l.deliveries, 0),
           l.old_cursor, CASE WHEN l.window_buffer > 0 THEN o.window_end END,
           l.lease_time, l.max_deliveries
    FROM queen.lane_state(p_partition_id, p_group_id, p_now) l
    CROSS JOIN LATERAL (   -- OFFSET 0 as in lane_state
        SELECT CASE WHEN l.delayed_processing > 0 THEN queen.first_seq_at(p_partition_id,
                   p_now - l.delayed_processing * interval '1 second' + interval '1 microsecond') END AS due_end,
               CASE WHEN l.window_buffer > 0 THEN
                   CASE WHEN l.newest_at > p_now - l.window_buffer * interval '1 second'
                        THEN coalesce(l.window_end, 0) ELSE l.seq_end END END AS window_end
        OFFSET 0) o
    OFFSET 0
$$;
