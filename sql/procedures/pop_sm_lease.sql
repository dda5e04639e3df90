-- requires: availability, bits, dead_letter
-- Leases partitions to groups: one row of the arrays is one (partition, group), each at most once
-- in a call. Rows with the same p_requests value belong to one pop: together they give at most
-- p_batches messages, in the order of the rows.
--   p_leases     the lease id, made by the caller: leasing again with it returns the same lease
--   p_seconds    length of the lease, 0 = the queue's
--   p_auto_acks  settle what is delivered at once and hold no lease
--   p_max_bytes  what one partition may give; at least one segment
-- Answers a row for each:
--   leased   deliver [cursor, lease_end) without the settled; the segments to read are named
--   held, retry, delayed, window   not now; ready_in_ms says when to ask again
--   empty    nothing there          gone   no such partition, queue or group
--   full     the pop's batch was filled by earlier rows
--   again    ask again at once: another caller was faster, or the first message was dead-lettered
CREATE OR REPLACE FUNCTION queen.pop_sm_lease(
    p_requests int[], p_partitions int[], p_groups int[], p_leases uuid[], p_batches int[],
    p_seconds int[], p_auto_acks boolean[], p_max_bytes bigint)
RETURNS TABLE (ordinal int, state text, ready_in_ms bigint, cursor bigint, lease_end bigint,
               lease_until timestamptz, settled bit varying, attempt_seqs bigint[], attempt_counts int[],
               segment_bases bigint[], segment_counts int[], segment_times timestamptz[])
LANGUAGE plpgsql AS $$
DECLARE
    v_span_max CONSTANT int := 10000;   -- how far a lease reaches past the cursor
    v_now      timestamptz := clock_timestamp();
    v_rows     queen.lease_row[];
    v_lost     int[];
