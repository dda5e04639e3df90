-- requires: bits, first_seq_at, hidden
-- Where group p_group_id stands on partition p_partition_id at p_now, and what the queue's options say about it. No
-- row: partition, queue or group is gone.
--   epoch ..    the newest row of queen.progress; without one epoch is NULL and old_cursor the group's start
--   seq_end     the end of the log; live_end without messages at the end that are gone; newest_at: when the last
--               message was created. NULL when nothing was ever pushed
--   cursor      the first offset that may still be delivered: past what is settled, expired, deleted, hidden from the
--               group or before its start. A message is really there, unless cursor is not below live_end
-- The planner puts this into the statements that use it: what they do not ask for costs nothing.
CREATE OR REPLACE FUNCTION queen.lane_state(p_partition_id int, p_group_id int, p_now timestamptz)
RETURNS TABLE (partition_name text, hides boolean, queue_id int, version bigint, lease_time int, retry_limit int,
               retry_delay int, max_deliveries int, delayed_processing int, window_buffer int, expires_after int,
               epoch bigint, stamp bigint, old_cursor bigint, settled bit varying, failed bit varying,
               attempt_seqs bigint[], attempt_counts int[], lease_id uuid, lease_until timestamptz, lease_end bigint,
               lease_seconds int, deliveries int, ready_at timestamptz, window_end bigint,
               seq_end bigint, live_end bigint, newest_at timestamptz, cursor bigint)
LANGUAGE sql STABLE ROWS 1 AS $$
    -- OFFSET 0: a lateral step that the planner folds into the next is computed once per mention of it. Few
    -- steps: the start of the statement is most of what a lease of one partition costs.
    SELECT p.name, p.hides, q.id, q.version, q.lease_time, q.retry_limit, q.retry_delay, q.max_deliveries,
           q.delayed_processing, q.window_buffer, o.expires_after,
           s.epoch, s.stamp, o.old_cursor, s.settled, s.failed, s.attempt_seqs, s.attempt_counts, s.lease_id,
           s.lease_until, s.lease_end, s.lease_seconds, s.deliveries, s.ready_at, s.window_end,
           n.seq_end, n.live_end, n.newest_at, c.cursor
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
               e.seconds AS expires_after,
               -- messages past their retention or maximum wait are never delivered, swept or not
               CASE WHEN e.seconds IS NOT NULL THEN queen.first_seq_at(p.id, p_now - e.seconds * interval '1 second') END AS expired_end
        FROM (SELECT least(CASE WHEN coalesce(q.retention_enabled, true) THEN nullif(q.retention_seconds, 0) END,
                           nullif(q.max_wait_time_seconds, 0)) AS seconds) e
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
$$;
