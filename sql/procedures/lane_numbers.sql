-- requires: bits, first_seq_at, hidden
-- What is stored in partitions, and what each group has still to do there: offset arithmetic, a few index probes a
-- lane, whatever the number of messages. Times and leases are judged at p_now.
-- Rows: one per partition that exists, with group_id NULL, about its log; one per partition and group of its queue
-- (p_group NULL: every group), about the lane:
--   first, seq_end   offsets of what is stored and not expired: in between, but for holes
--   amount           log: messages stored. Lane: messages the group has still to consume
--   processing       of these, under a lease that lives, without a verdict
--   failed_seqs      of these, have failed and are to be delivered again; NULL: none
--   dead_letters     of the lane
--   cursor, settled  lane: the first message to consume (seq_end: none), and the bitmap from there on; what is hidden from
--                    the group counts as settled, as far as a million messages behind the cursor
--   lease_id, lease_until, lease_end, not_leased   lane: the lease, if it lives; bits from cursor on that it does not cover
--   oldest_at        of the first message stored, or to be consumed; NULL: there is none
--   newest_at        log: of the newest message, also if it is gone
--   changed_at       lane: when the group last took or settled something there; NULL: never
--   passed           lane: the offset up to which the group has read
CREATE OR REPLACE FUNCTION queen.lane_numbers(p_partitions int[], p_group text, p_now timestamptz)
RETURNS TABLE (queue_id int, partition_id int, group_id int, first bigint, seq_end bigint, amount bigint, processing bigint,
               failed_seqs bigint[], dead_letters bigint, cursor bigint, settled bit varying, lease_id uuid,
               lease_until timestamptz, lease_end bigint, not_leased bit varying, oldest_at timestamptz,
               newest_at timestamptz, changed_at timestamptz, passed bigint)
