-- requires: bits, first_seq_at, hidden
-- What is stored in partitions, and what each group has still to consume there: offset arithmetic, whatever the number of
-- messages. Messages expire by p_now.
-- Rows: one per partition that exists, with group_id NULL, about its log; one per partition and group of its queue
-- (p_group NULL: every group), about the lane:
--   first, seq_end   offsets of what is stored and not expired: in between, but for holes
--   amount           log: messages stored. Lane: messages the group has still to consume
--   cursor, settled  lane: the first message to consume (seq_end: none), and the bitmap from there on; what is hidden from
--                    the group counts as settled, as far as a million messages behind the cursor
--   newest_at        log: of the newest message, also if it is gone
--   failed, attempt_seqs, lease_id, lease_until, lease_end, changed_at   lane: of queen.progress, failed from cursor on
--
-- Cost: four index probes a partition, with that of its holes where any partition has some, and one a lane; a binary
-- search each for queues whose messages expire and for groups that start at a time. No key comes twice, so nothing is
-- worth remembering between two probes (enable_memoize).
CREATE OR REPLACE FUNCTION queen.lanes(p_partitions int[], p_group text, p_now timestamptz)
RETURNS TABLE (queue_id int, partition_id int, group_id int, first bigint, seq_end bigint, amount bigint, cursor bigint,
               settled bit varying, newest_at timestamptz, failed bit varying, attempt_seqs bigint[], lease_id uuid,
               lease_until timestamptz, lease_end bigint, changed_at timestamptz)
LANGUAGE plpgsql STABLE ROWS 1000 SET enable_memoize = off AS $$
DECLARE
    v_holes boolean := EXISTS (SELECT FROM queen.holes);
BEGIN
    RETURN QUERY
    WITH log AS MATERIALIZED (
        SELECT p.queue_id, p.id, p.hides, coalesce(n.seq_end, 0) AS seq_end, n.newest_at, h.bases, h.ends,
               least(coalesce(greatest(o.first, CASE WHEN e.seconds IS NOT NULL
                   THEN queen.first_seq_at(p.id, p_now - e.seconds * interval '1 second') END), 0),
                   coalesce(n.seq_end, 0)) AS first
        FROM unnest(p_partitions) AS u(id)
        CROSS JOIN LATERAL (SELECT x.id, x.queue_id, x.hides FROM queen.partitions x WHERE x.id = u.id OFFSET 0) p
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
            FROM queen.holes x WHERE v_holes AND x.partition_id = p.id GROUP BY x.partition_id) h ON true
    ), begun AS (
        SELECT l.*, g.id AS group_id, r.settled, r.failed, r.attempt_seqs, r.lease_id, r.lease_until, r.lease_end, r.changed_at,
               coalesce(r.cursor, CASE g.start_mode
                   WHEN 'new' THEN (SELECT s.seq FROM queen.group_starts s WHERE s.group_id = g.id AND s.partition_id = l.id)
                   WHEN 'time' THEN queen.first_seq_at(l.id, g.start_time) END, 0) AS begun
        FROM log l
        JOIN queen.groups g ON g.queue_id = l.queue_id AND (p_group IS NULL OR g.name = p_group)
        LEFT JOIN LATERAL (
            SELECT x.* FROM queen.progress x
            WHERE x.partition_id = l.id AND x.group_id = g.id ORDER BY x.epoch DESC LIMIT 1) r ON true OFFSET 0
    ), placed AS (  -- never in a hole
        SELECT b.*, CASE WHEN b.bases IS NULL THEN a.place ELSE coalesce((
                   SELECT x.seq_end FROM unnest(b.bases, b.ends) AS x(base, seq_end)
                   WHERE x.base <= a.place AND x.seq_end > a.place), a.place) END AS place
        FROM begun b CROSS JOIN LATERAL (SELECT least(greatest(b.begun, b.first), b.seq_end) AS place OFFSET 0) a OFFSET 0
    ), state AS (
        -- the first bit of settled is never set: without a jump nothing else moves the cursor
        SELECT p.*, CASE WHEN p.hides OR p.settled IS NOT NULL AND p.place > p.begun
                   THEN least(p.seq_end, queen.behind_hidden(p.id, p.group_id, p.place, queen.bits_from(p.settled, p.place - p.begun)))
                   ELSE p.place END AS cursor
        FROM placed p OFFSET 0
    ), lane AS (
        SELECT s.*, CASE WHEN s.hides THEN queen.bits_or(queen.bits_from(s.settled, s.cursor - s.begun),
                             queen.hidden_bits(s.id, s.group_id, s.cursor, least(s.seq_end, s.cursor + 1000000)))
                         ELSE queen.bits_from(s.settled, s.cursor - s.begun) END AS rest
        FROM state s OFFSET 0
    )
    SELECT l.queue_id, l.id, NULL::int, l.first, l.seq_end,
           l.seq_end - l.first - CASE WHEN l.bases IS NULL THEN 0 ELSE queen.hole_messages(l.bases, l.ends, l.first) END
               - CASE WHEN l.hides THEN queen.hidden_count(l.id, NULL, l.first, l.seq_end) ELSE 0 END,
           NULL::bigint, NULL::bit varying, l.newest_at, NULL::bit varying, NULL::bigint[], NULL::uuid, NULL::timestamptz,
           NULL::bigint, NULL::timestamptz
    FROM log l
    UNION ALL
    SELECT l.queue_id, l.id, l.group_id, l.first, l.seq_end,
           greatest(0, l.seq_end - l.cursor - coalesce(bit_count(l.rest), 0)
                       - CASE WHEN l.bases IS NULL THEN 0 ELSE queen.hole_messages(l.bases, l.ends, l.cursor) END
                       - CASE WHEN l.hides THEN queen.hidden_count(l.id, l.group_id, l.cursor, l.seq_end, l.rest) ELSE 0 END),
           l.cursor, l.rest, NULL, queen.bits_from(l.failed, l.cursor - l.begun), l.attempt_seqs, l.lease_id, l.lease_until,
           l.lease_end, l.changed_at
    FROM lane l;
END $$;

-- How many offsets from p_from on lie in holes.
CREATE OR REPLACE FUNCTION queen.hole_messages(p_bases bigint[], p_ends bigint[], p_from bigint)
RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN (SELECT sum(greatest(0, x.seq_end - greatest(x.base, p_from))) FROM unnest(p_bases, p_ends) AS x(base, seq_end));
END $$;
