-- requires: bits
-- What the single verdicts on messages of one key come to under the lease [p_cursor, p_lease_end), beside
-- the failures of earlier leases (p_attempt_*). The arguments are as in ack_messages and queen.progress.
--   dead, failed   bitmaps from p_cursor: to the dead letters; to be delivered again
--   dead_*         the dead in the order of their offsets, with error text and number of failures
--   any_failed     some message has failed and is to be delivered again
--   tried_*        failures so far of messages that may be delivered again
--   cumulative     everything up to this offset is completed, or NULL
--   retried        the lease is handed back
-- For apply_verdicts, which calls it only when there are single verdicts or earlier failures: nearly never.
CREATE OR REPLACE FUNCTION queen.item_verdicts(
    p_seqs bigint[], p_kinds text[], p_errors text[], p_cursor bigint, p_lease_end bigint,
    p_settled bit varying, p_failed bit varying, p_attempt_seqs bigint[], p_attempt_counts int[], p_retry_limit int,
    OUT dead bit varying, OUT failed bit varying, OUT dead_seqs bigint[], OUT dead_errors text[],
    OUT dead_counts int[], OUT any_failed boolean, OUT tried_seqs bigint[], OUT tried_counts int[],
    OUT cumulative bigint, OUT retried boolean)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT queen.bits_of(array_agg(t.seq - p_cursor) FILTER (WHERE d.dead)),
           queen.bits_of(array_agg(t.seq - p_cursor) FILTER (WHERE t.kind = 'failed' AND NOT d.dead)),
           array_agg(t.seq ORDER BY t.seq) FILTER (WHERE d.dead),
           array_agg(t.error ORDER BY t.seq) FILTER (WHERE d.dead),
           array_agg(d.failures ORDER BY t.seq) FILTER (WHERE d.dead),
           coalesce(bool_or(t.kind = 'failed' AND NOT d.dead), false),
           array_agg(t.seq ORDER BY t.seq) FILTER (WHERE d.failures > 0 AND NOT d.dead),
           array_agg(d.failures ORDER BY t.seq) FILTER (WHERE d.failures > 0 AND NOT d.dead),
           max(CASE WHEN t.cumulative THEN t.seq WHEN t.before THEN t.seq - 1 END),
           coalesce(bool_or(t.retry), false)
    INTO dead, failed, dead_seqs, dead_errors, dead_counts, any_failed, tried_seqs, tried_counts, cumulative, retried
    FROM (SELECT e.seq, (array_agg(e.kind ORDER BY e.ordinal) FILTER (WHERE e.kind IN ('failed', 'dlq')))[1] AS kind,
                 (array_agg(e.error ORDER BY e.ordinal) FILTER (WHERE e.kind IN ('failed', 'dlq')))[1] AS error,
                 coalesce(bool_or(e.kind = 'retry'), false) AS retry,
                 coalesce(bool_or(e.kind = 'cumulative'), false) AS cumulative,
                 coalesce(bool_or(e.kind = 'before'), false) AS before,
                 coalesce(max(e.failures), 0) AS failures
          FROM (SELECT i.seq, i.ordinal, NULL::int AS failures, i.error,
                       CASE WHEN i.kind IN ('cumulative', 'before') OR NOT (queen.bits_get(p_settled, i.seq - p_cursor)
                                 OR queen.bits_get(p_failed, i.seq - p_cursor)) THEN i.kind END AS kind
                FROM unnest(p_seqs, p_kinds, p_errors) WITH ORDINALITY AS i(seq, kind, error, ordinal)
                WHERE i.seq >= p_cursor AND i.seq < p_lease_end
                UNION ALL
                SELECT o.seq, 0, o.failures, NULL, NULL
                FROM unnest(p_attempt_seqs, p_attempt_counts) AS o(seq, failures)) e
          GROUP BY e.seq) t
    CROSS JOIN LATERAL (
        SELECT t.failures + CASE WHEN t.kind = 'failed' THEN 1 ELSE 0 END AS failures,
               coalesce(t.kind = 'dlq' OR t.kind = 'failed' AND t.failures >= p_retry_limit, false) AS dead
        OFFSET 0) d;
END $$;
