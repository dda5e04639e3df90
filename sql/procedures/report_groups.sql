-- requires: api_time, ids, lane_numbers, report_partitions, stats_age
-- The groups of all queues by name and queue, from the measured numbers. p_limit NULL: all. States:
--   Lagging  a message waits for it for more than five minutes
--   Dead     so does one, and the group has neither taken nor settled anything for an hour
--   Stable   neither
CREATE OR REPLACE FUNCTION queen.report_groups(p_limit int, p_offset int) RETURNS json LANGUAGE sql STABLE AS $$
    -- Rows cost less than json_build_object.
    SELECT coalesce(json_agg(r), '[]')
    FROM (SELECT c.name, ARRAY[c.queue_name] AS topics, c.queue_name AS "queueName", coalesce(s.leased_partitions, 0) AS members,
                 coalesce(s.lagging_partitions, 0) AS "partitionsWithLag", coalesce(s.pending, 0) AS "totalLag",
                 coalesce(l.seconds, 0) AS "maxTimeLag",
                 CASE WHEN coalesce(l.seconds, 0) <= 300 THEN 'Stable'
                      WHEN greatest(s.last_change_at, c.created_at) < n.now - interval '1 hour' THEN 'Dead' ELSE 'Lagging' END AS state,
                 CASE c.start_mode WHEN 'time' THEN 'timestamp' ELSE c.start_mode END AS "subscriptionMode",
                 queen.api_time(c.start_time) AS "subscriptionTimestamp", queen.api_time(c.created_at) AS "subscriptionCreatedAt",
                 queen.api_time(s.last_change_at) AS "lastConsumedAt"
          FROM (SELECT x.*, row_number() OVER () AS place
                FROM (SELECT g.id, g.queue_id, g.name, g.start_mode, g.start_time, g.created_at, q.name AS queue_name
                      FROM queen.groups g JOIN queen.queues q ON q.id = g.queue_id
                      ORDER BY g.name, q.name LIMIT p_limit OFFSET p_offset) x) c
          CROSS JOIN (SELECT clock_timestamp() AS now OFFSET 0) n
          LEFT JOIN queen.group_stats s ON s.queue_id = c.queue_id AND s.group_id = c.id
          CROSS JOIN LATERAL (SELECT queen.seconds_since(s.oldest_unconsumed_at, n.now) AS seconds) l
          ORDER BY c.place) r
$$;

