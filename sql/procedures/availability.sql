-- requires: bits, first_seq_at, hidden
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
    -- OFFSET 0: a lateral step that the planner folds into the next is computed once per mention of it. Few
    -- steps: the start of the statement is most of what a lease of one partition costs.
    SELECT CASE WHEN s.lease_id IS NOT NULL AND s.lease_until > p_now THEN 'held'
                WHEN c.cursor >= coalesce(n.live_end, 0) THEN 'empty'
                WHEN s.ready_at > p_now THEN 'retry'
                WHEN c.cursor >= o.due_end THEN 'delayed'
                WHEN c.cursor >= o.window_end THEN 'window'
                ELSE 'ready' END,
           CASE WHEN s.lease_id IS NOT NULL AND s.lease_until > p_now THEN s.lease_until
                WHEN c.cursor >= coalesce(n.live_end, 0) THEN NULL
                WHEN s.ready_at > p_now THEN s.ready_at
                WHEN c.cursor >= o.due_end THEN (
                    SELECT g.created_at + (c.cursor - g.base_seq) * interval '1 microsecond'
                         + q.delayed_processing * interval '1 second'
                    FROM queen.segments g
                    WHERE g.partition_id = p.id AND g.base_seq <= c.cursor
                    ORDER BY g.base_seq DESC LIMIT 1)
                WHEN c.cursor >= o.window_end THEN n.newest_at + q.window_buffer * interval '1 second'
                WHEN o.due_end < n.live_end OR o.window_end < n.live_end THEN p_now
           END,
           s.epoch, c.cursor, least(n.live_end, o.due_end, o.window_end),
           CASE WHEN p.hides THEN queen.with_hidden(p.id, g.id, c.cursor, queen.bits_from(s.settled, c.cursor - o.old_cursor))
                ELSE queen.bits_from(s.settled, c.cursor - o.old_cursor) END, s.attempt_seqs, s.attempt_counts,
           s.lease_id, s.lease_until, s.lease_end, coalesce(s.deliveries, 0),
           o.old_cursor, CASE WHEN q.window_buffer > 0 THEN o.window_end END,
           q.lease_time, q.max_deliveries
    FROM queen.partitions p
    JOIN queen.queues q ON q.id = p.queue_id
    JOIN queen.groups g ON g.id = p_group_id AND g.queue_id = p.queue_id
    LEFT JOIN LATERAL (
        SELECT r.* FROM queen.progress r
        WHERE r.partition_id = p.id AND r.group_id = g.id ORDER BY r.epoch DESC LIMIT 1) s ON true
    -- the end, the time of the newest message, and how far messages are still there
    LEFT JOIN LATERAL (
        SELECT CASE WHEN t.payloads IS NOT NULL THEN t.base_seq + t.count
                    ELSE (SELECT x.base_seq + x.count FROM queen.segments x
                          WHERE x.partition_id = p.id AND x.payloads IS NOT NULL ORDER BY x.base_seq DESC LIMIT 1) END AS live_end,
               t.base_seq + t.count AS seq_end, t.base_seq AS newest_base,
               t.created_at + (t.count - 1) * interval '1 microsecond' AS newest_at
        FROM queen.segments t WHERE t.partition_id = p.id ORDER BY t.base_seq DESC LIMIT 1) n ON true
    CROSS JOIN LATERAL (
        SELECT coalesce(s.cursor, CASE g.start_mode
                   WHEN 'new' THEN (SELECT b.seq FROM queen.group_starts b
                                    WHERE b.group_id = g.id AND b.partition_id = p.id)
                   WHEN 'time' THEN queen.first_seq_at(p.id, g.start_time) END, 0) AS old_cursor,
               -- messages past their retention or maximum wait are never delivered, swept or not
               (SELECT queen.first_seq_at(p.id, p_now - e.seconds * interval '1 second')
                FROM (SELECT least(CASE WHEN coalesce(q.retention_enabled, true) THEN nullif(q.retention_seconds, 0) END,
                                   nullif(q.max_wait_time_seconds, 0)) AS seconds) e
                WHERE e.seconds IS NOT NULL) AS expired_end,
               CASE WHEN q.delayed_processing > 0 THEN queen.first_seq_at(p.id,
                   p_now - q.delayed_processing * interval '1 second' + interval '1 microsecond') END AS due_end,
               CASE WHEN q.window_buffer > 0 THEN
                   CASE WHEN n.newest_at > p_now - q.window_buffer * interval '1 second'
                        THEN coalesce(s.window_end, 0) ELSE n.seq_end END END AS window_end
        OFFSET 0) o
    -- the first message that is still there: retention may have taken some behind the cursor
    LEFT JOIN LATERAL (
        SELECT x.base_seq FROM queen.segments x
        WHERE greatest(o.old_cursor, o.expired_end) < n.newest_base AND x.partition_id = p.id AND x.payloads IS NOT NULL
          AND x.base_seq + x.count > greatest(o.old_cursor, o.expired_end)
          AND x.base_seq >= coalesce((
              SELECT t.base_seq FROM queen.segments t
              WHERE t.partition_id = p.id AND t.base_seq <= greatest(o.old_cursor, o.expired_end)
              ORDER BY t.base_seq DESC LIMIT 1), 0)
        ORDER BY x.base_seq LIMIT 1) h ON true
    CROSS JOIN LATERAL (
        -- the first bit of settled is never set: without a jump nothing else moves the cursor
        SELECT CASE WHEN p.hides OR s.settled IS NOT NULL AND j.cursor > o.old_cursor
                    THEN queen.behind_hidden(p.id, g.id, j.cursor, queen.bits_from(s.settled, j.cursor - o.old_cursor))
                    ELSE j.cursor END AS cursor
        FROM (SELECT greatest(o.old_cursor, o.expired_end, h.base_seq) AS cursor) j OFFSET 0) c
    WHERE p.id = p_partition_id
    OFFSET 0
$$;
