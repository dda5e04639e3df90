-- requires: api_time, ids, lane_numbers, stats_age
-- What these partitions hold at this moment, a row each. Cost: a few index probes per partition and group.
CREATE OR REPLACE FUNCTION queen.partition_numbers(p_partitions int[])
RETURNS TABLE (partition_id int, total bigint, pending bigint, processing bigint, failed bigint, dead_letters bigint,
               oldest_at timestamptz, newest_at timestamptz)
LANGUAGE sql STABLE AS $$
    WITH lane AS MATERIALIZED (
        SELECT * FROM queen.lane_numbers(p_partitions, NULL, clock_timestamp())
    ), failed AS (
        SELECT l.partition_id, count(DISTINCT f.seq) AS messages
        FROM lane l CROSS JOIN LATERAL unnest(l.failed_seqs) AS f(seq) GROUP BY l.partition_id
    )
    SELECT l.partition_id, min(l.amount) FILTER (WHERE l.group_id IS NULL),
           CASE WHEN count(l.group_id) = 0 THEN min(l.amount)
                WHEN count(l.group_id) = 1 OR count(l.settled) = 0 THEN max(l.amount) FILTER (WHERE l.group_id IS NOT NULL)
                ELSE queen.partition_pending(array_agg(l.cursor) FILTER (WHERE l.group_id IS NOT NULL),
                         array_agg(l.amount) FILTER (WHERE l.group_id IS NOT NULL),
                         array_agg(l.settled) FILTER (WHERE l.group_id IS NOT NULL)) END,
           CASE WHEN count(l.lease_end) <= 1 THEN coalesce(sum(l.processing), 0)::bigint
                ELSE queen.partition_processing(array_agg(l.cursor), array_agg(l.lease_end), array_agg(l.not_leased)) END,
           coalesce(min(f.messages), 0), coalesce(sum(l.dead_letters), 0)::bigint,
           min(l.oldest_at) FILTER (WHERE l.group_id IS NULL), max(l.newest_at)
    FROM lane l LEFT JOIN failed f ON f.partition_id = l.partition_id GROUP BY l.partition_id
$$;

-- The same as replies write it.
CREATE OR REPLACE FUNCTION queen.partition_stats(p_total bigint, p_pending bigint, p_processing bigint, p_failed bigint, p_dead_letters bigint)
RETURNS json LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('total', p_total, 'pending', p_pending, 'processing', p_processing, 'completed', p_total - p_pending,
                             'failed', p_failed, 'deadLetter', p_dead_letters)
$$;

-- A page of partitions by name within their queues; p_queue_id NULL: of all queues. What is skipped costs an entry of
-- the index each, and nothing else: that of queues which are deleted and still to be swept is left out by their list.
CREATE OR REPLACE FUNCTION queen.partitions_by_name(p_queue_id int, p_limit int, p_offset int) RETURNS int[]
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$  -- an order that the index has, not a sort
DECLARE
    v_gone int[] := ARRAY(SELECT d.queue_id FROM queen.deletions d WHERE d.kind = 'queue');
BEGIN
    IF p_queue_id IS NOT NULL THEN
        RETURN ARRAY(SELECT p.id FROM (
                         SELECT x.name FROM queen.partitions x WHERE x.queue_id = p_queue_id
                         ORDER BY x.name LIMIT p_limit OFFSET p_offset) k
                     JOIN queen.partitions p ON p.queue_id = p_queue_id AND p.name = k.name ORDER BY k.name);
    END IF;
    RETURN ARRAY(SELECT p.id FROM (
                     SELECT x.queue_id, x.name FROM queen.partitions x WHERE x.queue_id <> ALL (v_gone)
                     ORDER BY x.queue_id, x.name LIMIT p_limit OFFSET p_offset) k
                 JOIN queen.partitions p ON p.queue_id = k.queue_id AND p.name = k.name ORDER BY k.queue_id, k.name);
END $$;

-- A page of partitions, as they are at this moment. By name within their queues, in the order the queues were made;
-- p_by_lag: only those that lagged when it was last measured, the one whose message waits longest first. p_queue NULL:
-- of all queues. total is that of the whole list, as last measured. NULL: no such queue.
CREATE OR REPLACE FUNCTION queen.report_partitions(p_queue text, p_by_lag boolean, p_limit int, p_offset int)
RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_queue_id int;
    v_ids      int[];
    v_total    bigint;
BEGIN
    IF p_queue IS NOT NULL THEN
        SELECT q.id INTO v_queue_id FROM queen.queues q WHERE q.name = p_queue;
        IF NOT FOUND THEN RETURN NULL; END IF;
    END IF;
    IF p_by_lag AND v_queue_id IS NOT NULL THEN
        v_ids := ARRAY(SELECT l.partition_id FROM queen.lane_lags l WHERE l.longest AND l.queue_id = v_queue_id
                       ORDER BY l.oldest_unconsumed_at, l.partition_id LIMIT p_limit OFFSET p_offset);
    ELSIF p_by_lag THEN
        v_ids := ARRAY(SELECT l.partition_id FROM queen.lane_lags l WHERE l.longest
                       ORDER BY l.oldest_unconsumed_at, l.partition_id LIMIT p_limit OFFSET p_offset);
    ELSE
        v_ids := queen.partitions_by_name(v_queue_id, p_limit, p_offset);
    END IF;
    IF p_by_lag THEN
        SELECT count(*) INTO v_total FROM queen.lane_lags l WHERE l.longest AND (v_queue_id IS NULL OR l.queue_id = v_queue_id);
    ELSE
        SELECT coalesce(sum(s.partitions), 0) INTO v_total FROM queen.queue_stats s JOIN queen.queues q ON q.id = s.queue_id
        WHERE v_queue_id IS NULL OR s.queue_id = v_queue_id;
    END IF;
    RETURN (
        SELECT json_build_object('partitions', coalesce(json_agg(json_build_object(
                   'id', queen.partition_uuid(p.id), 'name', p.name, 'queue', q.name, 'namespace', q.namespace, 'task', q.task,
                   'createdAt', queen.api_time(p.created_at),
                   'stats', queen.partition_stats(n.total, n.pending, n.processing, n.failed, n.dead_letters),
                   'messages', json_build_object('total', n.total, 'pending', n.pending, 'processing', n.processing),
                   'oldestMessage', queen.api_time(n.oldest_at), 'newestMessage', queen.api_time(n.newest_at)) ORDER BY u.place), '[]'),
               'total', v_total, 'pagination', json_build_object('limit', p_limit, 'offset', p_offset), 'statsAge', queen.stats_age())
        FROM unnest(v_ids) WITH ORDINALITY AS u(id, place)
        JOIN queen.partitions p ON p.id = u.id
        JOIN queen.queues q ON q.id = p.queue_id
        JOIN queen.partition_numbers(v_ids) n ON n.partition_id = p.id);
END $$;