-- A page of the partitions of a group, by the names of queues and partitions. Far down the list, how many each queue has
-- says which queues the page is about; only those are put in order.
CREATE OR REPLACE FUNCTION queen.group_partitions(p_group text, p_limit int, p_offset int) RETURNS int[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_queues int[] := ARRAY(SELECT g.queue_id FROM queen.groups g JOIN queen.queues q ON q.id = g.queue_id WHERE g.name = p_group);
    v_before bigint := 0;  -- partitions of the queues in front of these
BEGIN
    IF cardinality(v_queues) = 1 THEN RETURN queen.partitions_by_name(v_queues[1], p_limit, p_offset); END IF;
    IF p_offset > 1000 THEN
        SELECT array_agg(c.id), coalesce(min(c.before), 0) INTO v_queues, v_before
        FROM (SELECT q.id, n.partitions, sum(n.partitions) OVER (ORDER BY q.name) - n.partitions AS before
              FROM queen.queues q
              JOIN (SELECT p.queue_id, count(*) AS partitions FROM queen.partitions p GROUP BY p.queue_id) n ON n.queue_id = q.id
              WHERE q.id = ANY (v_queues)) c
        WHERE c.before + c.partitions > p_offset AND (p_limit IS NULL OR c.before < p_offset::bigint + p_limit);
    END IF;
    RETURN ARRAY(SELECT p.id FROM queen.queues q JOIN queen.partitions p ON p.queue_id = q.id
                 WHERE q.id = ANY (v_queues) ORDER BY q.name, p.name LIMIT p_limit OFFSET p_offset - v_before);
END $$;

-- One group on each of its queues, partition by partition, as it is at this moment: an object by the names of queues.
-- p_limit NULL: all partitions. An unknown group has none.
--   workerId       the lease that lives
--   totalConsumed  how many messages of the partition are behind the group, by their offsets
CREATE OR REPLACE FUNCTION queen.report_group(p_group text, p_limit int, p_offset int) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_ids int[];
BEGIN
    v_ids := queen.group_partitions(p_group, p_limit, p_offset);
    RETURN (
        SELECT coalesce(json_object_agg(c.name, json_build_object('partitions', c.partitions) ORDER BY c.name), '{}')
        FROM (SELECT q.name, json_agg(json_build_object(
                         'partition', p.name, 'workerId', r.lease_id, 'lastConsumedAt', queen.api_time(n.changed_at),
                         'totalConsumed', n.cursor + coalesce(bit_count(n.settled), 0), 'offsetLag', n.amount,
                         'timeLagSeconds', coalesce(queen.seconds_since(n.oldest_at, v_now), 0),
                         'leaseActive', r.lease_id IS NOT NULL) ORDER BY p.name) AS partitions
              FROM queen.lane_numbers(v_ids, p_group, v_now) n
              JOIN queen.partitions p ON p.id = n.partition_id
              JOIN queen.queues q ON q.id = n.queue_id
              LEFT JOIN LATERAL (  -- also one under which everything has expired: it holds the lane until it ends
                  SELECT CASE WHEN x.lease_until > v_now THEN x.lease_id END AS lease_id FROM queen.progress x
                  WHERE x.partition_id = n.partition_id AND x.group_id = n.group_id ORDER BY x.epoch DESC LIMIT 1) r ON true
              WHERE n.group_id IS NOT NULL GROUP BY q.name) c);
END $$;

-- The lanes in which a message has been waiting for more than p_seconds, the longest first, as measured; who holds them
-- and when the group last did something there is of this moment.
CREATE OR REPLACE FUNCTION queen.report_lagging(p_seconds bigint, p_limit int, p_offset int) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT coalesce(json_agg(json_build_object(
               'consumer_group', c.group_name, 'queue_name', c.queue_name, 'partition_name', c.partition_name,
               'partition_id', queen.partition_uuid(c.partition_id), 'worker_id', CASE WHEN r.lease_until > c.now THEN r.lease_id END,
               'offset_lag', c.pending, 'time_lag_seconds', queen.seconds_since(c.oldest_unconsumed_at, c.now),
               'lag_hours', round(queen.seconds_since(c.oldest_unconsumed_at, c.now) / 3600.0, 2),
               'oldest_unconsumed_at', queen.api_time(c.oldest_unconsumed_at), 'last_consumed_at', queen.api_time(r.changed_at))
               ORDER BY c.oldest_unconsumed_at), '[]')
    FROM (SELECT l.*, q.name AS queue_name, p.name AS partition_name, g.name AS group_name, n.now
          FROM (SELECT statement_timestamp() AS now) n
          CROSS JOIN (
              SELECT x.* FROM queen.lane_lags x
              WHERE x.oldest_unconsumed_at < statement_timestamp() - p_seconds * interval '1 second'
              ORDER BY x.oldest_unconsumed_at LIMIT p_limit OFFSET p_offset) l
          JOIN queen.queues q ON q.id = l.queue_id
          JOIN queen.partitions p ON p.id = l.partition_id
          JOIN queen.groups g ON g.id = l.group_id) c
    LEFT JOIN LATERAL (
        SELECT x.lease_id, x.lease_until, x.changed_at FROM queen.progress x
        WHERE x.partition_id = c.partition_id AND x.group_id = c.group_id ORDER BY x.epoch DESC LIMIT 1) r ON true
$$;