LANGUAGE plpgsql STABLE ROWS 1000 AS $$
BEGIN
    RETURN QUERY
    WITH log AS MATERIALIZED (
        SELECT p.queue_id, p.id, p.hides, coalesce(n.seq_end, 0) AS seq_end, n.newest_at, h.bases, h.ends,
               least(coalesce(greatest(o.first, CASE WHEN e.seconds IS NOT NULL
                   THEN queen.first_seq_at(p.id, p_now - e.seconds * interval '1 second') END), 0),
                   coalesce(n.seq_end, 0)) AS first
        FROM unnest(p_partitions) AS u(id)
        JOIN queen.partitions p ON p.id = u.id
        JOIN queen.queues q ON q.id = p.queue_id
        CROSS JOIN LATERAL (
            SELECT least(CASE WHEN coalesce(q.retention_enabled, true) THEN nullif(q.retention_seconds, 0) END,
                         nullif(q.max_wait_time_seconds, 0)) AS seconds) e
        LEFT JOIN LATERAL (
            SELECT s.base_seq + s.count AS seq_end, s.created_at + (s.count - 1) * interval '1 microsecond' AS newest_at
            FROM queen.segments s WHERE s.partition_id = p.id ORDER BY s.base_seq DESC LIMIT 1) n ON true
        LEFT JOIN LATERAL (  -- a blanked segment has no messages
            SELECT s.base_seq + CASE WHEN s.payloads IS NULL THEN s.count ELSE 0 END AS first FROM queen.segments s
            WHERE s.partition_id = p.id ORDER BY s.base_seq LIMIT 1) o ON true
        LEFT JOIN LATERAL (
            SELECT array_agg(x.base_seq) AS bases, array_agg(x.base_seq + x.count) AS ends
            FROM queen.holes x WHERE x.partition_id = p.id) h ON true
    ), dead AS MATERIALIZED (
        SELECT d.partition_id, d.group_id, count(*) AS letters FROM queen.dead_letters d
        WHERE d.partition_id = ANY (p_partitions) GROUP BY d.partition_id, d.group_id
    ), state AS MATERIALIZED (
        SELECT l.queue_id, l.id, l.hides, g.id AS group_id, l.first, l.seq_end, l.bases, l.ends, r.attempt_seqs, r.failed, r.changed_at,
               r.lease_id, r.lease_until, r.lease_end, b.begun, r.settled AS all_settled,
               -- the first bit of settled is never set: without a jump nothing else moves the cursor
               CASE WHEN l.hides OR r.settled IS NOT NULL AND c.cursor > b.begun
                    THEN least(l.seq_end, queen.behind_hidden(l.id, g.id, c.cursor, queen.bits_from(r.settled, c.cursor - b.begun)))
                    ELSE c.cursor END AS cursor
        FROM log l
        JOIN queen.groups g ON g.queue_id = l.queue_id AND (p_group IS NULL OR g.name = p_group)
        LEFT JOIN LATERAL (
            SELECT x.* FROM queen.progress x
            WHERE x.partition_id = l.id AND x.group_id = g.id ORDER BY x.epoch DESC LIMIT 1) r ON true
        CROSS JOIN LATERAL (
            SELECT coalesce(r.cursor, CASE g.start_mode
                WHEN 'new' THEN (SELECT s.seq FROM queen.group_starts s WHERE s.group_id = g.id AND s.partition_id = l.id)
                WHEN 'time' THEN queen.first_seq_at(l.id, g.start_time) END, 0) AS begun OFFSET 0) b
        CROSS JOIN LATERAL (
            SELECT least(greatest(b.begun, l.first), l.seq_end) AS place OFFSET 0) a
        CROSS JOIN LATERAL (  -- never in a hole
            SELECT CASE WHEN l.bases IS NULL THEN a.place ELSE coalesce((
                SELECT x.seq_end FROM unnest(l.bases, l.ends) AS x(base, seq_end)
                WHERE x.base <= a.place AND x.seq_end > a.place), a.place) END AS cursor OFFSET 0) c
    ), lane AS (
        SELECT s.*, CASE WHEN s.hides THEN queen.bits_or(queen.bits_from(s.all_settled, s.cursor - s.begun),
                             queen.hidden_bits(s.id, s.group_id, s.cursor, least(s.seq_end, s.cursor + 1000000)))
                         ELSE queen.bits_from(s.all_settled, s.cursor - s.begun) END AS rest,
               s.lease_id IS NOT NULL AND s.lease_until > p_now AND s.lease_end > s.cursor AS leased
        FROM state s
    )
    SELECT l.queue_id, l.id, NULL::int, l.first, l.seq_end,
           l.seq_end - l.first - queen.hole_messages(l.bases, l.ends, l.first)
               - CASE WHEN l.hides THEN queen.hidden_count(l.id, NULL, l.first, l.seq_end) ELSE 0 END,
           NULL::bigint, NULL::bigint[], NULL::bigint, NULL::bigint, NULL::bit varying, NULL::uuid, NULL::timestamptz,
           NULL::bigint, NULL::bit varying,
           CASE WHEN l.first < l.seq_end THEN queen.message_time(l.id, l.first) END, l.newest_at, NULL::timestamptz, NULL::bigint
    FROM log l
    UNION ALL
    SELECT l.queue_id, l.id, l.group_id, l.first, l.seq_end, a.pending,
           CASE WHEN l.leased THEN least(l.lease_end, l.seq_end) - l.cursor - coalesce(bit_count(substring(
               k.closed FROM 1 FOR (least(l.lease_end, l.seq_end) - l.cursor)::int)), 0) ELSE 0 END,
           CASE WHEN l.attempt_seqs IS NOT NULL THEN (
               SELECT array_agg(t.seq ORDER BY t.seq) FROM unnest(l.attempt_seqs) AS t(seq)
               WHERE t.seq >= l.cursor AND t.seq < l.seq_end AND NOT queen.bits_get(l.rest, t.seq - l.cursor)) END,
           coalesce(d.letters, 0), l.cursor, l.rest,
           CASE WHEN l.leased THEN l.lease_id END, CASE WHEN l.leased THEN l.lease_until END,
           CASE WHEN l.leased THEN least(l.lease_end, l.seq_end) END, k.closed,
           CASE WHEN a.pending > 0 THEN queen.message_time(l.id, l.cursor) END, NULL, l.changed_at, l.cursor
    FROM lane l
    CROSS JOIN LATERAL (
        SELECT greatest(0, l.seq_end - l.cursor - coalesce(bit_count(l.rest), 0)
                           - queen.hole_messages(l.bases, l.ends, l.cursor)
                           - CASE WHEN l.hides THEN queen.hidden_count(l.id, l.group_id, l.cursor, l.seq_end, l.rest) ELSE 0 END)
                   AS pending OFFSET 0) a
    CROSS JOIN LATERAL (
        SELECT CASE WHEN l.leased THEN queen.bits_or(l.rest, queen.bits_from(l.failed, l.cursor - l.begun)) END AS closed OFFSET 0) k
    LEFT JOIN dead d ON d.partition_id = l.id AND d.group_id = l.group_id;
