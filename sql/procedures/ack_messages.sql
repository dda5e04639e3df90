-- requires: announce, apply_verdicts, await_standby, bits, drop_stale_progress, dead_letter
-- Verdicts on delivered messages. One row of the key arrays is one (partition, group): callers' acks
-- are folded first, since a second row of the same key would be judged before the first.
--   p_leases          the lease the verdicts are given under; NULL = whichever is current
--   p_bases, p_dones  completed messages: bit i of p_dones is offset p_bases + i
--   p_cumulatives     everything delivered up to this offset is completed too, or NULL
--   p_retry_froms     this message and what follows it are handed back uncounted, the lease ends
--   p_ends            true: end the lease whatever is left unsettled. NULL: its consumer keeps it on purpose, so
--                     what it still holds is no delivery that nobody survived. false: neither
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

    WITH judged AS MATERIALIZED (
        SELECT a.*, v.*
        FROM (SELECT u.ordinal::int, u.partition_id, u.group_id, u.base, u.done::bit varying AS done,
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
                  ORDER BY r.epoch DESC LIMIT 1) s ON true) a
        CROSS JOIN LATERAL queen.apply_verdicts(
            a.live AND a.valid AND a.copy = 1, a.cursor, a.lease_end, a.settled, a.failed, a.attempt_seqs, a.attempt_counts,
            a.retry_limit, a.base, a.done, a.cumulative, a.retry_from, a.ends,
            v_item_seqs[v_firsts[a.ordinal]:v_lasts[a.ordinal]], v_item_kinds[v_firsts[a.ordinal]:v_lasts[a.ordinal]],
            v_item_errors[v_firsts[a.ordinal]:v_lasts[a.ordinal]]) v
    ), inserted AS (
        INSERT INTO queen.progress (partition_id, group_id, epoch, cursor, settled, failed, attempt_seqs,
            attempt_counts, lease_id, lease_until, lease_end, lease_seconds, deliveries, ready_at, window_end, changed_at)
        SELECT j.partition_id, j.group_id, j.epoch + 1, j.new_cursor, j.new_settled,
               CASE WHEN NOT j.released THEN j.new_failed END, j.tried_seqs, j.tried_counts,
               CASE WHEN NOT j.released THEN j.lease_id END, CASE WHEN NOT j.released THEN j.lease_until END,
               CASE WHEN NOT j.released THEN j.lease_end END, CASE WHEN NOT j.released THEN j.lease_seconds END,
               CASE WHEN queen.bits_get(j.new_failed, 0) THEN 0   -- the head has a verdict
                    WHEN j.ends IS NULL AND NOT j.released THEN 0
                    WHEN j.new_cursor = j.cursor THEN j.deliveries - CASE WHEN j.released THEN 1 ELSE 0 END
                    WHEN j.released THEN 0 ELSE 1 END,
               CASE WHEN j.any_failed AND j.retry_delay > 0
                    THEN greatest(j.ready_at, v_now + j.retry_delay * interval '1 millisecond')
                    ELSE j.ready_at END,
               j.window_end, v_now
        FROM judged j WHERE j.released IS NOT NULL
        ORDER BY j.partition_id, j.group_id
        ON CONFLICT DO NOTHING
        RETURNING queen.progress.partition_id, queen.progress.group_id, queen.progress.epoch,
                  queen.progress.ready_at
    )
    SELECT array_agg(ROW(r.ordinal, r.partition_id, r.group_id, r.new_epoch, r.state, r.cursor, r.settled, r.failed,
               r.lease_end, r.new_cursor, r.released, r.new_ready_at, r.dead_seqs, r.dead_errors, r.dead_counts)::queen.ack_row),
           array_agg(r.new_epoch), bool_or(r.dead_seqs IS NOT NULL)
    INTO v_rows, v_epochs, v_any_dead
    FROM (SELECT j.*, CASE WHEN j.copy = 1 THEN i.epoch END AS new_epoch, i.ready_at AS new_ready_at,
                 CASE WHEN NOT j.live THEN 'gone' WHEN j.copy > 1 THEN 'again' WHEN NOT j.valid THEN 'refused'
                      WHEN i.epoch IS NULL THEN 'again' ELSE 'applied' END AS state
          -- FULL, although each row inserted was judged: the planner cannot make it a nested loop
          FROM judged j FULL JOIN inserted i ON i.partition_id = j.partition_id AND i.group_id = j.group_id
          ORDER BY j.ordinal) r;

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
        IF array_remove(v_epochs, NULL) = '{}' THEN  -- nothing is written; what is settled may be answered as success
            PERFORM queen.await_standby();
        END IF;
    END IF;

    RETURN QUERY
    SELECT r.ordinal, CASE WHEN r.ordinal = ANY (v_lost) THEN 'again' ELSE r.state END, r.cursor, r.settled::text,
           r.failed::text, r.lease_end,
           CASE WHEN l.stands THEN r.new_cursor END, CASE WHEN l.stands THEN r.released END,
           CASE WHEN l.stands AND r.ready_at IS NOT NULL
                THEN greatest(0, ceil(extract(epoch FROM r.ready_at - v_now) * 1000))::bigint END,
           CASE WHEN l.stands THEN r.dead_seqs END
    FROM unnest(v_rows) r
    CROSS JOIN LATERAL (SELECT r.state = 'applied' AND NOT r.ordinal = ANY (v_lost) AS stands) l;
END $$;
