-- What brokers flush by the minute, and the reports made of it.

-- A row as a broker writes it; p_more: further columns.
CREATE FUNCTION test.broker_row(p_minute timestamptz, p_broker bigint, p_flush bigint, p_more jsonb DEFAULT '{}')
RETURNS jsonb LANGUAGE sql AS $$
    SELECT (SELECT jsonb_object_agg(a.attname, 0) FROM pg_attribute a
            WHERE a.attrelid = 'queen.broker_minutes'::regclass AND a.attnum > 0 AND a.atttypid = 'bigint'::regtype)
           || jsonb_build_object('minute', p_minute, 'broker', p_broker, 'flush', p_flush, 'hostname', 'host',
                                 'port', 6000 + p_broker, 'workers', 2, 'looks', 6, 'seen_at', p_minute + interval '1 minute')
           || p_more $$;
CREATE FUNCTION test.queue_row(p_minute timestamptz, p_queue text, p_broker bigint, p_flush bigint, p_more jsonb DEFAULT '{}')
RETURNS jsonb LANGUAGE sql AS $$
    SELECT (SELECT jsonb_object_agg(a.attname, 0) FROM pg_attribute a
            WHERE a.attrelid = 'queen.queue_minutes'::regclass AND a.attnum > 0 AND a.atttypid = 'bigint'::regtype)
           || jsonb_build_object('minute', p_minute, 'queue', p_queue, 'broker', p_broker, 'flush', p_flush) || p_more $$;
CREATE FUNCTION test.flush(p_minute timestamptz, p_queue text, p_broker bigint, p_flush bigint, p_more jsonb)
RETURNS void LANGUAGE sql AS $$
    SELECT queen.flush_minutes(jsonb_build_array(test.broker_row(p_minute, p_broker, p_flush, p_more)),
                               jsonb_build_array(test.queue_row(p_minute, p_queue, p_broker, p_flush, p_more))) $$;

-- a flush says what a minute has come to: repeated it changes nothing, and a late one does not undo a later one
DO $$
DECLARE
    v_minute timestamptz := '2026-01-01 10:00Z';
BEGIN
    PERFORM test.flush(v_minute, 'q', 1, 1, '{"pushed": 5}');
    PERFORM test.flush(v_minute, 'q', 1, 1, '{"pushed": 5}');
    ASSERT (SELECT pushed FROM queen.queue_minutes) = 5 AND (SELECT pushed FROM queen.broker_minutes) = 5, 'counted twice';
    PERFORM test.flush(v_minute, 'q', 1, 3, '{"pushed": 9, "rss_bytes": {"sum": 8, "min": 1, "max": 5, "last": 2}}');
    PERFORM test.flush(v_minute, 'q', 1, 2, '{"pushed": 7}');
    ASSERT (SELECT pushed FROM queen.queue_minutes) = 9 AND (SELECT pushed FROM queen.broker_minutes) = 9, 'a late flush won';
    ASSERT (SELECT rss_bytes FROM queen.broker_minutes) = (8, 1, 5, 2)::queen.gauge;
    -- another broker, and another start of the same one, add to it
    PERFORM test.flush(v_minute, 'q', 2, 1, '{"pushed": 1}');
    ASSERT (SELECT sum(pushed) FROM queen.queue_minutes) = 10 AND (SELECT sum(pushed) FROM queen.broker_minutes) = 10;
    ASSERT queen.flush_minutes('[]', '[]') BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp();
    -- updates of a minute stay within the page
    FOR i IN 10..60 LOOP PERFORM test.flush(v_minute, 'q', 1, i, '{"pushed": 9}'); END LOOP;
    ASSERT pg_relation_size('queen.queue_minutes') <= 2 * 8192, pg_relation_size('queen.queue_minutes');
END $$;
TRUNCATE queen.queue_minutes, queen.broker_minutes;

-- ---- the range of a report

