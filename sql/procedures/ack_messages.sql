-- requires: bits, drop_stale_progress, dead_letter
-- Verdicts on delivered messages. One row of the key arrays is one (partition, group), each at most
-- once in a call, so callers' acks are folded first.
--   p_leases          the lease the verdicts are given under; NULL = whichever is current
--   p_bases, p_dones  completed messages: bit i of p_dones is offset p_bases + i
--   p_cumulatives     everything delivered up to this offset is completed too, or NULL
--   p_retry_froms     unsettled messages from here on are handed back uncounted and the lease ends
--   p_ends            end the lease whatever is left unsettled
--   p_item_*          single verdicts: ordinal of the key, offset, `failed` or `dlq`, error text
--   p_broker, p_n     the key of this transaction in queen.batches; p_n NULL = none is written
-- Answers a row per key with the state as it was before, from which the caller judges each message:
-- below cursor or set in settled = settled already; set in failed = has its verdict in this lease;
-- below lease_end = accepted now; anything else = not under this lease.
--   applied  recorded; released: the lease has ended; new_cursor; dead_seqs went to the dead letters
--   refused  no such lease lives; nothing was recorded
--   again    another change came between: call again
--   gone     no such partition, queue or group
CREATE OR REPLACE FUNCTION queen.ack_messages(
    p_broker bigint, p_n bigint,
    p_partitions int[], p_groups int[], p_leases uuid[], p_bases bigint[], p_dones text[],
    p_cumulatives bigint[], p_retry_froms bigint[], p_ends boolean[],
    p_item_keys int[], p_item_seqs bigint[], p_item_kinds text[], p_item_errors text[])
RETURNS TABLE (ordinal int, state text, cursor bigint, settled text, failed text, lease_end bigint,
               new_cursor bigint, released boolean, ready_in_ms bigint, dead_seqs bigint[])
LANGUAGE plpgsql AS $$
DECLARE
    v_now  timestamptz := clock_timestamp();
    v_rows queen.ack_row[];
    v_lost int[];