END $$;

-- How many offsets from p_from on lie in holes.
CREATE OR REPLACE FUNCTION queen.hole_messages(p_bases bigint[], p_ends bigint[], p_from bigint)
RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF p_bases IS NULL THEN RETURN 0; END IF;
    RETURN (SELECT sum(greatest(0, x.seq_end - greatest(x.base, p_from))) FROM unnest(p_bases, p_ends) AS x(base, seq_end));
END $$;

-- When the message at an offset was pushed. REQUIRES: it is stored
CREATE OR REPLACE FUNCTION queen.message_time(p_partition_id int, p_seq bigint)
RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT s.created_at + (p_seq - s.base_seq) * interval '1 microsecond' FROM queen.segments s
            WHERE s.partition_id = p_partition_id AND s.base_seq <= p_seq ORDER BY s.base_seq DESC LIMIT 1);
END $$;

-- What the lanes of one partition come to, each message counted once. The arguments are arrays of lane_numbers' columns,
-- an element per group of the queue; NULL: the queue has no group.
CREATE OR REPLACE FUNCTION queen.partition_pending(p_stored bigint, p_cursors bigint[], p_amounts bigint[],
                                                  p_settled bit varying[])
RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_least  bigint;
    v_length int;
BEGIN
    IF p_cursors IS NULL THEN RETURN p_stored; END IF;
    IF cardinality(p_cursors) = 1 THEN RETURN p_amounts[1]; END IF;
    -- The slowest group misses most of what any of them does: all but what others have not settled of its settled.
    SELECT c.cursor, c.length INTO v_least, v_length
    FROM (SELECT u.cursor, coalesce(length(u.settled), 0) AS length FROM unnest(p_cursors, p_settled) AS u(cursor, settled)
          ORDER BY 1, 2 LIMIT 1) c;
    RETURN (SELECT max(u.amount + coalesce(bit_count(u.settled), 0))
            FROM unnest(p_cursors, p_amounts, p_settled) AS u(cursor, amount, settled) WHERE u.cursor = v_least)
         - CASE WHEN v_length = 0 THEN 0 ELSE (
            SELECT bit_count(bit_and(queen.bits_resize(CASE WHEN u.cursor > v_least
                       THEN repeat('1', least(u.cursor - v_least, v_length)::int)::bit varying ELSE B'' END
                       || coalesce(u.settled, B''), v_length)))
            FROM unnest(p_cursors, p_settled) AS u(cursor, settled)) END;
END $$;

CREATE OR REPLACE FUNCTION queen.partition_processing(p_cursors bigint[], p_lease_ends bigint[], p_not_leased bit varying[],
                                                     p_processing bigint[])
RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF cardinality(array_remove(p_lease_ends, NULL)) <= 1 THEN RETURN (SELECT sum(n) FROM unnest(p_processing) AS n); END IF;
    RETURN (SELECT count(DISTINCT i.seq) FROM unnest(p_cursors, p_lease_ends, p_not_leased) AS u(cursor, lease_end, closed)
            CROSS JOIN LATERAL generate_series(u.cursor, u.lease_end - 1) AS i(seq)
            WHERE NOT queen.bits_get(u.closed, i.seq - u.cursor));
END $$;
