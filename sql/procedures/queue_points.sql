-- requires: report_range
-- The name of a queue in a report; '' in the tables stands for those not counted one by one.
CREATE OR REPLACE FUNCTION queen.shown_queue(p_queue text)
RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT CASE p_queue WHEN '' THEN '(other queues)' ELSE p_queue END $$;

-- The minutes of queues as points of p_minutes, rows per point and queue in the form of queue_hours, whose hour is
-- where the point begins; parked: the sum over the minutes of the pops that waited on average. With p_by_hours only of
-- minutes that no row of queue_hours stands for. p_queues NULL: of all queues.
CREATE OR REPLACE FUNCTION queen.queue_sums(p_from timestamptz, p_to timestamptz, p_minutes int, p_by_hours boolean, p_queues text[])
RETURNS SETOF queen.queue_hours LANGUAGE plpgsql STABLE AS $$
DECLARE
    t record;
BEGIN
    -- One after the other: how many there are, no plan could know.
    FOR t IN SELECT o.from_time, o.to_time FROM queen.other_minutes(p_from, p_to, p_by_hours) o LOOP
        IF p_queues IS NULL THEN
            RETURN QUERY
            SELECT date_bin(p_minutes * interval '1 minute', m.minute, timestamptz 'epoch'), m.queue,
                   sum(m.pushed)::bigint, sum(m.push_bytes)::bigint, sum(m.duplicates)::bigint, sum(m.buffered)::bigint,
                   sum(m.popped)::bigint, sum(m.pops)::bigint, sum(m.empty_pops)::bigint, sum(m.acked)::bigint,
                   sum(m.failed)::bigint, sum(m.dead_lettered)::bigint, sum(m.age_count)::bigint, sum(m.age_sum_ms)::bigint,
                   max(m.age_max_ms),
                   coalesce(sum(m.parked_sum::float8 / greatest(k.looks, 1)), 0)
            FROM queen.queue_minutes m
            LEFT JOIN queen.broker_minutes k ON k.minute = m.minute AND k.broker = m.broker AND m.parked_sum > 0
            WHERE m.minute >= t.from_time AND m.minute < t.to_time GROUP BY 1, 2;
        ELSE
            RETURN QUERY
            SELECT date_bin(p_minutes * interval '1 minute', m.minute, timestamptz 'epoch'), m.queue,
                   sum(m.pushed)::bigint, sum(m.push_bytes)::bigint, sum(m.duplicates)::bigint, sum(m.buffered)::bigint,
                   sum(m.popped)::bigint, sum(m.pops)::bigint, sum(m.empty_pops)::bigint, sum(m.acked)::bigint,
                   sum(m.failed)::bigint, sum(m.dead_lettered)::bigint, sum(m.age_count)::bigint, sum(m.age_sum_ms)::bigint,
                   max(m.age_max_ms),
                   coalesce(sum(m.parked_sum::float8 / greatest(k.looks, 1)), 0)
            FROM unnest(p_queues) AS u(queue)
            JOIN queen.queue_minutes m ON m.queue = u.queue AND m.minute >= t.from_time AND m.minute < t.to_time
            LEFT JOIN queen.broker_minutes k ON k.minute = m.minute AND k.broker = m.broker AND m.parked_sum > 0
            GROUP BY 1, 2;
        END IF;
    END LOOP;
END $$;

-- The same of all of the time, by the hour where p_by_hours.
CREATE OR REPLACE FUNCTION queen.queue_hours_and_minutes(p_from timestamptz, p_to timestamptz, p_minutes int, p_by_hours boolean,
                                                         p_queues text[])
RETURNS SETOF queen.queue_hours LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_first timestamptz;
    v_last  timestamptz;
    v_open  timestamptz[];
BEGIN
    IF p_by_hours THEN
        SELECT t.first, t.last, t.open INTO v_first, v_last, v_open FROM queen.hour_span(p_from, p_to) t;
        IF p_queues IS NULL THEN
            RETURN QUERY SELECT h.* FROM queen.queue_hours h WHERE h.hour >= v_first AND h.hour <= v_last AND h.hour <> ALL (v_open);
        ELSE
            RETURN QUERY SELECT h.* FROM unnest(p_queues) AS u(queue)
                         JOIN queen.queue_hours h ON h.queue = u.queue AND h.hour >= v_first AND h.hour <= v_last
                         WHERE h.hour <> ALL (v_open);
        END IF;
    END IF;
    RETURN QUERY SELECT s.* FROM queen.queue_sums(p_from, p_to, p_minutes, p_by_hours, p_queues) s;
