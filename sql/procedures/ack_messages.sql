-- requires: announce, bits, drop_stale_progress, dead_letter, item_verdicts
-- Verdicts on delivered messages. One row of the key arrays is one (partition, group): callers' acks
-- are folded first, since a second row of the same key would be judged before the first.
--   p_leases          the lease the verdicts are given under; NULL = whichever is current
--   p_bases, p_dones  completed messages: bit i of p_dones is offset p_bases + i
--   p_cumulatives     everything delivered up to this offset is completed too, or NULL
--   p_retry_froms     this message and what follows it are handed back uncounted, the lease ends
--   p_ends            end the lease whatever is left unsettled
--   p_item_*          single verdicts in the order they were given: ordinal of the key, offset,
--                     `failed`, `dlq`, `retry`, `cumulative` or `before` (cumulative without the
--                     message itself), error text. `retry` and `cumulative` as above, but any number
--                     for one key: those of several callers cannot be folded into one
-- A verdict on a message that is not under the lease is ignored, and so is one on a message that has its
-- verdict, but for what `cumulative` and `before` say of the messages before it. Of `failed` and `dlq`
-- in one call the first counts, and both win over `completed`.
--   p_broker, p_n     the key of this transaction in queen.batches; p_n NULL = none of the
--                     caller's; partitions whose lease has ended are announced all the same, to
--                     everybody but p_broker (NULL: to everybody), who is told by the answer
-- Answers a row per key with the state as it was before, from which the caller judges each message:
-- below cursor or set in settled = settled already; set in failed = has its verdict in this lease;
-- below lease_end = accepted now; anything else = not under this lease.
--   applied  recorded; released: the lease has ended; new_cursor; dead_seqs went to the dead letters
--   refused  no such lease lives; nothing was recorded
--   again    another change came between (or an earlier row has the same key): call again
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
    v_now         timestamptz := clock_timestamp();
    v_firsts      int[];   -- of each key its items, as places in the arrays below
    v_lasts       int[];
    v_item_seqs   bigint[];
    v_item_kinds  text[];
    v_item_errors text[];
    v_rows        queen.ack_row[];
    v_epochs      bigint[];
    v_any_dead    boolean;
    v_lost        int[];
    v_freed       int[];
