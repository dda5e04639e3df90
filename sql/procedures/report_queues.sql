-- requires: api_time, ids, stats_age
-- The queues by name, from the measured numbers; each filter may be NULL. p_limit NULL: all.
CREATE OR REPLACE FUNCTION queen.report_queues(p_namespace text, p_task text, p_limit int, p_offset int)
RETURNS json LANGUAGE sql STABLE AS $$
    -- Rows cost less than json_build_object.
    SELECT json_build_object('queues', coalesce(json_agg(r), '[]'), 'statsAge', queen.stats_age())
    FROM (SELECT queen.queue_uuid(c.id) AS id, c.name, c.namespace, c.task, queen.api_time(c.created_at) AS "createdAt",
                 coalesce(s.partitions, 0) AS partitions, m AS messages
          FROM (SELECT q.id, q.name, q.namespace, q.task, q.created_at FROM queen.queues q
                WHERE (p_namespace IS NULL OR q.namespace = p_namespace) AND (p_task IS NULL OR q.task = p_task)
                ORDER BY q.name LIMIT p_limit OFFSET p_offset) c
          LEFT JOIN queen.queue_stats s ON s.queue_id = c.id
          CROSS JOIN LATERAL (
              SELECT coalesce(s.stored, 0) AS total, coalesce(s.pending, 0) AS pending, coalesce(s.processing, 0) AS processing) m
          ORDER BY c.name) r
$$;

-- The families that queues name, with what their queues come to. p_kind: namespace or task.
CREATE OR REPLACE FUNCTION queen.report_families(p_kind text, p_limit int, p_offset int) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object(p_kind || 's', coalesce(json_agg(json_build_object(
               p_kind, c.name, 'queues', c.queues, 'partitions', c.partitions,
               'messages', json_build_object('total', c.stored, 'pending', c.pending)) ORDER BY c.name), '[]'),
           'statsAge', queen.stats_age())
    FROM (SELECT f.name, count(*) AS queues, coalesce(sum(s.partitions), 0) AS partitions,
                 coalesce(sum(s.stored), 0) AS stored, coalesce(sum(s.pending), 0) AS pending
          FROM queen.queues q
          CROSS JOIN LATERAL (SELECT CASE p_kind WHEN 'namespace' THEN q.namespace ELSE q.task END AS name) f
          LEFT JOIN queen.queue_stats s ON s.queue_id = q.id
          WHERE f.name <> '' GROUP BY f.name ORDER BY f.name LIMIT p_limit OFFSET p_offset) c
$$;
