-- What the stats job has measured of the queues, for the metrics of a broker: by name the queues in p_names, the
-- p_more with the most pending messages and the p_more whose oldest pending message is oldest; the others added up
-- in one row with queue_name NULL. Cost: one row per queue, whatever they hold.
CREATE OR REPLACE FUNCTION queen.metrics_queues(p_names text[], p_more int)
RETURNS TABLE (queue_name text, partitions bigint, stored bigint, pending bigint, processing bigint, failed bigint,
               dead_letters bigint, oldest_age_seconds float8)
LANGUAGE sql STABLE AS $$
    WITH measured AS MATERIALIZED (
        SELECT q.name, s.* FROM queen.queue_stats s JOIN queen.queues q ON q.id = s.queue_id
    ), shown AS (
        SELECT m.name FROM measured m WHERE m.name = ANY (p_names)
        UNION
        (SELECT m.name FROM measured m WHERE m.pending > 0 ORDER BY m.pending DESC LIMIT p_more)
        UNION
        (SELECT m.name FROM measured m WHERE m.oldest_unconsumed_at IS NOT NULL
         ORDER BY m.oldest_unconsumed_at LIMIT p_more)
    )
    SELECT w.name, sum(m.partitions)::bigint, sum(m.stored)::bigint, sum(m.pending)::bigint, sum(m.processing)::bigint,
           sum(m.failed)::bigint, sum(m.dead_letters)::bigint,
           coalesce(greatest(0, extract(epoch FROM clock_timestamp() - min(m.oldest_unconsumed_at))), 0)::float8
    FROM measured m LEFT JOIN shown w ON w.name = m.name
    GROUP BY w.name
$$;

-- The same of the groups: the p_more with the largest lag and the p_more that lag the longest; the others in one row
-- with both names NULL.
CREATE OR REPLACE FUNCTION queen.metrics_groups(p_more int)
RETURNS TABLE (queue_name text, group_name text, lag bigint, oldest_age_seconds float8)
LANGUAGE sql STABLE AS $$
    WITH measured AS MATERIALIZED (
        SELECT s.*, q.name AS queue_name, g.name AS group_name
        FROM queen.group_stats s
        JOIN queen.queues q ON q.id = s.queue_id
        JOIN queen.groups g ON g.id = s.group_id
    ), shown AS (
        (SELECT m.queue_id, m.group_id FROM measured m ORDER BY m.pending DESC, m.queue_id, m.group_id LIMIT p_more)
        UNION
        (SELECT m.queue_id, m.group_id FROM measured m WHERE m.oldest_unconsumed_at IS NOT NULL
         ORDER BY m.oldest_unconsumed_at LIMIT p_more)
    )
    SELECT CASE WHEN w.group_id IS NOT NULL THEN m.queue_name END, CASE WHEN w.group_id IS NOT NULL THEN m.group_name END,
           sum(m.pending)::bigint,
           coalesce(greatest(0, extract(epoch FROM clock_timestamp() - min(m.oldest_unconsumed_at))), 0)::float8
    FROM measured m LEFT JOIN shown w ON w.queue_id = m.queue_id AND w.group_id = m.group_id
    GROUP BY 1, 2
$$;