END $$;

-- The queues of a report: the busiest of the range first, those that p_queue, p_namespace and p_task leave
-- (NULL = any; without any of them also queues that are gone, and '' for those not counted one by one).
CREATE OR REPLACE FUNCTION queen.busy_queues(p_from timestamptz, p_to timestamptz, p_queue text, p_namespace text,
                                             p_task text, p_limit int, p_offset int)
RETURNS TABLE (queue text) LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_first timestamptz;
    v_last  timestamptz;
    v_open  timestamptz[];
BEGIN
    SELECT t.first, t.last, t.open INTO v_first, v_last, v_open FROM queen.hour_span(p_from, p_to) t;
    RETURN QUERY
    SELECT m.queue
    FROM (SELECT h.queue, sum(h.pushed + h.buffered + h.popped + h.acked) AS messages
          FROM queen.queue_hours h
          WHERE h.hour >= v_first AND h.hour <= v_last AND h.hour <> ALL (v_open) AND (p_queue IS NULL OR h.queue = p_queue)
          GROUP BY h.queue
          UNION ALL
          SELECT x.queue, sum(x.pushed + x.buffered + x.popped + x.acked)
          FROM queen.other_minutes(p_from, p_to, true) o
          JOIN queen.queue_minutes x ON x.minute >= o.from_time AND x.minute < o.to_time
          WHERE p_queue IS NULL OR x.queue = p_queue
          GROUP BY x.queue) m
    LEFT JOIN queen.queues q ON q.name = m.queue AND (p_namespace IS NOT NULL OR p_task IS NOT NULL)
    WHERE (p_namespace IS NULL OR q.namespace = p_namespace) AND (p_task IS NULL OR q.task = p_task)
    GROUP BY m.queue
    ORDER BY sum(m.messages) DESC, m.queue
    LIMIT p_limit OFFSET p_offset;
END $$;

-- What was done to some queues, as points, all of them for each queue. parked: pops that waited, on average.
CREATE OR REPLACE FUNCTION queen.queue_points(p_from timestamptz, p_to timestamptz, p_minutes int, p_queues text[])
RETURNS TABLE (queue text, bucket timestamptz, seconds float8, pushed bigint, duplicates bigint, buffered bigint,
               popped bigint, pops bigint, empty_pops bigint, acked bigint, failed bigint, dead_lettered bigint,
               age_count bigint, age_sum_ms bigint, age_max_ms bigint, parked float8)
LANGUAGE sql STABLE AS $$
    SELECT m.queue, m.bucket, max(m.seconds), sum(m.pushed)::bigint, sum(m.duplicates)::bigint, sum(m.buffered)::bigint,
           sum(m.popped)::bigint, sum(m.pops)::bigint, sum(m.empty_pops)::bigint, sum(m.acked)::bigint, sum(m.failed)::bigint,
           sum(m.dead_lettered)::bigint, sum(m.age_count)::bigint, sum(m.age_sum_ms)::bigint, max(m.age_max_ms),
           sum(m.parked) / ceil(max(m.seconds) / 60)
    FROM (SELECT h.queue, date_bin(p_minutes * interval '1 minute', h.hour, timestamptz 'epoch') AS bucket, 0::float8 AS seconds,
                 h.pushed, h.duplicates, h.buffered, h.popped, h.pops, h.empty_pops, h.acked, h.failed, h.dead_lettered,
                 h.age_count, h.age_sum_ms, h.age_max_ms, h.parked
          FROM queen.queue_hours_and_minutes(p_from, p_to, p_minutes, p_minutes % 60 = 0, p_queues) h
          UNION ALL  -- every point is there; no join, whose cost nobody can estimate
          SELECT u.queue, b.bucket, b.seconds, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
          FROM unnest(p_queues) AS u(queue) CROSS JOIN queen.report_buckets(p_from, p_to, p_minutes) b) m
    GROUP BY m.queue, m.bucket
$$;
