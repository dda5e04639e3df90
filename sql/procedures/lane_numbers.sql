-- requires: bits, lanes
-- What is stored in partitions, and what each group has still to do there: the rows of queen.lanes, with a few index
-- probes more each. Times and leases are judged at p_now.
--   first, seq_end, amount, cursor, settled, newest_at, changed_at   as there
--   processing       of these, under a lease that lives, without a verdict
--   failed_seqs      of these, have failed and are to be delivered again; NULL: none
--   dead_letters     of the lane
--   lease_id, lease_until, lease_end, not_leased   lane: the lease, if it lives; bits from cursor on that it does not cover
--   oldest_at        of the first message stored, or to be consumed; NULL: there is none
--   passed           lane: the offset up to which the group has read
CREATE OR REPLACE FUNCTION queen.lane_numbers(p_partitions int[], p_group text, p_now timestamptz)
RETURNS TABLE (queue_id int, partition_id int, group_id int, first bigint, seq_end bigint, amount bigint, processing bigint,
               failed_seqs bigint[], dead_letters bigint, cursor bigint, settled bit varying, lease_id uuid,
               lease_until timestamptz, lease_end bigint, not_leased bit varying, oldest_at timestamptz,
               newest_at timestamptz, changed_at timestamptz, passed bigint)
LANGUAGE plpgsql STABLE ROWS 1000 AS $$
BEGIN
    RETURN QUERY
    WITH dead AS MATERIALIZED (
        SELECT d.partition_id, d.group_id, count(*) AS letters FROM queen.dead_letters d
        WHERE d.partition_id = ANY (p_partitions) GROUP BY d.partition_id, d.group_id
    ), lane AS (
        SELECT l.*, l.lease_id IS NOT NULL AND l.lease_until > p_now AND l.lease_end > l.cursor AS leased
        FROM queen.lanes(p_partitions, p_group, p_now) l OFFSET 0
    )
    SELECT l.queue_id, l.partition_id, l.group_id, l.first, l.seq_end, l.amount,
           CASE WHEN l.leased THEN least(l.lease_end, l.seq_end) - l.cursor - coalesce(bit_count(substring(
                    k.closed FROM 1 FOR (least(l.lease_end, l.seq_end) - l.cursor)::int)), 0)
                WHEN l.group_id IS NOT NULL THEN 0 END,
           CASE WHEN l.attempt_seqs IS NOT NULL THEN (
               SELECT array_agg(t.seq ORDER BY t.seq) FROM unnest(l.attempt_seqs) AS t(seq)
               WHERE t.seq >= l.cursor AND t.seq < l.seq_end AND NOT queen.bits_get(l.settled, t.seq - l.cursor)) END,
           CASE WHEN l.group_id IS NOT NULL THEN coalesce(d.letters, 0) END, l.cursor, l.settled,
           CASE WHEN l.leased THEN l.lease_id END, CASE WHEN l.leased THEN l.lease_until END,
           CASE WHEN l.leased THEN least(l.lease_end, l.seq_end) END, k.closed,
           o.oldest_at, l.newest_at, l.changed_at, l.cursor
    FROM lane l
    CROSS JOIN LATERAL (
        SELECT CASE WHEN l.group_id IS NULL AND l.first < l.seq_end THEN l.first
                    WHEN l.group_id IS NOT NULL AND l.amount > 0 THEN l.cursor END AS seq OFFSET 0) f
    LEFT JOIN LATERAL (
        SELECT s.created_at + (f.seq - s.base_seq) * interval '1 microsecond' AS oldest_at FROM queen.segments s
        WHERE s.partition_id = l.partition_id AND s.base_seq <= f.seq ORDER BY s.base_seq DESC LIMIT 1) o ON true
    CROSS JOIN LATERAL (SELECT CASE WHEN l.leased THEN queen.bits_or(l.settled, l.failed) END AS closed OFFSET 0) k
    LEFT JOIN dead d ON d.partition_id = l.partition_id AND d.group_id = l.group_id;
END $$;

-- What the lanes of one partition come to, each message counted once. The arguments are arrays of lane_numbers' columns,
-- an element per group of the queue. REQUIRES: it has a group. Where no lane has a bitmap it is the largest of the amounts,
-- which callers take without asking here: a call for each partition is dear.
CREATE OR REPLACE FUNCTION queen.partition_pending(p_cursors bigint[], p_amounts bigint[],
                                                   p_settled bit varying[])
RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_least  bigint;
    v_length int;
BEGIN
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

-- The same of messages under leases; where one lane at most is leased, it is what that lane says.
CREATE OR REPLACE FUNCTION queen.partition_processing(p_cursors bigint[], p_lease_ends bigint[], p_not_leased bit varying[])
RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN (SELECT count(DISTINCT i.seq) FROM unnest(p_cursors, p_lease_ends, p_not_leased) AS u(cursor, lease_end, closed)
            CROSS JOIN LATERAL generate_series(u.cursor, u.lease_end - 1) AS i(seq)
            WHERE NOT queen.bits_get(u.closed, i.seq - u.cursor));
END $$;
