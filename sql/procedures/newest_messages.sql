-- requires: first_seq_at, hidden
-- The partitions among which report_messages looks for the newest messages, by its filters: all of them if they are
-- at most p_limit; otherwise p_limit of them, those that were written to last (as far back as the ledger of batches
-- tells) and then those that were made last.
CREATE OR REPLACE FUNCTION queen.recent_partitions(p_queue text, p_partition text, p_namespace text, p_task text, p_limit int)
RETURNS int[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_queues int[];
    v_ids    int[];
BEGIN
    IF p_queue IS NOT NULL OR p_namespace IS NOT NULL OR p_task IS NOT NULL THEN
        v_queues := ARRAY(SELECT q.id FROM queen.queues q WHERE (p_queue IS NULL OR q.name = p_queue)
                          AND (p_namespace IS NULL OR q.namespace = p_namespace) AND (p_task IS NULL OR q.task = p_task));
        IF p_partition IS NOT NULL THEN
            v_ids := ARRAY(SELECT p.id FROM unnest(v_queues) AS u(id)
                           JOIN queen.partitions p ON p.queue_id = u.id AND p.name = p_partition LIMIT p_limit + 1);
        ELSE
            v_ids := ARRAY(SELECT x.id FROM unnest(v_queues) AS u(id)
                           CROSS JOIN LATERAL (SELECT p.id FROM queen.partitions p WHERE p.queue_id = u.id
                                               ORDER BY p.id DESC LIMIT p_limit + 1) x LIMIT p_limit + 1);
        END IF;
    ELSE
        v_ids := ARRAY(SELECT p.id FROM queen.partitions p JOIN queen.queues q ON q.id = p.queue_id
                       WHERE p_partition IS NULL OR p.name = p_partition ORDER BY p.id DESC LIMIT p_limit + 1);
    END IF;
    IF cardinality(v_ids) <= p_limit THEN RETURN v_ids; END IF;
    RETURN ARRAY(
        SELECT c.id FROM (
            SELECT p.id, 1 AS rank
            FROM (SELECT DISTINCT w.id FROM (
                      SELECT unnest(b.partitions) AS id
                      FROM (SELECT x.partitions FROM queen.batches x ORDER BY x.xid DESC LIMIT 2000) b LIMIT p_limit) w) r
            CROSS JOIN LATERAL (
                SELECT y.id FROM queen.partitions y JOIN queen.queues q ON q.id = y.queue_id
                WHERE y.id = r.id AND (v_queues IS NULL OR y.queue_id = ANY (v_queues))
                  AND (p_partition IS NULL OR y.name = p_partition) OFFSET 0) p
            UNION ALL
            SELECT u.id, 2 FROM unnest(v_ids) AS u(id)) c
        GROUP BY c.id ORDER BY min(c.rank), c.id DESC LIMIT p_limit);
END $$;

-- The newest p_count messages of the given partitions, newest first, created from p_from to p_to (each may be NULL)
-- and in each partition below the offset in p_belows (NULL: all). Deleted ones are left out; where more than 1,000 of the
-- newest of a partition are deleted, older ones may be missing.
-- Cost: a probe for each partition, and then the headers of about as many segments as there are messages: no
-- segment is unpacked.
CREATE OR REPLACE FUNCTION queen.newest_messages(p_partitions int[], p_belows bigint[], p_from timestamptz, p_to timestamptz, p_count int)
RETURNS TABLE (partition_id int, seq bigint, base_seq bigint, created_at timestamptz) LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_to     CONSTANT timestamptz := coalesce(p_to, 'infinity');
    v_from   timestamptz := coalesce(p_from, '-infinity');
    v_ids    int[];
    v_belows bigint[];
    v_hide   boolean[];
    v_bound  timestamptz;
    v_depth  int;
    v_open   int[];
BEGIN
    -- The newest p_count messages are among the partitions with the p_count newest last messages, and none of them
    -- is older than the oldest of these. (Of partitions that hide some, the last may be deleted: they come beside.)
    SELECT array_agg(n.id), array_agg(n.below), array_agg(n.hides), CASE WHEN max(n.shown) >= p_count THEN min(n.at) END
    INTO v_ids, v_belows, v_hide, v_bound
    FROM (SELECT o.*, count(*) FILTER (WHERE NOT o.hides) OVER (ORDER BY o.at DESC, o.id) AS shown
          FROM (SELECT p.id, p.hides, b.below, s.created_at + (least(s.count, b.below - s.base_seq) - 1) * interval '1 microsecond' AS at
                FROM unnest(p_partitions, p_belows) AS u(id, below)
                JOIN queen.partitions p ON p.id = u.id
                CROSS JOIN LATERAL (
                    SELECT least(u.below, CASE WHEN p_to IS NOT NULL THEN queen.first_seq_at(u.id, p_to + interval '1 microsecond') END,
                                 9223372036854775807) AS below OFFSET 0) b
                CROSS JOIN LATERAL (
                    SELECT g.base_seq, g.count, g.created_at FROM queen.segments g
                    WHERE g.partition_id = u.id AND g.base_seq < b.below AND g.payloads IS NOT NULL
                    ORDER BY g.base_seq DESC LIMIT 1) s) o
          WHERE o.at >= v_from) n
    WHERE n.shown - CASE WHEN n.hides THEN 0 ELSE 1 END < p_count;
    v_from := greatest(v_from, v_bound);

    -- A few segments of each tell how far back it goes; only few partitions can then have more to give.
    v_depth := least(p_count, greatest(4, 20000 / greatest(cardinality(v_ids), 1)));
    WITH seg AS MATERIALIZED (
        SELECT u.id, CASE WHEN u.hides THEN 0 ELSE g.count END AS count, g.created_at,
               g.created_at + g.count * interval '1 microsecond' AS ended_at
        FROM unnest(v_ids, v_belows, v_hide) AS u(id, below, hides)
        CROSS JOIN LATERAL (
            SELECT x.created_at, least(x.count, u.below - x.base_seq) AS count FROM queen.segments x
            WHERE x.partition_id = u.id AND x.base_seq < u.below ORDER BY x.base_seq DESC LIMIT v_depth) g
    ), bound AS MATERIALIZED (
        SELECT CASE WHEN sum(r.count) >= p_count THEN min(r.created_at) FILTER (WHERE r.before < p_count) END AS at
        FROM (SELECT seg.*, sum(seg.count) OVER (ORDER BY seg.ended_at DESC, seg.id, seg.created_at DESC) - seg.count AS before FROM seg) r
    )
    SELECT (SELECT b.at FROM bound b),
           ARRAY(SELECT s.id FROM seg s GROUP BY s.id
                 HAVING count(*) = v_depth AND min(s.created_at) > greatest(v_from, (SELECT b.at FROM bound b)))
    INTO v_bound, v_open;
    v_from := greatest(v_from, v_bound);

    RETURN QUERY
    SELECT m.id, m.seq, m.base_seq, m.at
    FROM (SELECT u.id, u.hides, x.base_seq, i.seq, x.created_at + (i.seq - x.base_seq) * interval '1 microsecond' AS at
          FROM unnest(v_ids, v_belows, v_hide) AS u(id, below, hides)
          CROSS JOIN LATERAL (
              SELECT g.base_seq, g.count, g.created_at FROM queen.segments g
              WHERE g.partition_id = u.id AND g.base_seq < u.below AND g.payloads IS NOT NULL
              ORDER BY g.base_seq DESC LIMIT CASE
                  WHEN u.hides THEN p_count + least(1000, queen.hidden_count(u.id, NULL, 0, u.below))
                  WHEN u.id = ANY (v_open) THEN p_count ELSE v_depth END) x
          CROSS JOIN LATERAL (
              SELECT generate_series(x.base_seq, least(x.base_seq + x.count, u.below) - 1) AS seq) i
          WHERE x.created_at + x.count * interval '1 microsecond' >= v_from OFFSET 0) m
    WHERE m.at >= v_from AND m.at <= v_to
      AND NOT (m.hides AND queen.hidden_bits(m.id, NULL, m.seq, m.seq + 1) IS NOT NULL)
    ORDER BY m.at DESC, m.id LIMIT p_count;
END $$;
