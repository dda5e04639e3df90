-- requires: availability
-- Wildcard resolution: which partitions of a queue has a group something to take from? Pages by
-- partition id: at most p_pages partitions behind p_after are looked at, and the rows tell of those
-- that are ready (ready_in_ms 0) or will be at a known time. The last row, with partition_id NULL,
-- says where to go on (next_after), or NULL at the end; without it the queue or the group is gone.
CREATE OR REPLACE FUNCTION queen.pop_sm_resolve(p_queue_id int, p_group_id int, p_after int, p_pages int)
RETURNS TABLE (partition_id int, ready_in_ms bigint, next_after int) LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_now  timestamptz := clock_timestamp();
    v_ids  int[];
BEGIN
    v_ids := ARRAY(SELECT p.id FROM queen.partitions p
                   WHERE p.queue_id = p_queue_id AND p.id > p_after ORDER BY p.id LIMIT p_pages);
    RETURN QUERY
    SELECT u.id, CASE WHEN a.state = 'ready' THEN 0
                      ELSE greatest(1, ceil(extract(epoch FROM a.ready_at - v_now) * 1000))::bigint END, NULL::int
    FROM unnest(v_ids) AS u(id)
    CROSS JOIN LATERAL queen.availability(u.id, p_group_id, v_now) a
    WHERE a.state <> 'empty';
    RETURN QUERY SELECT NULL::int, NULL::bigint,
        CASE WHEN cardinality(v_ids) = p_pages THEN v_ids[p_pages] END
    WHERE EXISTS (SELECT FROM queen.groups g JOIN queen.queues q ON q.id = g.queue_id
                  WHERE g.id = p_group_id AND q.id = p_queue_id);
END $$;
