-- requires: api_time, stats_age, throughput
-- Everything in one look, from the measured numbers. Lag is over the groups of queues: how old the first message that
-- a group has still to consume is, in seconds, and how many it has.
CREATE OR REPLACE FUNCTION queen.report_overview() RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_now   timestamptz := clock_timestamp();
    v_total record;
    v_lag   record;
BEGIN
    SELECT count(*) AS queues, count(DISTINCT q.namespace) FILTER (WHERE q.namespace <> '') AS namespaces,
           count(DISTINCT q.task) FILTER (WHERE q.task <> '') AS tasks,
           coalesce(sum(s.partitions), 0) AS partitions, coalesce(sum(s.stored), 0) AS stored, coalesce(sum(s.pending), 0) AS pending,
           coalesce(sum(s.processing), 0) AS processing, coalesce(sum(s.completed), 0) AS completed,
           coalesce(sum(s.failed), 0) AS failed, coalesce(sum(s.dead_letters), 0) AS dead_letters
    INTO v_total FROM queen.queues q LEFT JOIN queen.queue_stats s ON s.queue_id = q.id;
    SELECT coalesce(round(avg(l.seconds), 3), 0) AS time_avg, coalesce(percentile_disc(0.5) WITHIN GROUP (ORDER BY l.seconds), 0) AS time_median,
           coalesce(min(l.seconds), 0) AS time_min, coalesce(max(l.seconds), 0) AS time_max,
           coalesce(round(avg(l.pending), 3), 0) AS offset_avg, coalesce(percentile_disc(0.5) WITHIN GROUP (ORDER BY l.pending), 0) AS offset_median,
           coalesce(min(l.pending), 0) AS offset_min, coalesce(max(l.pending), 0) AS offset_max
    INTO v_lag
    FROM (SELECT s.pending, coalesce(queen.seconds_since(s.oldest_unconsumed_at, v_now), 0) AS seconds
          FROM queen.group_stats s JOIN queen.groups g ON g.id = s.group_id JOIN queen.queues q ON q.id = s.queue_id) l;
    RETURN (SELECT json_build_object(
        'queues', v_total.queues, 'partitions', v_total.partitions, 'namespaces', v_total.namespaces, 'tasks', v_total.tasks,
        'messages', json_build_object('total', v_total.stored, 'pending', v_total.pending, 'processing', v_total.processing,
            'completed', v_total.completed, 'failed', v_total.failed, 'deadLetter', v_total.dead_letters),
        'lag', json_build_object(
            'time', json_build_object('avg', v_lag.time_avg, 'median', v_lag.time_median, 'min', v_lag.time_min, 'max', v_lag.time_max),
            'offset', json_build_object('avg', v_lag.offset_avg, 'median', v_lag.offset_median, 'min', v_lag.offset_min,
                                        'max', v_lag.offset_max)),
        'throughput', json_build_object('ingestedPerSecond', t.ingested_per_second, 'processedPerSecond', t.processed_per_second),
        'timestamp', queen.api_time(v_now), 'statsAge', queen.stats_age())
        FROM queen.throughput() t);
END $$;
