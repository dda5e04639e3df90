-- requires: begin_stats, lane_numbers
-- One step of a pass of the stats job: measures the next partitions behind (p_queue, p_after), in the order of
-- (queue, id), of about p_probes index probes altogether, whatever the number of stored messages. Writes what has
-- changed, and removes what is no longer there.
--   p_carry  what the step before has answered; NULL at the beginning of a pass, with 0, 0
-- Answers state going (call again with next_queue, next_after, carry), done, or lost: the job is not p_holder's, and
-- nothing was done.
-- The sums of a queue whose partitions take several steps are carried along and written with the last of them, so
-- that nobody reads half of a sum.
CREATE OR REPLACE FUNCTION queen.measure_stats(p_holder uuid, p_queue int, p_after int, p_carry jsonb, p_probes int)
RETURNS TABLE (state text, next_queue int, next_after int, carry jsonb) LANGUAGE plpgsql AS $$
DECLARE
    v_now     timestamptz := clock_timestamp();
    v_left    int := p_probes;
    v_queue   record;
    v_some    int[];
    v_max     int;
    v_ids     int[] := '{}';
    v_queues  int[] := '{}';       -- those that end with this step
    v_open    int;                 -- the one that does not
    v_sums    queen.queue_stats[];
    v_groups  queen.group_stats[];
    v_lanes   queen.lane_lags[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM FROM queen.stats_job j WHERE j.holder = p_holder FOR UPDATE;
    IF NOT FOUND THEN
        state := 'lost';
        RETURN NEXT;
        RETURN;
    END IF;

    FOR v_queue IN
        SELECT q.id, (SELECT count(*) FROM queen.groups g WHERE g.queue_id = q.id)::int AS groups
        FROM queen.queues q WHERE q.id >= p_queue ORDER BY q.id LIMIT p_probes LOOP
        v_max := greatest(1, v_left / (3 + v_queue.groups));
        v_some := ARRAY(SELECT p.id FROM queen.partitions p
                        WHERE p.queue_id = v_queue.id AND p.id > CASE WHEN v_queue.id = p_queue THEN p_after ELSE 0 END
                        ORDER BY p.id LIMIT v_max);
        v_ids := v_ids || v_some;
        v_left := v_left - 1 - cardinality(v_some) * (3 + v_queue.groups);
        IF cardinality(v_some) = v_max THEN   -- it may have more
            v_open := v_queue.id;
            next_queue := v_queue.id;
            next_after := v_some[v_max];
            EXIT;
        END IF;
        v_queues := v_queues || v_queue.id;
        next_queue := v_queue.id + 1;
        next_after := 0;
        EXIT WHEN v_left <= 0;
    END LOOP;
    state := CASE WHEN v_left > 0 AND v_open IS NULL THEN 'done' ELSE 'going' END;
    IF state = 'done' THEN
        next_queue := 2147483647;
        next_after := 2147483647;
    END IF;

    WITH lane AS MATERIALIZED (
        SELECT * FROM queen.lane_numbers(v_ids, NULL, v_now)
    ), partition AS (
        SELECT l.queue_id, l.partition_id, min(l.amount) FILTER (WHERE l.group_id IS NULL) AS stored,
               CASE WHEN count(l.group_id) = 0 THEN min(l.amount)
                    WHEN count(l.group_id) = 1 OR count(l.settled) = 0 THEN max(l.amount) FILTER (WHERE l.group_id IS NOT NULL)
                    ELSE queen.partition_pending(array_agg(l.cursor) FILTER (WHERE l.group_id IS NOT NULL),
                             array_agg(l.amount) FILTER (WHERE l.group_id IS NOT NULL),
                             array_agg(l.settled) FILTER (WHERE l.group_id IS NOT NULL)) END AS pending,
               CASE WHEN count(l.lease_end) <= 1 THEN sum(l.processing)
                    ELSE queen.partition_processing(array_agg(l.cursor), array_agg(l.lease_end), array_agg(l.not_leased)) END AS processing,
               coalesce(sum(l.dead_letters), 0) AS dead_letters,
               min(l.oldest_at) FILTER (WHERE l.group_id IS NOT NULL) AS waiting_at,
               min(l.oldest_at) FILTER (WHERE l.group_id IS NULL) AS stored_at,
               count(l.group_id) AS groups, max(l.newest_at) AS newest_at
        FROM lane l GROUP BY l.queue_id, l.partition_id
    ), failed AS (
        SELECT l.queue_id, count(DISTINCT (l.partition_id, f.seq)) AS messages
        FROM lane l CROSS JOIN LATERAL unnest(l.failed_seqs) AS f(seq) GROUP BY l.queue_id
    ), queue AS (
        SELECT t.queue_id, count(*) AS partitions, sum(t.stored) AS stored, sum(t.pending) AS pending, sum(t.processing) AS processing,
               coalesce(min(f.messages), 0) AS failed, sum(t.dead_letters) AS dead_letters,
               min(CASE WHEN t.groups > 0 THEN t.waiting_at ELSE t.stored_at END) AS oldest, max(t.newest_at) AS newest
        FROM partition t LEFT JOIN failed f ON f.queue_id = t.queue_id GROUP BY t.queue_id
        UNION ALL
        SELECT c.queue_id, c.partitions, c.stored, c.pending, c.processing, c.failed, c.dead_letters, c.oldest_unconsumed_at, c.newest_at
        FROM jsonb_populate_record(NULL::queen.queue_stats, nullif(p_carry -> 'queue', 'null')) c
        UNION ALL  -- queues without partitions
        SELECT q.id, 0, 0, 0, 0, 0, 0, NULL, NULL FROM unnest(v_queues) AS q(id)
    ), grouped AS (
        SELECT l.queue_id, l.group_id, sum(l.amount) AS pending, sum(l.processing) AS processing,
               coalesce(sum(cardinality(l.failed_seqs)), 0) AS failed, sum(l.dead_letters) AS dead_letters, count(l.lease_id) AS leased,
               count(*) FILTER (WHERE l.amount > 0) AS lagging, min(l.oldest_at) AS oldest, max(l.changed_at) AS changed
        FROM lane l WHERE l.group_id IS NOT NULL GROUP BY l.queue_id, l.group_id
        UNION ALL
        SELECT c.queue_id, c.group_id, c.pending, c.processing, c.failed, c.dead_letters, c.leased_partitions, c.lagging_partitions,
               c.oldest_unconsumed_at, c.last_change_at
        FROM jsonb_populate_recordset(NULL::queen.group_stats, p_carry -> 'groups') c
        UNION ALL
        SELECT g.queue_id, g.id, 0, 0, 0, 0, 0, 0, NULL, NULL FROM queen.groups g WHERE g.queue_id = ANY (v_queues)
    )
    SELECT (SELECT array_agg(s::queen.queue_stats) FROM (
                SELECT u.queue_id, sum(u.partitions)::bigint, sum(u.stored)::bigint, sum(u.pending)::bigint, coalesce(sum(u.processing), 0)::bigint,
                       sum(u.stored - u.pending)::bigint, sum(u.failed)::bigint, sum(u.dead_letters)::bigint, min(u.oldest), max(u.newest)
                FROM queue u WHERE u.queue_id = v_open OR u.queue_id = ANY (v_queues) GROUP BY u.queue_id) s),
           (SELECT array_agg(s::queen.group_stats) FROM (
                SELECT u.queue_id, u.group_id, sum(u.pending)::bigint, sum(u.processing)::bigint, sum(u.failed)::bigint,
                       sum(u.dead_letters)::bigint, sum(u.leased)::bigint, sum(u.lagging)::bigint, min(u.oldest), max(u.changed)
                FROM grouped u JOIN queen.groups g ON g.id = u.group_id
                WHERE u.queue_id = v_open OR u.queue_id = ANY (v_queues) GROUP BY u.queue_id, u.group_id) s),
           (SELECT array_agg(ROW(l.queue_id, l.partition_id, l.group_id, l.amount, l.oldest, l.place = 1)::queen.lane_lags)
            FROM (SELECT x.*, row_number() OVER (PARTITION BY x.partition_id ORDER BY x.oldest, x.group_id) AS place
                  FROM (SELECT y.*, coalesce(y.oldest_at, v_now) AS oldest FROM lane y
                        WHERE y.group_id IS NOT NULL AND y.amount > 0) x) l)
    INTO v_sums, v_groups, v_lanes;

    PERFORM queen.write_lane_lags(v_lanes, p_queue, p_after, next_queue, next_after);
    PERFORM queen.write_queue_stats(v_sums, v_groups, v_queues, p_queue, next_queue);

    carry := jsonb_build_object(
        'partitions', coalesce((p_carry ->> 'partitions')::bigint, 0) + cardinality(v_ids),
        'busy_us', coalesce((p_carry ->> 'busy_us')::bigint, 0) + (extract(epoch FROM clock_timestamp() - v_now) * 1000000)::bigint,
        'queue', (SELECT to_jsonb(s) FROM unnest(v_sums) s WHERE s.queue_id = v_open),
        'groups', (SELECT coalesce(jsonb_agg(to_jsonb(s)), '[]') FROM unnest(v_groups) s WHERE s.queue_id = v_open));
    UPDATE queen.stats_job j SET held_until = clock_timestamp() + queen.stats_lease();
    IF state = 'done' THEN
        UPDATE queen.stats_job j
        SET holder = NULL, held_until = NULL, hurried = false, measured_at = j.started_at, started_at = NULL,
            finished_at = clock_timestamp(), passes = j.passes + 1,
            partitions = (carry ->> 'partitions')::bigint, busy_ms = (carry ->> 'busy_us')::bigint / 1000;
    END IF;
    RETURN NEXT;
END $$;

-- The lanes that lag among the partitions behind (p_queue, p_after) up to (p_last_queue, p_last): these and no others.
-- EXCEPT leaves out what stands there already: an upsert would lock it, and so write to it.
CREATE OR REPLACE FUNCTION queen.write_lane_lags(p_lanes queen.lane_lags[], p_queue int, p_after int, p_last_queue int, p_last int)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    -- In the order of the key: by no other index, whatever the statistics of the table say.
    v_standing queen.lane_lags[] := ARRAY(
        SELECT x FROM queen.lane_lags x
        WHERE (x.queue_id, x.partition_id) > (p_queue, p_after) AND (x.queue_id, x.partition_id) <= (p_last_queue, p_last)
        ORDER BY x.queue_id, x.partition_id, x.group_id);
BEGIN
    DELETE FROM queen.lane_lags o USING (
        SELECT x.queue_id, x.partition_id, x.group_id FROM unnest(v_standing) x
        EXCEPT SELECT n.queue_id, n.partition_id, n.group_id FROM unnest(p_lanes) n) g
    WHERE o.queue_id = g.queue_id AND o.partition_id = g.partition_id AND o.group_id = g.group_id;
    INSERT INTO queen.lane_lags
    SELECT n.* FROM unnest(p_lanes) n EXCEPT SELECT x.* FROM unnest(v_standing) x
    ON CONFLICT (queue_id, partition_id, group_id) DO UPDATE
    SET pending = excluded.pending, oldest_unconsumed_at = excluded.oldest_unconsumed_at, longest = excluded.longest;
END $$;

-- The sums of the queues p_done, with which every queue from p_queue on and up to p_last has been measured.
CREATE OR REPLACE FUNCTION queen.write_queue_stats(p_queues queen.queue_stats[], p_groups queen.group_stats[], p_done int[],
                                                   p_queue int, p_last int)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM queen.queue_stats o
    WHERE o.queue_id >= p_queue AND o.queue_id <= p_last AND NOT EXISTS (SELECT FROM queen.queues q WHERE q.id = o.queue_id);
    DELETE FROM queen.group_stats o
    WHERE o.queue_id >= p_queue AND o.queue_id <= p_last AND NOT EXISTS (
        SELECT FROM queen.groups g JOIN queen.queues q ON q.id = g.queue_id WHERE g.id = o.group_id);
    INSERT INTO queen.queue_stats
    SELECT n.* FROM unnest(p_queues) n JOIN unnest(p_done) AS d(id) ON d.id = n.queue_id
    EXCEPT SELECT x.* FROM queen.queue_stats x WHERE x.queue_id >= p_queue AND x.queue_id <= p_last
    ON CONFLICT (queue_id) DO UPDATE
    SET partitions = excluded.partitions, stored = excluded.stored, pending = excluded.pending, processing = excluded.processing,
        completed = excluded.completed, failed = excluded.failed, dead_letters = excluded.dead_letters,
        oldest_unconsumed_at = excluded.oldest_unconsumed_at, newest_at = excluded.newest_at;
    INSERT INTO queen.group_stats
    SELECT n.* FROM unnest(p_groups) n JOIN unnest(p_done) AS d(id) ON d.id = n.queue_id
    EXCEPT SELECT x.* FROM queen.group_stats x WHERE x.queue_id >= p_queue AND x.queue_id <= p_last
    ON CONFLICT (queue_id, group_id) DO UPDATE
    SET pending = excluded.pending, processing = excluded.processing, failed = excluded.failed, dead_letters = excluded.dead_letters,
        leased_partitions = excluded.leased_partitions, lagging_partitions = excluded.lagging_partitions,
        oldest_unconsumed_at = excluded.oldest_unconsumed_at, last_change_at = excluded.last_change_at;
END $$;
