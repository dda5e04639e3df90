-- requires: api_time, ids, list_dead_letters, message_states, newest_messages
-- GET /api/v1/messages: a page of stored messages, newest first, without their payloads. Each filter may be NULL.
--   p_status   pending, processing, completed or dead_letter (message_status): among the newest 2,000 messages that
--              the other filters leave, from where the first of that status can be; dead letters are found by
--              themselves, newest death first
-- Looks at 2,000 partitions at most (recent_partitions), 1,000 with a status.
-- REQUIRES: p_offset + p_limit <= 5,000
CREATE OR REPLACE FUNCTION queen.report_messages(p_queue text, p_partition text, p_namespace text, p_task text, p_status text,
    p_from timestamptz, p_to timestamptz, p_limit int, p_offset int)
RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_look_min   CONSTANT int := 2000;
    v_now        timestamptz := clock_timestamp();
    v_ids        int[];
    v_belows     bigint[];
    v_partitions int[];
    v_seqs       bigint[];
    v_page       int[];       -- places in these
    v_queues     int[];
BEGIN
    IF p_status = 'dead_letter' THEN
        SELECT array_agg(d.partition_id ORDER BY d.failed_at DESC), array_agg(d.seq ORDER BY d.failed_at DESC) INTO v_partitions, v_seqs
        FROM queen.recent_dead_messages(p_queue, p_partition, p_namespace, p_task, p_from, p_to, p_offset + p_limit) d;
    ELSE
        v_ids := queen.recent_partitions(p_queue, p_partition, p_namespace, p_task, CASE WHEN p_status IS NULL THEN 2000 ELSE 1000 END);
        IF p_status IN ('processing', 'completed') THEN  -- nothing behind what the groups have reached
            v_belows := ARRAY(SELECT coalesce(max(CASE WHEN p_status = 'completed' THEN s.cursor + coalesce(length(s.settled), 0)
                                                       ELSE s.lease_end END), 0)
                              FROM unnest(v_ids) WITH ORDINALITY AS u(id, ordinal)
                              JOIN queen.partitions p ON p.id = u.id
                              LEFT JOIN queen.groups g ON g.queue_id = p.queue_id
                              LEFT JOIN LATERAL (SELECT r.cursor, r.settled, r.lease_end FROM queen.progress r
                                                 WHERE r.partition_id = p.id AND r.group_id = g.id ORDER BY r.epoch DESC LIMIT 1) s ON true
                              GROUP BY u.ordinal ORDER BY u.ordinal);
        END IF;
        SELECT array_agg(n.partition_id ORDER BY n.created_at DESC, n.partition_id), array_agg(n.seq ORDER BY n.created_at DESC, n.partition_id)
        INTO v_partitions, v_seqs
        FROM queen.newest_messages(v_ids, v_belows, p_from, p_to, CASE WHEN p_status IS NULL THEN p_offset + p_limit ELSE greatest(v_look_min, p_offset + p_limit) END) n;
    END IF;
    IF p_status IS NULL THEN
        v_page := ARRAY(SELECT generate_series(p_offset + 1, least(p_offset + p_limit, coalesce(cardinality(v_seqs), 0))));
    ELSE
        v_page := ARRAY(SELECT m.place::int FROM unnest(v_partitions, v_seqs) WITH ORDINALITY AS m(partition_id, seq, place)
                        LEFT JOIN (SELECT t.partition_id, t.seq, array_agg(t.state) AS states
                                   FROM queen.message_states(v_partitions, v_seqs, v_now) t GROUP BY t.partition_id, t.seq) s
                            ON s.partition_id = m.partition_id AND s.seq = m.seq
                        WHERE queen.message_status(s.states) = p_status ORDER BY m.place LIMIT p_limit OFFSET p_offset);
    END IF;
    SELECT array_agg(v_partitions[u.place] ORDER BY u.i), array_agg(v_seqs[u.place] ORDER BY u.i)
    INTO v_partitions, v_seqs FROM unnest(v_page) WITH ORDINALITY AS u(place, i);
    v_queues := CASE WHEN p_queue IS NOT NULL THEN ARRAY(SELECT q.id FROM queen.queues q WHERE q.name = p_queue)
                     ELSE ARRAY(SELECT DISTINCT p.queue_id FROM queen.partitions p WHERE p.id = ANY (v_partitions)) END;

    RETURN json_build_object('messages', queen.message_summaries(v_partitions, v_seqs, v_now),
                             'mode', queen.consumption_mode(v_queues))::text;
END $$;