BEGIN
    -- A lease may be forgotten by a crash; a settled message may not.
    IF NOT (true = ANY (p_auto_acks)) THEN
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;

    WITH candidate AS MATERIALIZED (
        SELECT r.ordinal::int, r.request, r.partition_id, r.group_id, r.lease AS new_lease, r.batch,
               r.auto_ack, a.*,
               CASE WHEN r.seconds > 0 THEN r.seconds ELSE a.lease_time END AS seconds,
               a.state = 'ready' AND a.max_deliveries > 0 AND a.deliveries >= a.max_deliveries
                   AND a.lease_id IS NOT NULL AND a.cursor = a.old_cursor AS dead_head
        FROM unnest(p_requests, p_partitions, p_groups, p_leases, p_batches, p_seconds, p_auto_acks)
             WITH ORDINALITY AS r(request, partition_id, group_id, lease, batch, seconds, auto_ack, ordinal)
        LEFT JOIN LATERAL queen.availability(r.partition_id, r.group_id, v_now) a ON true
    ), placed AS MATERIALIZED (  -- the first message that is really there
        SELECT c.ordinal, c.request, c.batch, c.settled AS all_settled, c.avail_end,
               greatest(c.cursor, g.live_base) AS start, c.cursor AS old_start
        FROM candidate c
        CROSS JOIN LATERAL (
            SELECT s.base_seq AS live_base FROM queen.segments s
            WHERE s.partition_id = c.partition_id AND s.payloads IS NOT NULL
              AND s.base_seq >= coalesce((
                  SELECT t.base_seq FROM queen.segments t
                  WHERE t.partition_id = c.partition_id AND t.base_seq <= c.cursor
                  ORDER BY t.base_seq DESC LIMIT 1), 0)
              AND s.base_seq + s.count > c.cursor
            ORDER BY s.base_seq LIMIT 1) g
        WHERE c.state = 'ready' AND NOT c.dead_head
    ), started AS MATERIALIZED (  -- a jump over what retention took may land on settled messages
        SELECT p.ordinal, p.request, p.batch, p.avail_end,
               p.start + queen.bits_leading(queen.bits_from(p.all_settled, p.start - p.old_start)) AS start,
               queen.bits_from(p.all_settled, p.start - p.old_start
                   + queen.bits_leading(queen.bits_from(p.all_settled, p.start - p.old_start))) AS settled
        FROM placed p
    ), wanted AS MATERIALIZED (
        SELECT s.*, least(s.start + queen.bits_behind_zero(s.settled, s.batch), s.avail_end,
                          s.start + v_span_max) AS want_end
        FROM started s
    ), sized AS MATERIALIZED (
        SELECT w.*, least(w.want_end, g.bytes_end) AS end_seq, g.bases, g.counts, g.times,
               least(w.want_end, g.bytes_end) - w.start - coalesce(bit_count(
                   substring(w.settled FROM 1 FOR (least(w.want_end, g.bytes_end) - w.start)::int)), 0) AS available
        FROM wanted w
        JOIN candidate c USING (ordinal)
        CROSS JOIN LATERAL (
            SELECT max(x.base_seq + x.count) AS bytes_end, array_agg(x.base_seq ORDER BY x.base_seq) AS bases,
                   array_agg(x.count ORDER BY x.base_seq) AS counts, array_agg(x.created_at ORDER BY x.base_seq) AS times
            FROM (SELECT s.base_seq, s.count, s.created_at,
                         sum(octet_length(s.payloads)) OVER (ORDER BY s.base_seq) AS bytes,
                         row_number() OVER (ORDER BY s.base_seq) AS place
                  FROM queen.segments s
                  WHERE s.partition_id = c.partition_id AND s.base_seq < w.want_end
                    AND s.base_seq >= (SELECT t.base_seq FROM queen.segments t
                                       WHERE t.partition_id = c.partition_id AND t.base_seq <= w.start
                                       ORDER BY t.base_seq DESC LIMIT 1)) x
            WHERE x.place = 1 OR x.bytes <= p_max_bytes) g
        WHERE w.start < w.want_end
    ), shared AS MATERIALIZED (  -- what the earlier rows of the same pop leave of its batch
        SELECT s.*, least(s.available, s.batch - (sum(s.available) OVER (
                   PARTITION BY s.request ORDER BY s.ordinal) - s.available))::int AS take
        FROM sized s
    ), given AS MATERIALIZED (
        SELECT s.ordinal, s.start, s.settled, s.bases, s.counts, s.times, s.take,
               least(s.end_seq, s.start + queen.bits_behind_zero(s.settled, greatest(s.take, 1))) AS end_seq
        FROM shared s
    ), inserted AS (
        INSERT INTO queen.progress (partition_id, group_id, epoch, cursor, settled, attempt_seqs,
            attempt_counts, lease_id, lease_until, lease_end, lease_seconds, deliveries, window_end, changed_at)
        SELECT c.partition_id, c.group_id, coalesce(c.epoch, 0) + 1, n.cursor,
               queen.bits_from(n.settled, n.cursor - n.base), c.attempt_seqs, c.attempt_counts,
               CASE WHEN n.leases THEN c.new_lease END,
               CASE WHEN n.leases THEN v_now + c.seconds * interval '1 second' END,
               CASE WHEN n.leases THEN n.end_seq END, CASE WHEN n.leases THEN c.seconds END,
               CASE WHEN NOT n.leases THEN 0 WHEN n.cursor = c.old_cursor THEN c.deliveries + 1 ELSE 1 END,
               c.window_end, v_now
        FROM candidate c
        LEFT JOIN given g ON g.ordinal = c.ordinal
        CROSS JOIN LATERAL (
            -- a dead head or an automatic ack settles at once; a lease leaves the cursor where it is
            SELECT CASE WHEN c.dead_head THEN c.cursor + 1
                             + queen.bits_leading(queen.bits_from(c.settled, 1))
                        WHEN c.auto_ack THEN g.end_seq
                             + queen.bits_leading(queen.bits_from(g.settled, g.end_seq - g.start))
                        ELSE g.start END AS cursor,
                   CASE WHEN c.dead_head THEN c.settled ELSE g.settled END AS settled,
                   CASE WHEN c.dead_head THEN c.cursor ELSE g.start END AS base,
                   g.end_seq, NOT c.dead_head AND NOT c.auto_ack AS leases) n
        WHERE c.dead_head OR g.take > 0
        ORDER BY c.partition_id, c.group_id
        ON CONFLICT DO NOTHING
        RETURNING queen.progress.partition_id, queen.progress.group_id, queen.progress.epoch
    )
    SELECT array_agg(ROW(c.ordinal, c.partition_id, c.group_id, i.epoch,
               CASE WHEN c.state IS NULL THEN 'gone'
                    WHEN c.state = 'held' AND c.lease_id = c.new_lease THEN 'leased'
                    WHEN c.state <> 'ready' THEN c.state
                    WHEN g.ordinal IS NULL AND NOT c.dead_head THEN 'empty'
                    WHEN g.take <= 0 THEN 'full'
                    WHEN c.dead_head OR i.epoch IS NULL THEN 'again'
                    ELSE 'leased' END,
               c.ready_at,
               coalesce(g.start, c.cursor), coalesce(g.end_seq, c.lease_end),
               CASE WHEN c.state = 'held' THEN c.lease_until
                    ELSE v_now + c.seconds * interval '1 second' END,
               CASE WHEN g.ordinal IS NULL THEN c.settled ELSE g.settled END,
               c.attempt_seqs, c.attempt_counts, g.bases, g.counts, g.times)::queen.lease_row
               ORDER BY c.ordinal)
    INTO v_rows
    FROM candidate c
    LEFT JOIN given g ON g.ordinal = c.ordinal
    LEFT JOIN inserted i ON i.partition_id = c.partition_id AND i.group_id = c.group_id;

    v_lost := queen.drop_stale_progress(
        ARRAY(SELECT r.ordinal FROM unnest(v_rows) r WHERE r.epoch IS NOT NULL ORDER BY r.ordinal),
        ARRAY(SELECT r.partition_id FROM unnest(v_rows) r WHERE r.epoch IS NOT NULL ORDER BY r.ordinal),
        ARRAY(SELECT r.group_id FROM unnest(v_rows) r WHERE r.epoch IS NOT NULL ORDER BY r.ordinal),
        ARRAY(SELECT r.epoch FROM unnest(v_rows) r WHERE r.epoch IS NOT NULL ORDER BY r.ordinal));

    -- The message at the head that no consumer survived.
    PERFORM queen.dead_letter(
        array_agg(r.partition_id), array_agg(r.group_id), array_agg(r.cursor),
        array_agg('delivered too often without a verdict'::text),
        array_agg(coalesce(r.attempt_counts[array_position(r.attempt_seqs, r.cursor)], 0)))
    FROM unnest(v_rows) r
    WHERE r.state = 'again' AND r.epoch IS NOT NULL AND NOT r.ordinal = ANY (v_lost)
    HAVING count(*) > 0;

    RETURN QUERY
    SELECT r.ordinal, CASE WHEN r.ordinal = ANY (v_lost) THEN 'again' ELSE r.state END,
           greatest(0, ceil(extract(epoch FROM r.ready_at - v_now) * 1000))::bigint,
           r.cursor, r.lease_end, r.lease_until, r.settled, r.attempt_seqs, r.attempt_counts,
           coalesce(r.segment_bases, s.bases), coalesce(r.segment_counts, s.counts), coalesce(r.segment_times, s.times)
    FROM unnest(v_rows) r
    LEFT JOIN LATERAL (  -- a lease taken again: its segments were not read above
        SELECT array_agg(t.base_seq ORDER BY t.base_seq) AS bases, array_agg(t.count ORDER BY t.base_seq) AS counts,
               array_agg(t.created_at ORDER BY t.base_seq) AS times
        FROM queen.segments t
        WHERE r.state = 'leased' AND r.segment_bases IS NULL
          AND t.partition_id = r.partition_id AND t.base_seq < r.lease_end
          AND t.base_seq + t.count > r.cursor AND t.base_seq >= r.cursor - 1000000) s ON true
    ORDER BY r.ordinal;
END $$;