BEGIN
    IF cardinality(p_item_keys) > 0 THEN
        SELECT array_agg(i.seq ORDER BY i.key, i.ordinal), array_agg(i.kind ORDER BY i.key, i.ordinal),
               array_agg(i.error ORDER BY i.key, i.ordinal)
        INTO v_item_seqs, v_item_kinds, v_item_errors
        FROM unnest(p_item_keys, p_item_seqs, p_item_kinds, p_item_errors)
             WITH ORDINALITY AS i(key, seq, kind, error, ordinal);
        SELECT array_agg(k.before + 1 ORDER BY k.key), array_agg(k.before + k.items ORDER BY k.key)
        INTO v_firsts, v_lasts
        FROM (SELECT u.key, count(i.key)::int AS items,
                     (sum(count(i.key)) OVER (ORDER BY u.key) - count(i.key))::int AS before
              FROM generate_series(1, cardinality(p_partitions)) AS u(key)
              LEFT JOIN unnest(p_item_keys) AS i(key) ON i.key = u.key
              GROUP BY u.key) k;
    END IF;

    -- OFFSET 0 as in availability
    WITH key AS MATERIALIZED (
        SELECT u.ordinal::int, u.partition_id, u.group_id, u.base, u.done::bit varying AS done,
               u.cumulative, u.retry_from, u.ends, q.id IS NOT NULL AND g.id IS NOT NULL AS live,
               q.retry_limit, q.retry_delay, s.epoch, s.cursor, s.settled, s.failed, s.attempt_seqs,
               s.attempt_counts, s.lease_id, s.lease_until, s.lease_end, s.lease_seconds, s.deliveries,
               s.ready_at, s.window_end,
               coalesce(s.lease_until > v_now AND (u.lease IS NULL OR u.lease = s.lease_id), false) AS valid,
               row_number() OVER (PARTITION BY u.partition_id, u.group_id ORDER BY u.ordinal) AS copy
        FROM unnest(p_partitions, p_groups, p_leases, p_bases, p_dones, p_cumulatives, p_retry_froms, p_ends)
             WITH ORDINALITY AS u(partition_id, group_id, lease, base, done, cumulative, retry_from, ends, ordinal)
        LEFT JOIN queen.partitions p ON p.id = u.partition_id
        LEFT JOIN queen.queues q ON q.id = p.queue_id
        -- OFFSET 0: by its id, never by way of all groups of the queue
        LEFT JOIN LATERAL (
            SELECT o.id, o.queue_id FROM queen.groups o WHERE o.id = u.group_id OFFSET 0) g ON g.queue_id = p.queue_id
        LEFT JOIN LATERAL (
            SELECT r.* FROM queen.progress r
            WHERE r.partition_id = u.partition_id AND r.group_id = u.group_id
            ORDER BY r.epoch DESC LIMIT 1) s ON true
    ), ended AS MATERIALIZED (
        SELECT a.*, v.dead_seqs, v.dead_errors, v.dead_counts, v.any_failed, v.tried_seqs, v.tried_counts,
               n.cursor AS new_cursor, n.settled AS new_settled, n.failed AS new_failed,
               coalesce(a.ends, false) OR v.retried
                   OR coalesce(a.retry_from >= a.cursor AND a.retry_from < a.lease_end
                               AND NOT queen.bits_get(a.settled, a.retry_from - a.cursor)
                               AND NOT queen.bits_get(a.failed, a.retry_from - a.cursor), false)
                   OR bit_count(queen.bits_resize(queen.bits_or(n.settled, n.failed),
                          greatest(0, a.lease_end - n.cursor)::int)) = greatest(0, a.lease_end - n.cursor) AS released
        FROM key a
        CROSS JOIN LATERAL (SELECT (a.lease_end - a.cursor)::int AS span OFFSET 0) w
        CROSS JOIN LATERAL queen.item_verdicts(
            v_item_seqs[v_firsts[a.ordinal]:v_lasts[a.ordinal]], v_item_kinds[v_firsts[a.ordinal]:v_lasts[a.ordinal]],
            v_item_errors[v_firsts[a.ordinal]:v_lasts[a.ordinal]], a.cursor, a.lease_end,
            a.settled, a.failed, a.attempt_seqs, a.attempt_counts, a.retry_limit) v
        CROSS JOIN LATERAL (SELECT queen.bits_or(a.failed, v.failed) AS failed OFFSET 0) f
        CROSS JOIN LATERAL (
            -- completed singly or cumulatively, but not what failed in this lease; then the dead
            SELECT queen.bits_or(queen.bits_or(a.settled, queen.bits_resize(queen.bits_or(
                       CASE WHEN a.base >= a.cursor
                            THEN repeat('0', least(a.base - a.cursor, w.span)::int)::bit varying || a.done
                            ELSE queen.bits_from(a.done, a.cursor - a.base) END,
                       CASE WHEN c.upto >= a.cursor
                            THEN repeat('1', (c.upto - a.cursor + 1)::int)::bit varying END), w.span)
                   & ~queen.bits_resize(f.failed, w.span)), v.dead) AS settled
            FROM (SELECT greatest(CASE WHEN a.cumulative < a.lease_end THEN a.cumulative END,
                                  v.cumulative) AS upto OFFSET 0) c OFFSET 0) j
        CROSS JOIN LATERAL (
            SELECT a.cursor + l.leading AS cursor, queen.bits_from(j.settled, l.leading) AS settled,
                   queen.bits_from(f.failed, l.leading) AS failed
            FROM (SELECT queen.bits_leading(j.settled) AS leading OFFSET 0) l OFFSET 0) n
        WHERE a.live AND a.valid AND a.copy = 1
    ), inserted AS (
        INSERT INTO queen.progress (partition_id, group_id, epoch, cursor, settled, failed, attempt_seqs,
            attempt_counts, lease_id, lease_until, lease_end, lease_seconds, deliveries, ready_at, window_end, changed_at)
        SELECT e.partition_id, e.group_id, e.epoch + 1, e.new_cursor,
               CASE WHEN bit_count(e.new_settled) > 0 THEN e.new_settled END,
               CASE WHEN NOT e.released AND bit_count(e.new_failed) > 0 THEN e.new_failed END,
               t.seqs, t.counts,
               CASE WHEN NOT e.released THEN e.lease_id END, CASE WHEN NOT e.released THEN e.lease_until END,
               CASE WHEN NOT e.released THEN e.lease_end END, CASE WHEN NOT e.released THEN e.lease_seconds END,
               CASE WHEN queen.bits_get(e.new_failed, 0) THEN 0   -- the head has a verdict
                    WHEN e.new_cursor = e.cursor THEN e.deliveries - CASE WHEN e.released THEN 1 ELSE 0 END
                    WHEN e.released THEN 0 ELSE 1 END,
               CASE WHEN e.any_failed AND e.retry_delay > 0
                    THEN greatest(e.ready_at, v_now + e.retry_delay * interval '1 millisecond')
                    ELSE e.ready_at END,
               e.window_end, v_now
        FROM ended e
        CROSS JOIN LATERAL queen.attempts_left(e.tried_seqs, e.tried_counts, e.new_cursor, e.new_settled) t
        ORDER BY e.partition_id, e.group_id
        ON CONFLICT DO NOTHING
        RETURNING queen.progress.partition_id, queen.progress.group_id, queen.progress.epoch,
                  queen.progress.ready_at
    )
    SELECT array_agg(ROW(a.ordinal, a.partition_id, a.group_id, CASE WHEN a.copy = 1 THEN i.epoch END,
               CASE WHEN NOT a.live THEN 'gone' WHEN a.copy > 1 THEN 'again' WHEN NOT a.valid THEN 'refused'
                    WHEN i.epoch IS NULL THEN 'again' ELSE 'applied' END,
               a.cursor, a.settled, a.failed, a.lease_end, e.new_cursor, e.released, i.ready_at,
               e.dead_seqs, e.dead_errors, e.dead_counts)::queen.ack_row ORDER BY a.ordinal),
           array_agg(CASE WHEN a.copy = 1 THEN i.epoch END ORDER BY a.ordinal), bool_or(e.dead_seqs IS NOT NULL)
    INTO v_rows, v_epochs, v_any_dead
    -- FULL, although each has its key: the planner cannot make it a nested loop
    FROM key a FULL JOIN ended e ON e.ordinal = a.ordinal
    FULL JOIN inserted i ON i.partition_id = a.partition_id AND i.group_id = a.group_id;

    v_lost := queen.drop_stale_progress(p_partitions, p_groups, v_epochs);

    IF v_any_dead THEN
        PERFORM queen.dead_letter(array_agg(r.partition_id), array_agg(r.group_id), array_agg(d.seq),
                                  array_agg(d.error), array_agg(d.failures))
        FROM unnest(v_rows) r, unnest(r.dead_seqs, r.dead_errors, r.dead_counts) AS d(seq, error, failures)
        WHERE r.epoch IS NOT NULL AND NOT r.ordinal = ANY (v_lost)
        HAVING count(*) > 0;
    END IF;

    -- Other brokers: what these leases held may be taken again.
    v_freed := ARRAY(SELECT DISTINCT r.partition_id FROM unnest(v_rows) r
                     WHERE r.epoch IS NOT NULL AND r.released AND NOT r.ordinal = ANY (v_lost));
    IF p_n IS NOT NULL THEN
        INSERT INTO queen.batches (broker, n, partitions) VALUES (p_broker, p_n, v_freed);
    ELSE
        PERFORM queen.announce(v_freed, coalesce(p_broker, 0));
    END IF;

    RETURN QUERY
    SELECT r.ordinal, s.state, r.cursor, r.settled::text, r.failed::text, r.lease_end,
           CASE WHEN s.state = 'applied' THEN r.new_cursor END,
           CASE WHEN s.state = 'applied' THEN r.released END,
           CASE WHEN s.state = 'applied' AND r.ready_at IS NOT NULL
                THEN greatest(0, ceil(extract(epoch FROM r.ready_at - v_now) * 1000))::bigint END,
           CASE WHEN s.state = 'applied' THEN r.dead_seqs END
    FROM unnest(v_rows) r
    CROSS JOIN LATERAL (SELECT CASE WHEN r.ordinal = ANY (v_lost) THEN 'again' ELSE r.state END AS state) s
    ORDER BY r.ordinal;
END $$;
