-- requires: api_time, ids, report_partitions, stats_age
-- One queue with its options and a page of its partitions by name, as they are at this moment. p_limit NULL: all of them.
-- The totals are of this moment too when the page holds every partition; else they are measured ones, and statsAge
-- says how old. NULL: no such queue.
CREATE OR REPLACE FUNCTION queen.report_queue(p_queue text, p_limit int, p_offset int) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_queue      queen.queues;
    v_stats      queen.queue_stats;
    v_ids        int[];
    v_whole      boolean;
    v_partitions json;
    v_totals     json;
BEGIN
    SELECT q.* INTO v_queue FROM queen.queues q WHERE q.name = p_queue;
    IF NOT FOUND THEN RETURN NULL; END IF;
    SELECT s.* INTO v_stats FROM queen.queue_stats s WHERE s.queue_id = v_queue.id;
    v_ids := queen.partitions_by_name(v_queue.id, p_limit, p_offset);
    v_whole := p_offset = 0 AND (p_limit IS NULL OR cardinality(v_ids) < p_limit);
    SELECT coalesce(json_agg(json_build_object(
               'id', queen.partition_uuid(p.id), 'name', p.name, 'createdAt', queen.api_time(p.created_at),
               'stats', queen.partition_stats(n.total, n.pending, n.processing, n.failed, n.dead_letters),
               'oldestMessage', queen.api_time(n.oldest_at), 'newestMessage', queen.api_time(n.newest_at)) ORDER BY p.name), '[]'),
           queen.partition_stats(coalesce(sum(n.total), 0)::bigint, coalesce(sum(n.pending), 0)::bigint,
               coalesce(sum(n.processing), 0)::bigint, coalesce(sum(n.failed), 0)::bigint, coalesce(sum(n.dead_letters), 0)::bigint)
    INTO v_partitions, v_totals
    FROM queen.partition_numbers(v_ids) n JOIN queen.partitions p ON p.id = n.partition_id;
    IF NOT v_whole THEN
        v_totals := queen.partition_stats(coalesce(v_stats.stored, 0), coalesce(v_stats.pending, 0), coalesce(v_stats.processing, 0),
                                          coalesce(v_stats.failed, 0), coalesce(v_stats.dead_letters, 0));
    END IF;
    RETURN json_build_object(
        'id', queen.queue_uuid(v_queue.id), 'name', v_queue.name, 'namespace', v_queue.namespace, 'task', v_queue.task,
        'createdAt', queen.api_time(v_queue.created_at), 'options', queen.queue_options(v_queue),
        'partitions', v_partitions, 'totals', v_totals,
        'totalPartitions', CASE WHEN v_whole THEN cardinality(v_ids) ELSE coalesce(v_stats.partitions, 0) END,
        'statsAge', CASE WHEN v_whole THEN 0 ELSE queen.stats_age() END);
END $$;

-- How many messages of a queue some group has still to consume, and how many partitions it has: of this moment when
-- about p_probes index probes are enough for that, else as measured. NULL: no such queue.
CREATE OR REPLACE FUNCTION queen.report_depth(p_queue text, p_probes int) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_queue_id int;
    v_most     int;
    v_ids      int[];
BEGIN
    SELECT q.id INTO v_queue_id FROM queen.queues q WHERE q.name = p_queue;
    IF NOT FOUND THEN RETURN NULL; END IF;
    v_most := p_probes / (3 + (SELECT count(*) FROM queen.groups g WHERE g.queue_id = v_queue_id));
    v_ids := ARRAY(SELECT p.id FROM queen.partitions p WHERE p.queue_id = v_queue_id ORDER BY p.id LIMIT v_most + 1);
    RETURN (
        SELECT json_build_object('queue', p_queue, 'depth', coalesce(s.pending, 0), 'partitions', coalesce(s.partitions, 0),
                                 'statsAge', queen.stats_age())
        FROM (VALUES (1)) AS one LEFT JOIN queen.queue_stats s ON s.queue_id = v_queue_id WHERE cardinality(v_ids) > v_most
        UNION ALL
        SELECT json_build_object('queue', p_queue, 'depth', coalesce(sum(n.pending), 0), 'partitions', cardinality(v_ids), 'statsAge', 0)
        FROM queen.partition_numbers(v_ids) n HAVING cardinality(v_ids) <= v_most);
END $$;