BEGIN
    WITH key AS MATERIALIZED (
        SELECT u.ordinal::int, u.partition_id, u.group_id, u.base, u.done::bit varying AS done,
               u.cumulative, u.retry_from, u.ends, q.id IS NOT NULL AND g.id IS NOT NULL AS live,
               q.retry_limit, q.retry_delay, s.epoch, s.cursor, s.settled, s.failed, s.attempt_seqs,
               s.attempt_counts, s.lease_id, s.lease_until, s.lease_end, s.lease_seconds, s.deliveries,
               s.ready_at, s.window_end,
               coalesce(s.lease_until > v_now AND (u.lease IS NULL OR u.lease = s.lease_id), false) AS valid
        FROM unnest(p_partitions, p_groups, p_leases, p_bases, p_dones, p_cumulatives, p_retry_froms, p_ends)
             WITH ORDINALITY AS u(partition_id, group_id, lease, base, done, cumulative, retry_from, ends, ordinal)
        LEFT JOIN queen.partitions p ON p.id = u.partition_id
        LEFT JOIN queen.queues q ON q.id = p.queue_id
        LEFT JOIN queen.groups g ON g.id = u.group_id AND g.queue_id = p.queue_id
        LEFT JOIN LATERAL (
            SELECT r.* FROM queen.progress r
            WHERE r.partition_id = u.partition_id AND r.group_id = u.group_id
            ORDER BY r.epoch DESC LIMIT 1) s ON true
    ), item AS MATERIALIZED (  -- single verdicts that count: delivered, and the first in this lease
        SELECT i.key, i.seq, i.error, c.failures,
               i.kind = 'dlq' OR c.failures > k.retry_limit AS dead
        FROM unnest(p_item_keys, p_item_seqs, p_item_kinds, p_item_errors) AS i(key, seq, kind, error)
        JOIN key k ON k.ordinal = i.key
        CROSS JOIN LATERAL (
            SELECT coalesce(k.attempt_counts[array_position(k.attempt_seqs, i.seq)], 0)
                 + CASE WHEN i.kind = 'failed' THEN 1 ELSE 0 END AS failures) c
        WHERE k.live AND k.valid AND i.seq >= k.cursor AND i.seq < k.lease_end
          AND NOT coalesce((i.seq - k.cursor < length(k.settled)
                            AND get_bit(k.settled, (i.seq - k.cursor)::int) = 1), false)
          AND NOT coalesce((i.seq - k.cursor < length(k.failed)
                            AND get_bit(k.failed, (i.seq - k.cursor)::int) = 1), false)
    ), verdict AS MATERIALIZED (
        SELECT k.ordinal, (k.lease_end - k.cursor)::int AS span,
               queen.bits_of(array_agg(i.seq - k.cursor) FILTER (WHERE i.dead)) AS dead,
               queen.bits_of(array_agg(i.seq - k.cursor) FILTER (WHERE NOT i.dead)) AS failed,
               array_agg(i.seq ORDER BY i.seq) FILTER (WHERE i.dead) AS dead_seqs,
               array_agg(i.error ORDER BY i.seq) FILTER (WHERE i.dead) AS dead_errors,
               array_agg(i.failures ORDER BY i.seq) FILTER (WHERE i.dead) AS dead_counts,
               array_agg(i.seq ORDER BY i.seq) FILTER (WHERE NOT i.dead) AS failed_seqs,
               array_agg(i.failures ORDER BY i.seq) FILTER (WHERE NOT i.dead) AS failed_counts
        FROM key k LEFT JOIN item i ON i.key = k.ordinal
        WHERE k.live AND k.valid
        GROUP BY k.ordinal, k.lease_end, k.cursor
    ), marked AS MATERIALIZED (
        SELECT v.ordinal, v.span, queen.bits_or(k.failed, v.failed) AS failed,
               -- completed singly (not counting what failed in this lease), then cumulatively
               queen.bits_resize(queen.bits_or(
                   CASE WHEN k.base >= k.cursor
                        THEN repeat('0', least(k.base - k.cursor, v.span)::int)::bit varying || k.done
                        ELSE queen.bits_from(k.done, k.cursor - k.base) END,
                   CASE WHEN k.cumulative >= k.cursor
                        THEN repeat('1', least(k.cumulative - k.cursor + 1, v.span)::int)::bit varying END), v.span)
               & ~queen.bits_resize(queen.bits_or(k.failed, v.failed), v.span) AS done,
               v.dead, v.dead_seqs, v.dead_errors, v.dead_counts, v.failed_seqs, v.failed_counts
        FROM verdict v JOIN key k USING (ordinal)
    ), joined AS MATERIALIZED (
        SELECT m.*, queen.bits_or(queen.bits_or(k.settled, m.done), m.dead) AS settled
        FROM marked m JOIN key k USING (ordinal)
    ), moved AS MATERIALIZED (
        SELECT j.ordinal, k.cursor + queen.bits_leading(j.settled) AS cursor,
               queen.bits_from(j.settled, queen.bits_leading(j.settled)) AS settled,
               queen.bits_from(j.failed, queen.bits_leading(j.settled)) AS failed,
               j.dead_seqs, j.dead_errors, j.dead_counts, j.failed_seqs, j.failed_counts
        FROM joined j JOIN key k USING (ordinal)
    ), ended AS MATERIALIZED (
        SELECT m.*, coalesce(k.ends, false) OR k.retry_from IS NOT NULL OR m.cursor >= k.lease_end
                    OR bit_count(queen.bits_resize(queen.bits_or(m.settled, m.failed),
                                                   (k.lease_end - m.cursor)::int)) = k.lease_end - m.cursor AS released
        FROM moved m JOIN key k USING (ordinal)
    ), inserted AS (
        INSERT INTO queen.progress (partition_id, group_id, epoch, cursor, settled, failed, attempt_seqs,
            attempt_counts, lease_id, lease_until, lease_end, lease_seconds, deliveries, ready_at, window_end, changed_at)
        SELECT k.partition_id, k.group_id, k.epoch + 1, e.cursor,
               -- trailing zeros of a bitmap carry nothing
               CASE WHEN bit_count(e.settled) > 0 THEN e.settled END,
               CASE WHEN NOT e.released AND bit_count(e.failed) > 0 THEN e.failed END,
               a.seqs, a.counts,
               CASE WHEN NOT e.released THEN k.lease_id END, CASE WHEN NOT e.released THEN k.lease_until END,
               CASE WHEN NOT e.released THEN k.lease_end END, CASE WHEN NOT e.released THEN k.lease_seconds END,
               CASE WHEN get_bit(queen.bits_resize(e.failed, 1), 0) = 1 THEN 0   -- the head has a verdict
                    WHEN e.cursor = k.cursor THEN k.deliveries - CASE WHEN e.released THEN 1 ELSE 0 END
                    WHEN e.released THEN 0 ELSE 1 END,
               CASE WHEN e.failed_seqs IS NOT NULL AND k.retry_delay > 0
                    THEN greatest(k.ready_at, v_now + k.retry_delay * interval '1 millisecond')
                    ELSE k.ready_at END,
               k.window_end, v_now
        FROM ended e JOIN key k USING (ordinal)
        CROSS JOIN LATERAL (
            SELECT array_agg(t.seq ORDER BY t.seq) AS seqs, array_agg(t.failures ORDER BY t.seq) AS counts
            FROM (SELECT o.seq, o.failures FROM unnest(k.attempt_seqs, k.attempt_counts) AS o(seq, failures)
                  WHERE o.seq >= e.cursor AND NOT o.seq = ANY (coalesce(e.failed_seqs, '{}'))
                  UNION ALL
                  SELECT f.seq, f.failures FROM unnest(e.failed_seqs, e.failed_counts) AS f(seq, failures)) t) a
        ORDER BY k.partition_id, k.group_id
        ON CONFLICT DO NOTHING
        RETURNING queen.progress.partition_id, queen.progress.group_id, queen.progress.epoch,
                  queen.progress.ready_at
    )
    SELECT array_agg(ROW(k.ordinal, k.partition_id, k.group_id, i.epoch,
               CASE WHEN NOT k.live THEN 'gone' WHEN NOT k.valid THEN 'refused'
                    WHEN i.epoch IS NULL THEN 'again' ELSE 'applied' END,
               k.cursor, k.settled, k.failed, k.lease_end, e.cursor, e.released, i.ready_at,
               e.dead_seqs, e.dead_errors, e.dead_counts)::queen.ack_row ORDER BY k.ordinal)
    INTO v_rows
    FROM key k LEFT JOIN ended e USING (ordinal)
    LEFT JOIN inserted i ON i.partition_id = k.partition_id AND i.group_id = k.group_id;

    v_lost := queen.drop_stale_progress(
        ARRAY(SELECT r.ordinal FROM unnest(v_rows) r WHERE r.epoch IS NOT NULL ORDER BY r.ordinal),
        ARRAY(SELECT r.partition_id FROM unnest(v_rows) r WHERE r.epoch IS NOT NULL ORDER BY r.ordinal),
        ARRAY(SELECT r.group_id FROM unnest(v_rows) r WHERE r.epoch IS NOT NULL ORDER BY r.ordinal),
        ARRAY(SELECT r.epoch FROM unnest(v_rows) r WHERE r.epoch IS NOT NULL ORDER BY r.ordinal));

    PERFORM queen.dead_letter(array_agg(r.partition_id), array_agg(r.group_id), array_agg(d.seq),
                              array_agg(d.error), array_agg(d.failures))
    FROM unnest(v_rows) r, unnest(r.dead_seqs, r.dead_errors, r.dead_counts) AS d(seq, error, failures)
    WHERE r.epoch IS NOT NULL AND NOT r.ordinal = ANY (v_lost)
    HAVING count(*) > 0;

    IF p_n IS NOT NULL THEN
        INSERT INTO queen.batches (broker, n) VALUES (p_broker, p_n);
    END IF;

    RETURN QUERY
    SELECT r.ordinal, CASE WHEN r.ordinal = ANY (v_lost) THEN 'again' ELSE r.state END,
           r.cursor, r.settled::text, r.failed::text, r.lease_end, r.new_cursor, r.released,
           greatest(0, ceil(extract(epoch FROM r.ready_at - v_now) * 1000))::bigint,
           CASE WHEN NOT r.ordinal = ANY (v_lost) THEN r.dead_seqs END
    FROM unnest(v_rows) r ORDER BY r.ordinal;
END $$;
