-- requires: first_seq_at, is_tail
-- Retention. Looks at the next p_partitions partitions behind p_after and removes segments whose messages
-- have all expired, oldest first, at most about p_limit messages a partition, their dedup rows and runs with them:
--   retentionSeconds and maxWaitTimeSeconds by age; completedRetentionSeconds by age and when every group
--   of the queue has passed (a group without progress counts with its start; no group, no deletion;
--   that of a `queen tail` is none).
-- A partition's newest segment is blanked instead, once it is the only one: its end and its clock are what
-- the next push builds on. That push reads neither payloads nor txns of it, and the row itself is never
-- locked by a push, so neither waits. Call again with next_after until it is NULL.
-- What was removed, and why, is noted in retention_runs by the same transaction.
CREATE OR REPLACE FUNCTION queen.sweep_segments(p_after int, p_partitions int, p_limit int)
RETURNS TABLE (removed int, blanked int, messages bigint, next_after int) LANGUAGE plpgsql AS $$
DECLARE
    v_now     timestamptz := clock_timestamp();
    v_ids     int[];
    v_victims int[];
    v_bases   bigint[];
    v_ends    bigint[];
    v_blanks  boolean[];
    v_counts  int[];
    v_causes  text[];
BEGIN
    v_ids := ARRAY(SELECT p.id FROM queen.partitions p WHERE p.id > p_after ORDER BY p.id LIMIT p_partitions);
    SELECT array_agg(x.id), array_agg(x.base_seq), array_agg(x.base_seq + x.count), array_agg(x.base_seq = x.newest),
           array_agg(CASE WHEN x.is_blank THEN 0 ELSE x.count END),
           array_agg(CASE WHEN x.base_seq + x.count <= x.old_end THEN 'retention'
                          WHEN x.base_seq + x.count <= x.waited_end THEN 'evicted' ELSE 'completed' END),
           coalesce(sum(x.count) FILTER (WHERE NOT x.is_blank), 0)
    INTO v_victims, v_bases, v_ends, v_blanks, v_counts, v_causes, messages
    FROM (
        SELECT c.id, c.newest, c.old_end, c.waited_end, t.*, row_number() OVER w AS place, sum(t.count) OVER w AS total
        FROM (
            SELECT p.id, n.newest, e.old_end, e.waited_end, greatest(e.old_end, e.waited_end, e.done_end) AS cut
            FROM unnest(v_ids) AS u(id)
            JOIN queen.partitions p ON p.id = u.id
            JOIN queen.queues q ON q.id = p.queue_id
            CROSS JOIN LATERAL (
                SELECT t.base_seq AS newest FROM queen.segments t WHERE t.partition_id = p.id
                ORDER BY t.base_seq DESC LIMIT 1) n
            LEFT JOIN LATERAL (
                SELECT min(coalesce(s.cursor, CASE g.start_mode
                           WHEN 'new' THEN (SELECT b.seq FROM queen.group_starts b WHERE b.group_id = g.id AND b.partition_id = p.id)
                           WHEN 'time' THEN queen.first_seq_at(p.id, g.start_time) END, 0)) AS passed
                FROM queen.groups g
                LEFT JOIN LATERAL (
                    SELECT r.cursor FROM queen.progress r WHERE r.partition_id = p.id AND r.group_id = g.id
                    ORDER BY r.epoch DESC LIMIT 1) s ON true
                WHERE g.queue_id = q.id AND q.completed_retention_seconds > 0 AND NOT queen.is_tail(g.name)) g ON true
            CROSS JOIN LATERAL (
                SELECT CASE WHEN coalesce(q.retention_enabled, true) AND q.retention_seconds > 0
                            THEN queen.first_seq_at(p.id, v_now - q.retention_seconds * interval '1 second') END AS old_end,
                       CASE WHEN q.max_wait_time_seconds > 0
                            THEN queen.first_seq_at(p.id, v_now - q.max_wait_time_seconds * interval '1 second') END AS waited_end,
                       CASE WHEN q.retention_enabled AND q.completed_retention_seconds > 0
                            THEN least(queen.first_seq_at(p.id, v_now - q.completed_retention_seconds * interval '1 second'),
                                       coalesce(g.passed, 0)) END AS done_end
                OFFSET 0) e
            WHERE q.retention_seconds > 0 OR q.max_wait_time_seconds > 0 OR q.completed_retention_seconds > 0) c
        CROSS JOIN LATERAL (
            SELECT z.base_seq, z.count, z.payloads IS NULL AS is_blank FROM queen.segments z
            WHERE z.partition_id = c.id AND z.base_seq < c.cut AND z.base_seq + z.count <= c.cut
              AND NOT (z.base_seq = c.newest AND z.payloads IS NULL)
            ORDER BY z.base_seq LIMIT p_limit) t
        WINDOW w AS (PARTITION BY c.id ORDER BY t.base_seq)) x
    WHERE (x.place = 1 OR x.total <= p_limit)
      AND (x.place = 1 OR x.base_seq < x.newest);   -- the newest is blanked when it is alone

    DELETE FROM queen.dedup d USING unnest(v_victims, v_bases, v_ends) AS v(id, base, seq_end)
    WHERE d.partition_id = v.id AND d.seq >= v.base AND d.seq < v.seq_end;
    DELETE FROM queen.holes h USING unnest(v_victims, v_ends) AS v(id, seq_end)
    WHERE h.partition_id = v.id AND h.base_seq < v.seq_end;
    DELETE FROM queen.hidden_messages h
    USING (SELECT v.id, max(v.seq_end) AS seq_end FROM unnest(v_victims, v_ends) AS v(id, seq_end) GROUP BY v.id) v
    WHERE h.partition_id = v.id AND h.to_seq <= v.seq_end;
    UPDATE queen.dedup_runs r SET state = 'dropped'
    FROM (SELECT v.id, max(v.seq_end) AS seq_end FROM unnest(v_victims, v_ends) AS v(id, seq_end) GROUP BY v.id) v
    WHERE r.partition_id = v.id AND r.to_seq <= v.seq_end AND r.state <> 'dropped';
    DELETE FROM queen.segments s USING unnest(v_victims, v_bases, v_blanks) AS v(id, base, blank)
    WHERE s.partition_id = v.id AND s.base_seq = v.base AND NOT v.blank;
    GET DIAGNOSTICS removed = ROW_COUNT;
    UPDATE queen.segments s SET payloads = NULL, txns = NULL, meta = NULL
    FROM unnest(v_victims, v_bases, v_blanks) AS v(id, base, blank)
    WHERE s.partition_id = v.id AND s.base_seq = v.base AND v.blank;
    GET DIAGNOSTICS blanked = ROW_COUNT;
    IF messages > 0 THEN
        INSERT INTO queen.retention_runs (queue, retention, completed, evicted)
        SELECT q.name, coalesce(sum(v.count) FILTER (WHERE v.cause = 'retention'), 0),
               coalesce(sum(v.count) FILTER (WHERE v.cause = 'completed'), 0),
               coalesce(sum(v.count) FILTER (WHERE v.cause = 'evicted'), 0)
        FROM unnest(v_victims, v_counts, v_causes) AS v(id, count, cause)
        JOIN queen.partitions p ON p.id = v.id
        JOIN queen.queues q ON q.id = p.queue_id
        WHERE v.count > 0 GROUP BY q.name;
    END IF;
    next_after := CASE WHEN removed > 0 THEN (SELECT min(i) - 1 FROM unnest(v_victims) i)  -- these may have more
                       WHEN cardinality(v_ids) = p_partitions THEN v_ids[p_partitions] END;
    RETURN NEXT;
END $$;