-- Messages that are dead letters of some group and still stored, the last death first; from and to are about when they
-- were pushed.
CREATE OR REPLACE FUNCTION queen.recent_dead_messages(p_queue text, p_partition text, p_namespace text, p_task text,
    p_from timestamptz, p_to timestamptz, p_count int)
RETURNS TABLE (partition_id int, seq bigint, failed_at timestamptz) LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_condition text := queen.dead_letter_condition(p_queue, NULL, p_partition, NULL, NULL);
BEGIN
    IF p_namespace IS NOT NULL OR p_task IS NOT NULL THEN
        v_condition := v_condition || format(' AND d.group_id = ANY (%L)', ARRAY(
            SELECT g.id FROM queen.queues q JOIN queen.groups g ON g.queue_id = q.id
            WHERE (p_namespace IS NULL OR q.namespace = p_namespace) AND (p_task IS NULL OR q.task = p_task)));
    END IF;
    RETURN QUERY EXECUTE format($sql$
        SELECT l.partition_id, l.seq, max(l.failed_at)
        FROM (SELECT d.partition_id, d.seq, d.failed_at FROM queen.dead_letters d
              WHERE %s AND d.created_at >= $1 AND d.created_at <= $2 ORDER BY d.failed_at DESC LIMIT $3) l
        CROSS JOIN LATERAL (SELECT s.base_seq, s.count, s.payloads IS NULL AS blank FROM queen.segments s
                            WHERE s.partition_id = l.partition_id AND s.base_seq <= l.seq ORDER BY s.base_seq DESC LIMIT 1) s
        WHERE l.seq < s.base_seq + s.count AND NOT s.blank
        GROUP BY l.partition_id, l.seq
        $sql$, v_condition) USING coalesce(p_from, '-infinity'), coalesce(p_to, 'infinity'), p_count;
END $$;

-- Messages as the list has them, by partition and offset, in the order given.
CREATE OR REPLACE FUNCTION queen.message_summaries(p_partitions int[], p_seqs bigint[], p_now timestamptz)
RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
    WITH state AS MATERIALIZED (  -- over all groups that are to have the message
        SELECT t.partition_id, t.seq, array_agg(t.state) AS states, max(t.state) FILTER (WHERE t.group_name = '__QUEUE_MODE__') AS queue_state,
               count(*) FILTER (WHERE t.group_name <> '__QUEUE_MODE__') AS total,
               count(*) FILTER (WHERE t.group_name <> '__QUEUE_MODE__' AND t.state = 'completed') AS consumed,
               max(t.lease_until) AS lease_until
        FROM queen.message_states(p_partitions, p_seqs, p_now) t GROUP BY t.partition_id, t.seq
    )
    SELECT coalesce(json_agg(r), '[]')
    FROM (SELECT i.id, coalesce(nullif(l.txn, ''), i.id::text) AS "transactionId", queen.partition_uuid(p.id) AS "partitionId",
                 q.name || '/' || p.name AS "queuePath", q.name AS queue, p.name AS partition, q.namespace, q.task,
                 queen.message_status(t.states) AS status, t.queue_state AS "queueStatus", b AS "busStatus",
                 l.meta->>'traceId' AS "traceId", l.meta->>'producerSub' AS "producerSub", q.priority AS "queuePriority",
                 queen.api_time(i.at) AS "createdAt", queen.api_time(t.lease_until) AS "leaseExpiresAt"
          FROM unnest(p_partitions, p_seqs) WITH ORDINALITY AS m(partition_id, seq, place)
          JOIN queen.partitions p ON p.id = m.partition_id
          JOIN queen.queues q ON q.id = p.queue_id
          LEFT JOIN state t ON t.partition_id = m.partition_id AND t.seq = m.seq
          CROSS JOIN LATERAL (SELECT coalesce(t.consumed, 0) AS "consumedBy", coalesce(t.total, 0) AS "totalGroups") b
          CROSS JOIN LATERAL (
              SELECT s.base_seq, s.created_at, s.txns, s.meta FROM queen.segments s
              WHERE s.partition_id = p.id AND s.base_seq <= m.seq ORDER BY s.base_seq DESC LIMIT 1) s
          CROSS JOIN LATERAL (
              SELECT split_part(s.txns, E'\n', (m.seq - s.base_seq)::int + 1) AS txn,
                     nullif(split_part(s.meta, E'\n', (m.seq - s.base_seq)::int + 1), '')::json AS meta OFFSET 0) l
          CROSS JOIN LATERAL (
              SELECT s.created_at + (m.seq - s.base_seq) * interval '1 microsecond' AS at,
                     queen.message_id(s.created_at + (m.seq - s.base_seq) * interval '1 microsecond', p.id, m.seq) AS id OFFSET 0) i
          ORDER BY m.place) r);
END $$;
