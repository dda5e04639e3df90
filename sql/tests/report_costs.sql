-- What pages of operators cost, in pages touched, on tables that are filled; and that the ways to make them cheap show
-- the same as the plain ones.
SET plan_cache_mode = force_generic_plan;   -- as the broker sets it
SET enable_seqscan = off;
SET enable_bitmapscan = off;

-- A function that PostgreSQL writes into the query does not stand in its plan by name.
CREATE FUNCTION test.plan(p_sql text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE v json;
BEGIN
    EXECUTE 'EXPLAIN (VERBOSE, FORMAT json) ' || p_sql INTO v;
    RETURN v::text;
END $$;
DO $$
DECLARE v_call text;
BEGIN
    FOREACH v_call IN ARRAY ARRAY['api_time(q.created_at)', 'message_id(q.created_at, q.id, 7)', 'queue_uuid(q.id)', 'partition_uuid(q.id)',
        'seconds_since(q.created_at, q.created_at)', 'partition_stats(q.id, q.id, q.id, q.id, q.id)',
        'gauge_json(q.id::float8, q.id, q.id::float8, q.id::float8, q.id::float8)', 'shown_queue(q.name)'] LOOP
        ASSERT strpos(test.plan(format('SELECT queen.%s FROM queen.queues q', v_call)), split_part(v_call, '(', 1)) = 0, v_call;
    END LOOP;
END $$;

-- 300 queues of 10 partitions; the names are in another order than the ids
INSERT INTO queen.queues (name, namespace, task) SELECT 'q' || 1000 - i, '', '' FROM generate_series(1, 300) i;
INSERT INTO queen.partitions (queue_id, name) SELECT q.id, 'p' || 100 - i FROM queen.queues q, generate_series(1, 10) i;
INSERT INTO queen.groups (queue_id, name, start_mode) SELECT q.id, 'g', 'all' FROM queen.queues q;
INSERT INTO queen.groups (queue_id, name, start_mode) SELECT q.id, 'one', 'all' FROM queen.queues q WHERE q.name = 'q900';
SELECT queen.delete_queue('q800'), queen.delete_queue('q701');   -- not swept
ANALYZE queen.queues, queen.partitions, queen.groups;

DO $$
DECLARE
    v_limit  int;
    v_offset int;
BEGIN
    FOREACH v_limit IN ARRAY '{1,7,10,100}'::int[] LOOP
        FOREACH v_offset IN ARRAY '{0,3,995,1001,1009,1010,2345,2975,2979,2980,5000}'::int[] LOOP
            ASSERT queen.group_partitions('g', v_limit, v_offset) = ARRAY(
                SELECT p.id FROM queen.groups g JOIN queen.queues q ON q.id = g.queue_id JOIN queen.partitions p ON p.queue_id = q.id
                WHERE g.name = 'g' ORDER BY q.name, p.name LIMIT v_limit OFFSET v_offset), format('group %s %s', v_limit, v_offset);
            ASSERT queen.partitions_by_name(NULL, v_limit, v_offset) = ARRAY(
                SELECT p.id FROM queen.partitions p JOIN queen.queues q ON q.id = p.queue_id
                ORDER BY p.queue_id, p.name LIMIT v_limit OFFSET v_offset), format('all %s %s', v_limit, v_offset);
        END LOOP;
    END LOOP;
    ASSERT queen.group_partitions('g', NULL, 2000) = ARRAY(
        SELECT p.id FROM queen.queues q JOIN queen.partitions p ON p.queue_id = q.id ORDER BY q.name, p.name OFFSET 2000), 'without limit';
    ASSERT queen.group_partitions('one', 3, 4) = ARRAY(
        SELECT p.id FROM queen.queues q JOIN queen.partitions p ON p.queue_id = q.id WHERE q.name = 'q900'
        ORDER BY p.name LIMIT 3 OFFSET 4), 'of one queue';
    ASSERT queen.group_partitions('nobody', 3, 0) = '{}' AND queen.group_partitions('nobody', 3, 2000) = '{}', 'of no queue';
    ASSERT queen.report_group('g', 100, 2147483647)::text = '{}', 'far behind the end';
END $$;

-- Ten days of hours of 120 queues and two brokers, one of the hours open
INSERT INTO queen.hours SELECT date_bin('1 hour', now(), 'epoch') - i * interval '1 hour' FROM generate_series(1, 240) i WHERE i <> 50;
INSERT INTO queen.queue_hours
SELECT date_bin('1 hour', now(), 'epoch') - i * interval '1 hour', q.name, 1000 - q.id, 0, 0, 0, 5, 5, 0, 5, 0, 0, 5, 5, 1, 60
FROM generate_series(1, 240) i, queen.queues q WHERE q.id <= 120;
INSERT INTO queen.parked_hours
SELECT date_bin('1 hour', now(), 'epoch') - i * interval '1 hour', q.name, 'host' || b, 6632, 60, 2
FROM generate_series(1, 240) i, queen.queues q, generate_series(1, 2) b WHERE q.id <= 120;
INSERT INTO queen.broker_minutes (minute, broker, flush, hostname, port, workers, looks, seen_at)
SELECT date_bin('1 hour', now(), 'epoch') - i * interval '1 hour', 1, 1, 'host1', 6632, 1, 1, now() FROM generate_series(1, 240) i;
ANALYZE queen.hours, queen.queue_hours, queen.parked_hours, queen.broker_minutes;

CREATE FUNCTION test.touched(p_sql text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE v json;
BEGIN
    FOR i IN 1..2 LOOP  -- the first call plans
        EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || p_sql INTO v;
    END LOOP;
    RETURN (v -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::int + (v -> 0 -> 'Plan' ->> 'Shared Read Blocks')::int;
END $$;

-- Ten queues of 120: the hours of those ten are read, 167 of each queue, and not those of all. The list of the busiest
-- reads all, once.
DO $$
DECLARE
    v_busy  int := test.touched('SELECT count(*) FROM queen.busy_queues(now() - interval ''7 days'', now(), NULL, NULL, NULL, 10, 0)');
    v_pages int;
    v_page  json := queen.report_parked_replicas(now() - interval '7 days', now(), NULL, NULL, NULL, NULL, 10, 0);
BEGIN
    v_pages := test.touched('SELECT queen.report_parked_replicas(now() - interval ''7 days'', now(), NULL, NULL, NULL, NULL, 10, 0)') - v_busy;
    ASSERT v_pages < 8000, format('parked replicas: %s pages', v_pages);
    v_pages := test.touched('SELECT count(*) FROM queen.queue_points(now() - interval ''10 days'', now(), 360, ''{q998,q997,q996}'')');
    ASSERT v_pages < 4000, format('points of three queues: %s pages', v_pages);

    ASSERT (SELECT count(DISTINCT s ->> 'queueName') = 10 AND count(DISTINCT s ->> 'hostname') = 2
            FROM json_array_elements(v_page -> 'series') s), 'of ten queues and two brokers';
    ASSERT json_array_length(v_page -> 'replicas') = 2;
    -- one pop waited all the time, but for the open hour and the edges of the range
    ASSERT (SELECT count(*) FILTER (WHERE (s ->> 'parkedCount')::numeric = 1) = 20 * 167 - 20
               AND bool_and((s ->> 'parkedCount')::numeric <= 1) FROM json_array_elements(v_page -> 'series') s),
           (SELECT string_agg(DISTINCT s ->> 'parkedCount', ' ') || count(*) FILTER (WHERE (s ->> 'parkedCount')::numeric = 1)
            FROM json_array_elements(v_page -> 'series') s);
END $$;
