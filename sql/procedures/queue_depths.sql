-- requires: first_seq_at, bits, hidden, is_tail
-- How many messages each group of the given queues has still to consume: those that are stored, not
-- expired, not hidden from it and not settled by it, from its start on. The groups of `queen tail` are no
-- consumers and have no row. Looks at one page of partitions, in the order of
-- p_queues and of their ids, behind partition p_after of the first queue; the caller adds the pages up.
-- Rows per queue on the page: one with group_id NULL about everything that is stored, and one per group
-- with how long it has done nothing there (idle_ms). next_queue, next_after: where the next page
-- begins, the same in every row; NULL, or no row at all, at the end.
--
-- Cost: at most about p_probes index probes, whatever the number of partitions and groups: two in the
-- log per partition and one in progress per partition and group (a binary search more each for queues
-- whose messages expire and for groups that start at a time).
CREATE OR REPLACE FUNCTION queen.queue_depths(p_queues int[], p_after int, p_probes int)
RETURNS TABLE (queue_id int, group_id int, unconsumed bigint, idle_ms bigint, next_queue int, next_after int)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_now   timestamptz := clock_timestamp();
    v_limit CONSTANT int := greatest(1, p_probes / (2 + coalesce((
        SELECT max(c.groups) FROM (SELECT count(*) AS groups FROM queen.groups g
                                   WHERE g.queue_id = ANY (p_queues) AND NOT queen.is_tail(g.name)
                                   GROUP BY g.queue_id) c), 0)));
    v_ids   int[];
    v_last  queen.partitions;
BEGIN
    -- the queues are walked in order, and no further than the page reaches
    v_ids := ARRAY(SELECT p.id FROM unnest(p_queues) WITH ORDINALITY AS u(id, ordinal)
                   CROSS JOIN LATERAL (
                       SELECT x.id FROM queen.partitions x
                       WHERE x.queue_id = u.id AND x.id > CASE WHEN u.ordinal = 1 THEN p_after ELSE 0 END
                       ORDER BY x.id LIMIT v_limit) p LIMIT v_limit);
    IF cardinality(v_ids) = v_limit THEN
        SELECT p.* INTO v_last FROM queen.partitions p WHERE p.id = v_ids[v_limit];
    END IF;

    RETURN QUERY
    WITH stored AS MATERIALIZED (
        SELECT p.id, p.queue_id, p.hides, n.seq_end, greatest(o.base_seq, CASE WHEN e.seconds IS NOT NULL
                   THEN queen.first_seq_at(p.id, v_now - e.seconds * interval '1 second') END) AS first
        FROM unnest(v_ids) AS u(id)
        JOIN queen.partitions p ON p.id = u.id
        JOIN queen.queues q ON q.id = p.queue_id
        CROSS JOIN LATERAL (
            SELECT least(CASE WHEN coalesce(q.retention_enabled, true) THEN nullif(q.retention_seconds, 0) END,
                         nullif(q.max_wait_time_seconds, 0)) AS seconds) e
        CROSS JOIN LATERAL (
            SELECT s.base_seq + s.count AS seq_end, s.payloads IS NULL AS blank FROM queen.segments s
            WHERE s.partition_id = p.id ORDER BY s.base_seq DESC LIMIT 1) n
        CROSS JOIN LATERAL (
            SELECT s.base_seq FROM queen.segments s
            WHERE s.partition_id = p.id ORDER BY s.base_seq LIMIT 1) o
        WHERE NOT n.blank
    )
    SELECT s.queue_id, NULL::int, sum(s.seq_end - s.first - CASE WHEN s.hides
               THEN queen.hidden_count(s.id, NULL, s.first, s.seq_end) ELSE 0 END)::bigint, NULL::bigint, v_last.queue_id, v_last.id
    FROM stored s GROUP BY s.queue_id
    UNION ALL
    SELECT s.queue_id, g.id,
           sum(greatest(0, s.seq_end - greatest(c.cursor, s.first) - coalesce(CASE WHEN r.settled IS NOT NULL
               THEN bit_count(queen.bits_from(r.settled, greatest(0, s.first - r.cursor))) END, 0)
               - CASE WHEN s.hides THEN queen.hidden_count(s.id, g.id, greatest(c.cursor, s.first), s.seq_end,
                     queen.bits_from(r.settled, greatest(0, s.first - r.cursor))) ELSE 0 END))::bigint,
           (extract(epoch FROM v_now - greatest(g.created_at, max(r.changed_at))) * 1000)::bigint,
           v_last.queue_id, v_last.id
    FROM stored s
    JOIN queen.groups g ON g.queue_id = s.queue_id AND NOT queen.is_tail(g.name)
    LEFT JOIN LATERAL (
        SELECT x.cursor, x.settled, x.changed_at FROM queen.progress x
        WHERE x.partition_id = s.id AND x.group_id = g.id ORDER BY x.epoch DESC LIMIT 1) r ON true
    CROSS JOIN LATERAL (
        SELECT coalesce(r.cursor, CASE g.start_mode
            WHEN 'new' THEN (SELECT b.seq FROM queen.group_starts b
                             WHERE b.group_id = g.id AND b.partition_id = s.id)
            WHEN 'time' THEN queen.first_seq_at(s.id, g.start_time) END, 0) AS cursor) c
    GROUP BY s.queue_id, g.id, g.created_at;
    IF NOT FOUND AND v_last.id IS NOT NULL THEN  -- a page of empty partitions
        RETURN QUERY SELECT NULL::int, NULL::int, NULL::bigint, NULL::bigint, v_last.queue_id, v_last.id;
    END IF;
END $$;
