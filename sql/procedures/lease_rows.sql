-- requires: availability, bits, dead_letter, drop_stale_progress
-- The work of pop_sm_lease (which has the contract); an array, so that pop_messages can read the
-- segments in a statement of its own, whose snapshot is younger than the lease.
CREATE OR REPLACE FUNCTION queen.lease_rows(
    p_requests int[], p_partitions int[], p_groups int[], p_leases uuid[], p_batches int[],
    p_seconds int[], p_auto_acks boolean[], p_max_bytes bigint, p_strict boolean DEFAULT false)
RETURNS queen.lease_row[] LANGUAGE plpgsql AS $$
DECLARE
    v_span_max CONSTANT int := 10000;   -- how far a lease reaches past the cursor
    v_now      timestamptz := clock_timestamp();
    v_rows     queen.lease_row[];
    v_epochs   bigint[];
    v_any_dead boolean;
    v_lost     int[];
BEGIN
    -- A lease may be forgotten by a crash; a settled message may not.
    IF NOT (true = ANY (p_auto_acks)) THEN
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;

    -- OFFSET 0 as in availability
    WITH candidate AS (
        SELECT r.ordinal::int, r.request, r.partition_id, r.group_id, r.lease AS new_lease, r.batch,
               r.auto_ack, a.*, k.*, g.*, least(w.want_end, g.bytes_end) AS most_end,
               CASE WHEN r.seconds > 0 THEN r.seconds ELSE a.lease_time END AS seconds,
               CASE WHEN g.large OR g.bases IS NULL THEN 0
                    ELSE greatest(0, least(w.want_end, g.bytes_end) - a.cursor - coalesce(bit_count(substring(
                        a.settled FROM 1 FOR greatest(0, least(w.want_end, g.bytes_end) - a.cursor)::int)), 0)) END AS available
        FROM unnest(p_requests, p_partitions, p_groups, p_leases, p_batches, p_seconds, p_auto_acks)
             WITH ORDINALITY AS r(request, partition_id, group_id, lease, batch, seconds, auto_ack, ordinal)
        LEFT JOIN LATERAL queen.availability(r.partition_id, r.group_id, v_now) a ON true
        CROSS JOIN LATERAL (
            SELECT coalesce(a.state = 'held' AND a.lease_id = r.lease, false) AS same_lease,
                   coalesce(a.state = 'ready' AND a.max_deliveries > 0 AND a.deliveries >= a.max_deliveries
                            AND a.lease_id IS NOT NULL AND a.cursor = a.old_cursor, false) AS dead_head
            OFFSET 0) k
        LEFT JOIN LATERAL (
            SELECT CASE WHEN k.same_lease THEN a.lease_end
                        ELSE least(a.cursor + queen.bits_behind_zero(a.settled, r.batch), a.avail_end,
                                   a.cursor + v_span_max) END AS want_end
            WHERE k.same_lease OR a.state = 'ready' AND NOT k.dead_head OFFSET 0) w ON true
        LEFT JOIN LATERAL (
            SELECT max(x.base_seq + x.count) AS bytes_end, max(x.bytes) AS bytes,
                   coalesce(p_strict AND NOT k.same_lease AND min(x.bytes) > p_max_bytes, false) AS large,
                   coalesce(array_agg(x.base_seq), CASE WHEN k.same_lease THEN '{}'::bigint[] END) AS bases,
                   coalesce(array_agg(x.count), CASE WHEN k.same_lease THEN '{}'::int[] END) AS counts,
                   coalesce(array_agg(x.created_at), CASE WHEN k.same_lease THEN '{}'::timestamptz[] END) AS times
            FROM (SELECT s.base_seq, s.count, s.created_at, sum(octet_length(s.payloads) + CASE WHEN p_strict
                         THEN coalesce(octet_length(s.txns), 0) + coalesce(octet_length(s.meta), 0) ELSE 0 END) OVER before AS bytes,
                         row_number() OVER before AS place,
                         s.base_seq + s.count - sum(s.count) OVER before = first_value(s.base_seq) OVER before AS joined
                  FROM queen.segments s
                  WHERE s.partition_id = r.partition_id AND s.base_seq < w.want_end AND s.payloads IS NOT NULL
                    AND s.base_seq >= (SELECT t.base_seq FROM queen.segments t
                                       WHERE t.partition_id = r.partition_id AND t.base_seq <= a.cursor
                                       ORDER BY t.base_seq DESC LIMIT 1)
                  WINDOW before AS (ORDER BY s.base_seq) ORDER BY s.base_seq) x
            WHERE (x.place = 1 OR x.bytes <= p_max_bytes OR k.same_lease) AND x.joined) g ON true  -- not across a hole
    ), shared AS (  -- what the earlier rows of the same pop leave of its batch, and of its bytes
        SELECT c.*, CASE WHEN p_strict AND sum(c.bytes) FILTER (WHERE NOT c.large) OVER earlier > p_max_bytes THEN 0
                         ELSE least(c.available, c.batch - (sum(c.available) OVER earlier - c.available)) END::int AS take,
               row_number() OVER (PARTITION BY c.partition_id, c.group_id ORDER BY c.ordinal) AS copy
        FROM candidate c WINDOW earlier AS (PARTITION BY c.request ORDER BY c.ordinal)
    ), given AS MATERIALIZED (
        SELECT s.*, e.end_seq, coalesce(width_bucket(e.end_seq - 1, s.bases), 0) AS used, n.*  -- bases below end_seq
        FROM shared s
        CROSS JOIN LATERAL (
            SELECT CASE WHEN s.same_lease THEN s.lease_end
                        WHEN s.take > 0 THEN least(s.most_end, s.cursor
                             + queen.bits_behind_zero(s.settled, s.take)) END AS end_seq OFFSET 0) e
        CROSS JOIN LATERAL (
            -- a dead head or an automatic ack settles at once; a lease leaves the cursor where it is
            SELECT CASE WHEN s.dead_head THEN s.cursor + 1 + queen.bits_leading(queen.bits_from(s.settled, 1))
                        WHEN s.auto_ack THEN e.end_seq
                             + queen.bits_leading(queen.bits_from(s.settled, e.end_seq - s.cursor))
                        ELSE s.cursor END AS new_cursor,
                   NOT s.dead_head AND NOT s.auto_ack AS leases) n
    ), inserted AS (
        INSERT INTO queen.progress (partition_id, group_id, epoch, cursor, settled, attempt_seqs,
            attempt_counts, lease_id, lease_until, lease_end, lease_seconds, deliveries, window_end, changed_at)
        SELECT g.partition_id, g.group_id, coalesce(g.epoch, 0) + 1, g.new_cursor,
               queen.bits_from(g.settled, g.new_cursor - g.cursor), g.attempt_seqs, g.attempt_counts,
               CASE WHEN g.leases THEN g.new_lease END,
               CASE WHEN g.leases THEN v_now + g.seconds * interval '1 second' END,
               CASE WHEN g.leases THEN g.end_seq END, CASE WHEN g.leases THEN g.seconds END,
               CASE WHEN NOT g.leases THEN 0 WHEN g.new_cursor = g.old_cursor THEN g.deliveries + 1 ELSE 1 END,
               g.window_end, v_now
        FROM given g
        WHERE g.copy = 1 AND (g.dead_head OR g.state = 'ready' AND g.take > 0)
        ORDER BY g.partition_id, g.group_id
        ON CONFLICT DO NOTHING
        RETURNING queen.progress.partition_id, queen.progress.group_id, queen.progress.epoch
    )
    SELECT array_agg(ROW(r.ordinal, r.partition_id, r.group_id, r.new_epoch, r.new_state, r.ready_in_ms, r.cursor,
               CASE WHEN r.large THEN r.bytes ELSE r.end_seq END,
               r.until, r.settled, r.attempt_seqs, r.attempt_counts,
               r.bases[1:r.used], r.counts[1:r.used], r.times[1:r.used])::queen.lease_row),
           array_agg(r.new_epoch), bool_or(r.dead_head)
    INTO v_rows, v_epochs, v_any_dead
    FROM (SELECT g.*, CASE WHEN g.copy = 1 THEN i.epoch END AS new_epoch,
                 CASE WHEN g.state IS NULL THEN 'gone'
                      WHEN g.copy > 1 THEN 'again'
                      WHEN g.same_lease THEN 'leased'
                      WHEN g.state <> 'ready' THEN g.state
                      WHEN g.dead_head THEN 'again'
                      WHEN g.large THEN 'large'
                      WHEN g.bases IS NULL THEN 'empty'
                      WHEN g.take <= 0 THEN 'full'
                      WHEN i.epoch IS NULL THEN 'again'
                      ELSE 'leased' END AS new_state,
                 CASE WHEN g.same_lease OR g.state = 'ready' AND g.end_seq < g.avail_end THEN 0
                      WHEN g.ready_at IS NOT NULL  -- greatest() passes over NULL
                      THEN greatest(0, ceil(extract(epoch FROM g.ready_at - v_now) * 1000))::bigint END AS ready_in_ms,
                 CASE WHEN g.state = 'held' THEN g.lease_until
                      WHEN g.leases AND g.take > 0 THEN v_now + g.seconds * interval '1 second' END AS until
          -- FULL, although each row inserted was given: the planner cannot make it a nested loop
          FROM given g FULL JOIN inserted i ON i.partition_id = g.partition_id AND i.group_id = g.group_id
          ORDER BY g.ordinal) r;

    v_lost := queen.drop_stale_progress(p_partitions, p_groups, v_epochs);

    IF v_any_dead THEN   -- the message at the head that no consumer survived
        PERFORM queen.dead_letter(
            array_agg(r.partition_id), array_agg(r.group_id), array_agg(r.cursor),
            array_agg('delivered too often without a verdict'::text),
            array_agg(coalesce(r.attempt_counts[array_position(r.attempt_seqs, r.cursor)], 0)))
        FROM unnest(v_rows) r
        WHERE r.state = 'again' AND r.epoch IS NOT NULL AND NOT r.ordinal = ANY (v_lost)
        HAVING count(*) > 0;
    END IF;

    IF cardinality(v_lost) > 0 THEN
        SELECT array_agg(CASE WHEN r.ordinal = ANY (v_lost)
            THEN ROW(r.ordinal, r.partition_id, r.group_id, NULL, 'again', NULL, NULL, NULL, NULL, NULL,
                     NULL, NULL, NULL, NULL, NULL)::queen.lease_row
            ELSE r END ORDER BY r.ordinal) INTO v_rows
        FROM unnest(v_rows) r;
    END IF;
    RETURN v_rows;
END $$;
