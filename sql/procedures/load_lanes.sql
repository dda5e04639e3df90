-- requires: bits, hidden, lane_state
-- What a broker has to know of lanes to decide about them: one row of the arrays is one lane (partition, group). Answers
-- a row for each that is there; none where partition, queue or group is gone.
--   version .. expires_after   of the queue; expires_after: the shorter of retention and maximum wait in seconds, 0 = never
--   epoch .. window_end        the newest row of queen.progress; without one epoch is 0 and cursor the group's start
--   from_seq                   the first offset that may still be delivered, as `cursor` of lane_state
--   seq_end, live_end, newest_at   of the log, as in lane_state; 0, 0, NULL when nothing was ever pushed
--   segment_*    the segments that still have their messages, rising, from the one that holds from_seq on: as many
--                as p_messages of what is not settled may stand in, and none that begins 10,000 or more
--                offsets behind from_seq; bytes: payloads, transactionIds and meta
--   known_end    every such segment that begins below it is listed; seq_end when all are
--   hidden       which offsets from from_seq on are hidden from the group, as far as a lease may reach; NULL: none
--   now          the database's clock, one value per call
CREATE OR REPLACE FUNCTION queen.load_lanes(p_partitions int[], p_groups int[], p_messages int[])
RETURNS TABLE (ordinal int, queue_id int, version bigint, lease_time int, retry_limit int, retry_delay int,
               max_deliveries int, delayed_processing int, window_buffer int, expires_after int,
               epoch bigint, stamp bigint, cursor bigint, settled text, failed text, attempt_seqs bigint[],
               attempt_counts int[], lease_id uuid, lease_until timestamptz, lease_end bigint, lease_seconds int,
               deliveries int, ready_at timestamptz, window_end bigint,
               from_seq bigint, seq_end bigint, live_end bigint, newest_at timestamptz, segment_bases bigint[],
               segment_counts int[], segment_times timestamptz[], segment_bytes bigint[], known_end bigint,
               hidden text, partition_name text, now timestamptz)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_span_max     CONSTANT int := 10000;   -- how far a lease reaches past the cursor
    v_now          CONSTANT timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    SELECT u.ordinal::int, l.queue_id, l.version, l.lease_time, l.retry_limit, l.retry_delay, l.max_deliveries,
           l.delayed_processing, l.window_buffer, coalesce(l.expires_after, 0),
           coalesce(l.epoch, 0), coalesce(l.stamp, 0), l.old_cursor, l.settled::text, l.failed::text, l.attempt_seqs,
           l.attempt_counts, l.lease_id, l.lease_until, l.lease_end, l.lease_seconds, coalesce(l.deliveries, 0),
           l.ready_at, l.window_end,
           l.cursor, coalesce(l.seq_end, 0), coalesce(l.live_end, 0), l.newest_at, g.bases, g.counts, g.times, g.bytes,
           CASE WHEN g.listed_end < l.live_end THEN g.listed_end ELSE coalesce(l.seq_end, 0) END,
           b.hidden::text, l.partition_name, v_now
    FROM unnest(p_partitions, p_groups, p_messages) WITH ORDINALITY AS u(partition_id, group_id, messages, ordinal)
    CROSS JOIN LATERAL queen.lane_state(u.partition_id, u.group_id, v_now) l
    -- OFFSET 0 as in lane_state
    CROSS JOIN LATERAL (
        SELECT CASE WHEN l.hides THEN queen.hidden_bits(u.partition_id, u.group_id, l.cursor, l.cursor + v_span_max) END AS hidden
        OFFSET 0) b
    CROSS JOIN LATERAL (
        SELECT l.cursor + least(v_span_max, CASE WHEN b.hidden IS NULL AND l.settled IS NULL THEN greatest(u.messages, 1)
                   ELSE queen.bits_behind_zero(queen.bits_or(queen.bits_from(l.settled, l.cursor - l.old_cursor), b.hidden),
                                               greatest(u.messages, 1)) END) AS want_end
        OFFSET 0) w
    LEFT JOIN LATERAL (
        SELECT array_agg(x.base_seq) AS bases, array_agg(x.count) AS counts, array_agg(x.created_at) AS times,
               array_agg(x.bytes) AS bytes, max(x.base_seq + x.count) AS listed_end
        FROM (SELECT s.base_seq, s.count, s.created_at, octet_length(s.payloads)::bigint
                     + coalesce(octet_length(s.txns), 0) + coalesce(octet_length(s.meta), 0) AS bytes
              FROM queen.segments s
              WHERE l.cursor < l.live_end AND s.partition_id = u.partition_id AND s.base_seq < w.want_end
                AND s.payloads IS NOT NULL
                AND s.base_seq >= (SELECT t.base_seq FROM queen.segments t
                                   WHERE t.partition_id = u.partition_id AND t.base_seq <= l.cursor
                                   ORDER BY t.base_seq DESC LIMIT 1)
              ORDER BY s.base_seq LIMIT greatest(u.messages, 1)) x) g ON true;
END $$;
