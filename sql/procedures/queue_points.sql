-- requires: report_range
-- The name of a queue in a report; '' in the tables stands for those not counted one by one.
CREATE OR REPLACE FUNCTION queen.shown_queue(p_queue text)
RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT CASE p_queue WHEN '' THEN '(other queues)' ELSE p_queue END $$;

-- The queues of a report: the busiest of the range first, those that p_queue, p_namespace and p_task leave
-- (NULL = any; without any of them also queues that are gone, and '' for those not counted one by one).
CREATE OR REPLACE FUNCTION queen.busy_queues(p_from timestamptz, p_to timestamptz, p_queue text, p_namespace text,
                                             p_task text, p_limit int, p_offset int)
RETURNS TABLE (queue text) LANGUAGE sql STABLE AS $$
    SELECT m.queue FROM queen.queue_minutes m
    LEFT JOIN queen.queues q ON q.name = m.queue AND (p_namespace IS NOT NULL OR p_task IS NOT NULL)
    WHERE m.minute >= date_trunc('minute', p_from) AND m.minute < p_to
      AND (p_queue IS NULL OR m.queue = p_queue)
      AND (p_namespace IS NULL OR q.namespace = p_namespace) AND (p_task IS NULL OR q.task = p_task)
    GROUP BY m.queue
    ORDER BY sum(m.pushed + m.buffered + m.popped + m.acked) DESC, m.queue
    LIMIT p_limit OFFSET p_offset
$$;

-- The minutes of some queues as points, all of them for each queue. parked: pops that waited, on average.
CREATE OR REPLACE FUNCTION queen.queue_points(p_from timestamptz, p_to timestamptz, p_minutes int, p_queues text[])
RETURNS TABLE (queue text, bucket timestamptz, seconds float8, pushed bigint, duplicates bigint, buffered bigint,
               popped bigint, pops bigint, empty_pops bigint, acked bigint, failed bigint, dead_lettered bigint,
               age_count bigint, age_sum_ms bigint, age_max_ms bigint, parked float8)
LANGUAGE sql STABLE AS $$
    SELECT u.queue, b.bucket, b.seconds, coalesce(x.pushed, 0), coalesce(x.duplicates, 0), coalesce(x.buffered, 0),
           coalesce(x.popped, 0), coalesce(x.pops, 0), coalesce(x.empty_pops, 0), coalesce(x.acked, 0),
           coalesce(x.failed, 0), coalesce(x.dead_lettered, 0), coalesce(x.age_count, 0), coalesce(x.age_sum_ms, 0),
           coalesce(x.age_max_ms, 0), coalesce(x.parked, 0) / ceil(b.seconds / 60)
    FROM unnest(p_queues) AS u(queue)
    CROSS JOIN queen.report_buckets(p_from, p_to, p_minutes) b
    LEFT JOIN (
        SELECT m.queue, date_bin(p_minutes * interval '1 minute', m.minute, timestamptz 'epoch') AS bucket,
               sum(m.pushed)::bigint AS pushed, sum(m.duplicates)::bigint AS duplicates,
               sum(m.buffered)::bigint AS buffered, sum(m.popped)::bigint AS popped, sum(m.pops)::bigint AS pops,
               sum(m.empty_pops)::bigint AS empty_pops, sum(m.acked)::bigint AS acked, sum(m.failed)::bigint AS failed,
               sum(m.dead_lettered)::bigint AS dead_lettered, sum(m.age_count)::bigint AS age_count,
               sum(m.age_sum_ms)::bigint AS age_sum_ms, max(m.age_max_ms) AS age_max_ms,
               sum(m.parked_sum::float8 / greatest(k.looks, 1)) AS parked
        FROM queen.queue_minutes m
        LEFT JOIN queen.broker_minutes k ON k.minute = m.minute AND k.broker = m.broker AND m.parked_sum > 0
        WHERE m.minute >= date_trunc('minute', p_from) AND m.minute < p_to AND m.queue = ANY (p_queues)
        GROUP BY 1, 2) x ON x.queue = u.queue AND x.bucket = b.bucket
$$;
