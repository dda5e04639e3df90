-- requires: is_tail, lanes
-- How many messages each group of the given queues has still to consume, by queen.lanes. The groups of
-- `queen tail` are no consumers and have no row. Looks at one page of partitions, in the order of p_queues and of their ids, behind partition p_after of the first queue; the caller adds the pages up.
-- Rows per queue on the page: one with group_id NULL about everything that is stored, and one per group
-- with how long it has done nothing there (idle_ms). next_queue, next_after: where the next page
-- begins, the same in every row; NULL, or no row at all, at the end.
--
-- Cost: about p_probes index probes, whatever the number of partitions and groups (two in the log per partition, one in
-- progress per partition and group), and what else queen.lanes asks of a partition.
CREATE OR REPLACE FUNCTION queen.queue_depths(p_queues int[], p_after int, p_probes int)
RETURNS TABLE (queue_id int, group_id int, unconsumed bigint, idle_ms bigint, next_queue int, next_after int)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_now   timestamptz := clock_timestamp();
    v_limit CONSTANT int := greatest(1, p_probes / (2 + coalesce((
        SELECT max(c.groups) FROM (SELECT count(*) AS groups FROM queen.groups g
                                   WHERE g.queue_id = ANY (p_queues) GROUP BY g.queue_id) c), 0)));
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
    SELECT l.queue_id, l.group_id, sum(l.amount)::bigint,
           (extract(epoch FROM v_now - greatest((SELECT g.created_at FROM queen.groups g WHERE g.id = l.group_id),
                                                max(l.changed_at))) * 1000)::bigint,
           v_last.queue_id, v_last.id
    FROM queen.lanes(v_ids, NULL, v_now) l
    WHERE l.seq_end > 0
      AND NOT EXISTS (SELECT FROM queen.groups g WHERE g.id = l.group_id AND queen.is_tail(g.name) OFFSET 0)
    GROUP BY l.queue_id, l.group_id;
    IF NOT FOUND AND v_last.id IS NOT NULL THEN  -- a page of empty partitions
        RETURN QUERY SELECT NULL::int, NULL::int, NULL::bigint, NULL::bigint, v_last.queue_id, v_last.id;
    END IF;
END $$;