CREATE FUNCTION test.buckets(p_from timestamptz, p_to timestamptz, p_minutes int DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
    SELECT r.minutes || ':' || coalesce((SELECT string_agg(to_char(b.bucket AT TIME ZONE 'UTC', 'HH24:MI') || '/' || b.seconds, ' ' ORDER BY b.bucket)
        FROM queen.report_buckets(r.from_time, r.to_time, r.minutes) b), '') FROM queen.report_range(p_from, p_to, p_minutes) r $$;

DO $$
BEGIN
    -- a minute belongs to the range when any part of it does; the end itself does not
    ASSERT test.buckets('2026-01-01 10:00Z', '2026-01-01 10:02Z') = '1:10:00/60 10:01/60', test.buckets('2026-01-01 10:00Z', '2026-01-01 10:02Z');
    ASSERT test.buckets('2026-01-01 10:00:30Z', '2026-01-01 10:02:01Z') = '1:10:00/60 10:01/60 10:02/60',
        test.buckets('2026-01-01 10:00:30Z', '2026-01-01 10:02:01Z');
    ASSERT test.buckets('2026-01-01 10:00Z', '2026-01-01 10:00Z') = '1:', 'an empty range has points';
    -- points begin at whole multiples; the first and the last may be cut
    ASSERT test.buckets('2026-01-01 10:04Z', '2026-01-01 10:16Z', 5) = '5:10:00/60 10:05/300 10:10/300 10:15/60',
        test.buckets('2026-01-01 10:04Z', '2026-01-01 10:16Z', 5);
    -- their width follows the length, and their number is bounded
    ASSERT (SELECT minutes FROM queen.report_range('2026-01-01 10:00Z', '2026-01-01 11:00Z', NULL)) = 1;
    ASSERT (SELECT minutes FROM queen.report_range('2026-01-01 10:00Z', '2026-01-01 11:01Z', NULL)) = 5;
    ASSERT (SELECT minutes FROM queen.report_range('2026-01-01 10:00Z', '2026-01-02 10:00Z', NULL)) = 15;
    ASSERT (SELECT minutes FROM queen.report_range('2026-01-01 10:00Z', '2026-01-08 10:00Z', NULL)) = 60;
    ASSERT (SELECT minutes FROM queen.report_range('2026-01-01 10:00Z', '2026-03-08 10:00Z', NULL)) = 360;
    ASSERT (SELECT minutes FROM queen.report_range('2026-01-01 10:00Z', '2026-01-08 10:00Z', 1)) = 60, 'points of more than a day are whole hours';
    ASSERT (SELECT count(*) FROM queen.report_range('0001-01-01Z', '9999-12-31Z', 1) r,
            queen.report_buckets(r.from_time, r.to_time, r.minutes)) BETWEEN 1000 AND 1500, 'the points are not bounded';
    ASSERT (SELECT max(c.points) BETWEEN 1490 AND 1500 FROM generate_series(1490, 1510) AS n(hours), LATERAL (
                SELECT count(*) AS points FROM queen.report_range('2026-01-01 10:00:30Z',
                    timestamptz '2026-01-01 10:00:10Z' + n.hours * interval '1 hour', 60) r,
                    queen.report_buckets(r.from_time, r.to_time, r.minutes)) c), 'more points than 1,500, or much less';
    FOR v_lines IN 0..200 LOOP
        ASSERT (SELECT count(*) * v_lines FROM queen.lines_range('2000-01-01Z', '2026-01-01 10:00Z', 1, v_lines) r,
                queen.report_buckets(r.from_time, r.to_time, r.minutes)) <= greatest(6200, 2 * v_lines), format('%s lines are not bounded', v_lines);
    END LOOP;
    ASSERT (SELECT minutes FROM queen.lines_range('2026-01-01 10:00Z', '2026-01-01 11:00Z', NULL, 100)) = 1;
    -- without any: the last hour, of which the present minute has only begun
    ASSERT (SELECT r.to_time - r.from_time FROM queen.report_range(NULL, NULL, NULL) r) = interval '1 hour';
    ASSERT (SELECT r.to_time - r.from_time FROM queen.report_range(NULL, '2026-01-01 10:00Z', NULL) r) = interval '1 hour';
    ASSERT (SELECT min(b.seconds) FROM queen.report_buckets(clock_timestamp() - interval '1 hour', clock_timestamp() + interval '1 minute', 1) b) < 60.1;
END $$;

-- ---- sums by point, by queue, namespace and task

DO $$
DECLARE
    v json;
BEGIN
    PERFORM test.partition('shop.orders'), test.partition('shop.mail'), test.partition('bank.orders');
    PERFORM test.flush('2026-01-01 09:59Z', 'shop.orders', 1, 1, '{"pushed": 1000}');
    PERFORM test.flush('2026-01-01 10:00Z', 'shop.orders', 1, 1, '{"pushed": 10, "acked": 4, "age_count": 4, "age_sum_ms": 100, "age_max_ms": 70}');
    PERFORM test.flush('2026-01-01 10:00Z', 'shop.orders', 2, 1, '{"pushed": 5, "buffered": 2, "failed": 3, "dead_lettered": 1, "age_count": 1, "age_sum_ms": 200, "age_max_ms": 200}');
    PERFORM test.flush('2026-01-01 10:02Z', 'bank.orders', 1, 1, '{"pushed": 100}');
    PERFORM test.flush('2026-01-01 10:03Z', 'gone', 1, 1, '{"pushed": 7}');
    PERFORM test.flush('2026-01-01 10:04Z', 'shop.orders', 1, 1, '{"pushed": 2000}');

    v := queen.report_analytics('2026-01-01 10:00Z', '2026-01-01 10:04Z', NULL, NULL, NULL, NULL);
    ASSERT v ->> 'pointCount' = '4' AND v ->> 'interval' = 'minute', v;
    ASSERT (SELECT string_agg(p ->> 'messages', ' ') FROM json_array_elements(v -> 'dataPoints') p) = '17 0 100 7', v;
    ASSERT v -> 'dataPoints' -> 0 ->> 'avgLagMs' = '60' AND v -> 'dataPoints' -> 0 ->> 'maxLagMs' = '200', v;
    ASSERT v -> 'dataPoints' -> 0 ->> 'timestamp' = '2026-01-01T10:00:00.000000Z', v;
    ASSERT v -> 'totals' ->> 'ingested' = '124' AND v -> 'totals' ->> 'processed' = '5' AND v -> 'totals' ->> 'failed' = '3', v;
    -- the same in one point, and by any filter
    v := queen.report_analytics('2026-01-01 10:00Z', '2026-01-01 10:04Z', 60, NULL, NULL, NULL);
    ASSERT v ->> 'pointCount' = '1' AND v -> 'dataPoints' -> 0 ->> 'messages' = '124', v;
    ASSERT queen.report_analytics('2026-01-01 10:00Z', '2026-01-01 10:04Z', 60, 'shop.orders', NULL, NULL) -> 'totals' ->> 'ingested' = '17';
    ASSERT queen.report_analytics('2026-01-01 10:00Z', '2026-01-01 10:04Z', 60, NULL, 'shop', NULL) -> 'totals' ->> 'ingested' = '17';
    ASSERT queen.report_analytics('2026-01-01 10:00Z', '2026-01-01 10:04Z', 60, NULL, NULL, 'orders') -> 'totals' ->> 'ingested' = '117';
    ASSERT queen.report_analytics('2026-01-01 10:00Z', '2026-01-01 10:04Z', 60, NULL, 'bank', 'mail') -> 'totals' ->> 'ingested' = '0';
    -- nothing known: zeros
    v := queen.report_analytics('2020-01-01 10:00Z', '2020-01-01 10:03Z', NULL, NULL, NULL, NULL);
    ASSERT (SELECT string_agg(p ->> 'messages', ' ') FROM json_array_elements(v -> 'dataPoints') p) = '0 0 0', v;
    ASSERT queen.report_analytics('2020-01-01Z', '2020-01-01Z', NULL, NULL, NULL, NULL) -> 'dataPoints' #>> '{}' = '[]';
END $$;

-- per queue: the busiest first, all points of each, in pages
DO $$
DECLARE
    v json;
BEGIN
    PERFORM test.flush('2026-01-01 10:01Z', '', 1, 2, '{"popped": 3, "pops": 5, "empty_pops": 2}');
    v := queen.report_queue_ops('2026-01-01 10:00Z', '2026-01-01 10:04Z', NULL, NULL, NULL, NULL, 50, 0);
    ASSERT (v -> 'queues')::text = '["(other queues)", "bank.orders", "gone", "shop.orders"]', v -> 'queues';
    ASSERT json_array_length(v -> 'series') = 16, json_array_length(v -> 'series');
    ASSERT (SELECT sum((p ->> 'pushMessages')::int) FROM json_array_elements(v -> 'series') p) = 122, v;
    ASSERT (SELECT p ->> 'popEmpty' FROM json_array_elements(v -> 'series') p
            WHERE p ->> 'queueName' = '(other queues)' AND p ->> 'bucket' = '2026-01-01T10:01:00.000000Z') = '2', v;
    ASSERT (queen.report_queue_ops('2026-01-01 10:00Z', '2026-01-01 10:04Z', NULL, NULL, NULL, NULL, 1, 0) -> 'queues')::text = '["bank.orders"]';
    ASSERT (queen.report_queue_ops('2026-01-01 10:00Z', '2026-01-01 10:04Z', NULL, NULL, NULL, NULL, 1, 1) -> 'queues')::text = '["shop.orders"]';
    ASSERT (queen.report_queue_ops('2026-01-01 10:00Z', '2026-01-01 10:04Z', NULL, NULL, 'shop', NULL, 50, 0) -> 'queues')::text = '["shop.orders"]';
    v := queen.report_queue_lag('2026-01-01 10:00Z', '2026-01-01 10:02Z', NULL, 'shop.orders', NULL, NULL, 50, 0);
    ASSERT json_array_length(v) = 2 AND v -> 1 ->> 'avgLagMs' = '60' AND v -> 0 ->> 'popCount' = '0', v;
END $$;

-- pops that wait: an average over the looks of their broker
DO $$
DECLARE
    v json;
BEGIN
    PERFORM test.flush('2026-01-01 12:00Z', 'park', 1, 1, '{"pops": 1, "parked_sum": 12, "parked_max": 3}');
    PERFORM test.flush('2026-01-01 12:00Z', 'park', 2, 1, '{"pops": 1, "parked_sum": 3, "parked_max": 1}');
    PERFORM test.flush('2026-01-01 12:01Z', 'park', 2, 1, '{"pops": 1, "parked_sum": 6, "parked_max": 1}');
    v := queen.report_parked_replicas('2026-01-01 12:00Z', '2026-01-01 12:02Z', NULL, 'park', NULL, NULL, 50, 0);
    ASSERT (SELECT string_agg((p ->> 'workerId') || '=' || (p ->> 'parkedCount'), ' ') FROM json_array_elements(v -> 'series') p)
        = '6001=2.00 6002=0.50 6001=0.00 6002=1.00', v -> 'series';
    ASSERT json_array_length(v -> 'replicas') = 2, v;
    v := queen.report_queue_ops('2026-01-01 12:00Z', '2026-01-01 12:02Z', 5, 'park', NULL, NULL, 50, 0);
    ASSERT v -> 'series' -> 0 ->> 'parkedCount' = '1.75', v;
END $$;

-- brokers: every one has every point
DO $$
DECLARE
    v json;
BEGIN
    PERFORM queen.flush_minutes(jsonb_build_array(
        test.broker_row('2026-01-01 13:00Z', 1, 1, '{"cpu_user_micros": 30000000, "rss_bytes": {"sum": 60, "min": 5, "max": 15, "last": 12},
            "slots_total": {"sum": 48, "min": 8, "max": 8, "last": 8}, "slots_busy": {"sum": 12, "min": 0, "max": 7, "last": 1},
            "push_calls": {"count": 3, "items": 30, "micros": 6000}, "pop_calls": {"count": 0, "items": 0, "micros": 0},
            "ack_calls": {"count": 0, "items": 0, "micros": 0}, "transaction_calls": {"count": 0, "items": 0, "micros": 0},
            "renew_calls": {"count": 0, "items": 0, "micros": 0}}'),
        test.broker_row('2026-01-01 13:01Z', 2, 1, '{"errors": 2}')), '[]');
    v := queen.report_system_metrics('2026-01-01 13:00Z', '2026-01-01 13:02Z', NULL, NULL, NULL);
    ASSERT v ->> 'replicaCount' = '2' AND v ->> 'pointCount' = '2', v;
    ASSERT json_array_length(v -> 'replicas' -> 0 -> 'timeSeries') = 2 AND json_array_length(v -> 'replicas' -> 1 -> 'timeSeries') = 2, v;
    ASSERT v -> 'replicas' -> 0 ->> 'port' = '6001';
    ASSERT v -> 'replicas' -> 0 -> 'timeSeries' -> 0 -> 'metrics' -> 'cpu' -> 'user_us' ->> 'avg' = '5000.00', v;
    ASSERT v -> 'replicas' -> 0 -> 'timeSeries' -> 0 -> 'metrics' -> 'memory' ->> 'rss_bytes'
        = '{"avg" : 10.00, "min" : 5, "max" : 15, "last" : 12}', v -> 'replicas' -> 0 -> 'timeSeries' -> 0 -> 'metrics' -> 'memory';
    ASSERT v -> 'replicas' -> 0 -> 'timeSeries' -> 1 ->> 'sampleCount' = '0', v;
    ASSERT v -> 'replicas' -> 0 -> 'timeSeries' -> 1 -> 'metrics' -> 'memory' -> 'rss_bytes' ->> 'avg' = '0', v;
    v := queen.report_worker_metrics('2026-01-01 13:00Z', '2026-01-01 13:03Z', NULL, NULL, NULL);
    ASSERT (SELECT string_agg(p ->> 'dbErrors', ' ') FROM json_array_elements(v -> 'timeSeries') p) = '0 2 0', v;
    ASSERT v -> 'timeSeries' -> 2 ->> 'jobsDone' = '3' AND v -> 'timeSeries' -> 2 ->> 'avgCallMs' = '2.000', v -> 'timeSeries' -> 2;
    ASSERT v -> 'timeSeries' -> 2 ->> 'avgFreeSlots' = '6.0' AND v -> 'timeSeries' -> 2 ->> 'minFreeSlots' = '1', v -> 'timeSeries' -> 2;
    ASSERT (queen.report_worker_metrics('2026-01-01 13:00Z', '2026-01-01 13:03Z', NULL, 'host', 6001) -> 'timeSeries' -> 1 ->> 'dbErrors') = '0';
    ASSERT v ->> 'workers' = '[]', 'brokers that are long gone';
    PERFORM queen.flush_minutes(jsonb_build_array(test.broker_row(date_trunc('minute', clock_timestamp()), 3, 1,
        jsonb_build_object('seen_at', clock_timestamp()))), '[]');
    ASSERT queen.report_worker_metrics(NULL, NULL, NULL, NULL, NULL) -> 'workers' -> 0 ->> 'workerId' = '6003';
END $$;

-- throughput: of full minutes only
DO $$
DECLARE
    v_now timestamptz := date_trunc('minute', clock_timestamp() - interval '10 seconds');
BEGIN
    TRUNCATE queen.broker_minutes, queen.queue_minutes;
    ASSERT (SELECT ingested_per_second + processed_per_second FROM queen.throughput()) = 0;
    PERFORM test.flush(v_now, 'q', 1, 1, '{"pushed": 1000000}');
    PERFORM test.flush(v_now - interval '6 minutes', 'q', 1, 1, '{"pushed": 1000000}');
    PERFORM test.flush(v_now - interval '2 minutes', 'q', 1, 1, '{"pushed": 250, "buffered": 50, "acked": 100, "dead_lettered": 50}');
    ASSERT (SELECT ingested_per_second FROM queen.throughput()) = 1 AND (SELECT processed_per_second FROM queen.throughput()) = 0.5,
        (SELECT t::text FROM queen.throughput() t);
END $$;

-- ---- retention

DO $$
DECLARE
    v_a int := test.partition('kept', 'a'); v_b int := test.partition('kept', 'b'); v_w int := test.partition('waiting');
    v_group int := test.groupid('kept', 'g'); v json; v_removed bigint := 0; v_lease uuid := gen_random_uuid();
BEGIN
    PERFORM test.push(v_a, 5), test.push(v_a, 3), test.push(v_b, 4), test.push(v_b, 1);
    PERFORM test.push(v_w, 6);
    -- b's first segment is consumed, a's first is past its retention; what waits too long is evicted
    PERFORM test.pop(v_b, v_group, v_lease, 4, p_auto_ack => true);
    UPDATE queen.queues SET retention_enabled = true, retention_seconds = 3600, completed_retention_seconds = 60 WHERE name = 'kept';
    UPDATE queen.queues SET max_wait_time_seconds = 60 WHERE name = 'waiting';
    UPDATE queen.segments SET created_at = created_at - interval '2 hours' WHERE partition_id = v_a AND base_seq = 0;
    UPDATE queen.segments SET created_at = created_at - interval '10 minutes' WHERE partition_id IN (v_b, v_w);
    FOR i IN 1..5 LOOP
        v_removed := v_removed + (SELECT messages FROM queen.sweep_segments(0, 100, 1000));
    END LOOP;
    ASSERT v_removed = 15, v_removed;
    v := queen.report_retention(NULL, NULL, NULL, NULL) -> 'totals';
    ASSERT v ->> 'retentionMsgs' = '5' AND v ->> 'completedRetentionMsgs' = '4' AND v ->> 'evictionMsgs' = '6'
        AND v ->> 'totalMsgs' = '15', v;
    v := queen.report_retention(NULL, NULL, NULL, 'waiting');
    ASSERT v -> 'totals' ->> 'totalMsgs' = '6' AND v -> 'totals' ->> 'eventCount' = '1', v;
    ASSERT json_array_length(v -> 'series') BETWEEN 60 AND 61, v;
    ASSERT queen.report_retention('2020-01-01Z', '2020-01-02Z', NULL, NULL) -> 'totals' ->> 'totalMsgs' = '0';
END $$;

-- ---- what is old goes, oldest first, in steps

DO $$
DECLARE
    v record;
BEGIN
    TRUNCATE queen.broker_minutes, queen.queue_minutes, queen.retention_runs;
    FOR i IN 1..10 LOOP PERFORM test.flush(clock_timestamp() - interval '8 days' + i * interval '1 minute', 'q', 1, i, '{}'); END LOOP;
    PERFORM test.flush(clock_timestamp() - interval '6 days', 'q', 1, 1, '{}');
    INSERT INTO queen.retention_runs (at, queue, retention, completed, evicted)
    SELECT clock_timestamp() - d * interval '1 day', 'q', 1, 1, 1 FROM generate_series(5, 10) d;
    SELECT * INTO v FROM queen.sweep_minutes(0, 4);
    ASSERT v.removed = 0 AND NOT v.more, 'they are kept for ever';
    SELECT * INTO v FROM queen.sweep_minutes(7, 4);
    ASSERT v.removed = 12 AND v.more, v;
    SELECT * INTO v FROM queen.sweep_minutes(7, 40);
    ASSERT v.removed = 12 AND NOT v.more, v;
    ASSERT (SELECT count(*) FROM queen.queue_minutes) = 1 AND (SELECT count(*) FROM queen.broker_minutes) = 1
       AND (SELECT count(*) FROM queen.retention_runs) = 2, 'too much went';
END $$;

-- PostgreSQL about itself, to a plain role
DO $$
DECLARE
    v json := queen.report_postgres_stats();
BEGIN
    ASSERT v ->> 'database' = current_database() AND v ->> 'fullyVisible' = 'false', v;
    ASSERT json_array_length(v -> 'tableSizes') > 10 AND (v -> 'wal' ->> 'position') LIKE '%/%', v;
    ASSERT (v -> 'connections' ->> 'total')::int >= 1 AND (v -> 'connections' ->> 'max')::int > 1, v;
    ASSERT (v -> 'transactions' ->> 'xminAge')::bigint >= 0, v;
END $$;

-- ---- the pages of queues

DO $$
DECLARE
    v_a int := test.partition('page.one', 'a'); v_b int := test.partition('page.one', 'b'); v_g int := test.groupid('page.one', 'g');
    v_lease uuid := gen_random_uuid(); v_now timestamptz := date_trunc('minute', clock_timestamp() - interval '10 seconds'); v json;
BEGIN
    PERFORM test.push(v_a, 10), test.push(v_b, 5);
    PERFORM test.pop(v_a, v_g, v_lease, 6);
    PERFORM test.ack(v_a, v_g, v_lease, ARRAY[0, 1]::bigint[], ARRAY[2]::bigint[], ARRAY['dlq'], p_ends => false);
    PERFORM test.measure();
    v := queen.report_status_queue('page.one', 100, 0);
    ASSERT v -> 'queue' ->> 'name' = 'page.one' AND v -> 'queue' -> 'config' ->> 'leaseTime' = '300', v;
    ASSERT v -> 'partitions' -> 0 -> 'messages' ->> 'total' = '10' AND v -> 'partitions' -> 0 -> 'messages' ->> 'pending' = '7'
       AND v -> 'partitions' -> 0 -> 'messages' ->> 'processing' = '3' AND v -> 'partitions' -> 0 -> 'messages' ->> 'completed' = '3'
       AND v -> 'partitions' -> 0 -> 'messages' ->> 'deadLetter' = '1' AND v -> 'partitions' -> 0 -> 'cursor' ->> 'totalConsumed' = '3',
       v -> 'partitions' -> 0;
    ASSERT v -> 'partitions' -> 1 -> 'messages' ->> 'pending' = '5', v;
    ASSERT v -> 'totals' -> 'messages' ->> 'total' = '15' AND v -> 'totals' -> 'messages' ->> 'pending' = '12', v -> 'totals';
    ASSERT json_array_length(queen.report_status_queue('page.one', 1, 1) -> 'partitions') = 1;
    ASSERT queen.report_status_queue('nobody', 1, 0) IS NULL;

    PERFORM test.flush(v_now - interval '1 minute', 'page.one', 1, 1, '{"pushed": 600, "acked": 300}');
    v := queen.report_status_queues(NULL, 'page', NULL, 10, 0);
    ASSERT json_array_length(v -> 'queues') = 1 AND v -> 'queues' -> 0 ->> 'ingestedPerSecond' = '2.00'
       AND v -> 'queues' -> 0 ->> 'processedPerSecond' = '1.00' AND v -> 'queues' -> 0 -> 'messages' ->> 'pending' = '12'
       AND v -> 'queues' -> 0 ->> 'partitions' = '2', v;
    ASSERT v ->> 'next' IS NULL AND queen.report_status_queues(NULL, 'page', NULL, 1, 0) ->> 'next' = '1', 'where the next page begins';
    ASSERT json_array_length(queen.report_status_queues(NULL, 'page', NULL, 10, 1) -> 'queues') = 0;

    v := queen.report_status(NULL, NULL, NULL, 'page.one', NULL, NULL);
    ASSERT (SELECT sum((p ->> 'ingested')::int) FROM json_array_elements(v -> 'throughput') p) = 600, v;
    ASSERT (v -> 'throughput' -> 0 ->> 'timestamp') > (v -> 'throughput' -> 1 ->> 'timestamp'), 'the newest is not first';
    ASSERT v -> 'leases' ->> 'active' = '1' AND v -> 'leases' ->> 'totalBatchSize' = '3', v -> 'leases';
    ASSERT v -> 'deadLetterQueue' ->> 'totalMessages' = '1' AND v -> 'deadLetterQueue' ->> 'affectedPartitions' = '1'
       AND v -> 'deadLetterQueue' -> 'topErrors' -> 0 ->> 'error' = 'error of 2', v -> 'deadLetterQueue';
    ASSERT v -> 'messages' ->> 'pending' = '12' AND v ->> 'statsAge' IS NOT NULL, v -> 'messages';
    ASSERT queen.report_status(NULL, NULL, NULL, 'nobody', NULL, NULL) -> 'messages' ->> 'total' = '0';
END $$;
