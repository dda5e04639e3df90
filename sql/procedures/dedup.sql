-- requires: ids, first_seq_at, dedup_runs
-- Exact deduplication without a row per message. Let t be the time inside a transactionId that is
-- a UUIDv7, c the created_at of the segment it is stored in, W the window. The id is left out of
-- queen.dedup iff |t - c| <= W; so such an id is stored iff it is in queen.dedup or in a segment of its
-- partition with t - W <= created_at <= t + W. The stored data carries this, so clock skew, several
-- brokers and late replays do not matter. W must never change.
-- An id without a time is stored iff find_untimed finds it, or it is in queen.dedup, where such ids were
-- kept before there were runs.
CREATE OR REPLACE FUNCTION queen.dedup_window()
RETURNS interval LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT interval '60 seconds' $$;

-- Whether the segments of a partition that begin at p_from to p_to may hold a transactionId with a time
-- from p_time_min to p_time_max, as far as the times of the segments tell: what several brokers push in
-- turns are fresh ids, each above the last. Looks at the newest, and says yes where there are more than
-- that within the window. In plpgsql, which keeps its plan: planning costs more than the look.
CREATE OR REPLACE FUNCTION queen.may_hold(p_partition_id int, p_from bigint, p_to bigint,
                                          p_time_min timestamptz, p_time_max timestamptz)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT count(*) = 64
            OR coalesce(bool_or(g.time_min <= p_time_max AND g.time_max >= p_time_min
                   OR g.txns AND g.time_min IS NULL
                   -- the id of a message without one has the time at which it was stored
                   OR g.created_at < p_time_max + interval '1 millisecond'
                      AND g.created_at + g.count * interval '1 microsecond' >= p_time_min), false)
        FROM (SELECT s.created_at, s.count, s.txns IS NOT NULL AS txns, s.time_min, s.time_max
              FROM queen.segments s
              WHERE s.partition_id = p_partition_id AND s.base_seq BETWEEN p_from AND p_to
              ORDER BY s.base_seq DESC LIMIT 64) g
        WHERE g.created_at >= p_time_min - queen.dedup_window());
END $$;

-- Where the transactionIds of p_txns (one per line, "" = none) are already stored in a partition.
-- line counts from 0; seq and created_at are those of the stored message. Offsets from p_known_from
-- up to p_known_to, whole segments, are taken as free of them; of those without a time only with p_known_untimed.
-- Without jit: the estimates are far above what there is.
CREATE OR REPLACE FUNCTION queen.find_transactions(p_partition_id int, p_txns text, p_known_from bigint, p_known_to bigint,
                                                   p_known_untimed boolean DEFAULT true)
RETURNS TABLE (line int, seq bigint, created_at timestamptz) LANGUAGE plpgsql STABLE ROWS 1 SET jit = off AS $$
BEGIN
    RETURN QUERY
    WITH asked AS MATERIALIZED (
        SELECT u.txn COLLATE "C" AS txn, (u.line - 1)::int AS line, queen.uuid7_time(u.txn) AS t
        FROM string_to_table(p_txns, E'\n') WITH ORDINALITY AS u(txn, line) WHERE u.txn <> ''
    ), span AS MATERIALIZED (  -- ids of about one time share a look at the segments around it
        SELECT m.*, queen.first_seq_at(p_partition_id, m.first - queen.dedup_window()) AS from_seq,
               queen.first_seq_at(p_partition_id, m.last + queen.dedup_window() + interval '1 microsecond') AS to_seq
        FROM (SELECT min(a.t) AS first, max(a.t) AS last, array_agg(a.t) AS times
              FROM asked a WHERE a.t IS NOT NULL GROUP BY date_bin(queen.dedup_window(), a.t, 'epoch')) m
    ), near AS MATERIALIZED (  -- the segments that may hold one of them, as far as their own times tell
        SELECT DISTINCT ON (s.base_seq) s.base_seq, s.created_at, s.txns
        FROM span
        CROSS JOIN LATERAL (
            SELECT g.base_seq, g.created_at, g.txns FROM queen.segments g
            WHERE g.partition_id = p_partition_id AND g.base_seq >= span.from_seq AND g.base_seq < span.to_seq
              AND (g.base_seq < p_known_from OR g.base_seq >= p_known_to)
              AND g.txns IS NOT NULL
              AND (g.time_min IS NULL OR g.time_min <= span.last AND g.time_max >= span.first
                   AND EXISTS (SELECT FROM unnest(span.times) t WHERE t BETWEEN g.time_min AND g.time_max))
            OFFSET 0) s
    ), stored AS MATERIALIZED (
        SELECT n.base_seq + u.line - 1 AS seq, u.txn, n.created_at
        FROM near n, string_to_table(n.txns, E'\n') WITH ORDINALITY AS u(txn, line)
    ), own_ids AS (  -- a transactionId that is the id of a message without one
        SELECT a.line, a.txn, ('x' || replace(substr(a.txn, 20), '-', ''))::bit(64)::bigint
                              & ((1::bigint << 43) - 1) AS seq
        FROM asked a
        WHERE a.t IS NOT NULL  -- and the first bits of the partition are in it
          AND substr(a.txn, 15, 4) = (SELECT substr(queen.message_id('epoch', p_partition_id, 0)::text, 15, 4))
    ), found AS (
        SELECT a.line, d.seq FROM asked a
        -- OFFSET 0 here and above: a join could be planned as a walk through all of the partition's
        CROSS JOIN LATERAL (SELECT k.seq FROM queen.dedup k
                            WHERE k.partition_id = p_partition_id AND k.txn = a.txn OFFSET 0) d
        UNION
        SELECT u.line, u.seq
        FROM (SELECT array_agg(a.txn) AS txns, array_agg(a.line) AS lines FROM asked a WHERE a.t IS NULL) n
        CROSS JOIN LATERAL queen.find_untimed(p_partition_id, n.txns, n.lines, CASE WHEN p_known_untimed THEN p_known_from ELSE 0 END,
                                              CASE WHEN p_known_untimed THEN p_known_to ELSE 0 END) u
        WHERE n.txns IS NOT NULL
        UNION
        SELECT a.line, s.seq FROM asked a JOIN stored s ON s.txn = a.txn
        WHERE s.created_at BETWEEN a.t - queen.dedup_window() AND a.t + queen.dedup_window()
        UNION
        SELECT o.line, o.seq
        FROM own_ids o
        CROSS JOIN LATERAL (
            SELECT s.base_seq, s.count, s.created_at, s.txns, s.payloads FROM queen.segments s
            WHERE s.partition_id = p_partition_id AND s.base_seq <= o.seq
            ORDER BY s.base_seq DESC LIMIT 1) g
        WHERE o.seq < g.base_seq + g.count AND g.payloads IS NOT NULL
          AND o.txn = queen.message_id(
                g.created_at + (o.seq - g.base_seq) * interval '1 microsecond', p_partition_id, o.seq)::text
          AND coalesce(split_part(g.txns, E'\n', (o.seq - g.base_seq)::int + 1), '') = ''
    )
    SELECT f.line, f.seq, g.created_at + (f.seq - g.base_seq) * interval '1 microsecond'
    FROM found f
    CROSS JOIN LATERAL (
        SELECT s.base_seq, s.count, s.created_at FROM queen.segments s
        WHERE s.partition_id = p_partition_id AND s.base_seq <= f.seq
        ORDER BY s.base_seq DESC LIMIT 1) g
    WHERE f.seq < g.base_seq + g.count;
END $$;
