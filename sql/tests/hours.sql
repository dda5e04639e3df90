-- add_up_hour: pages show the same numbers whether the hours behind them are added up or not.

SET jit = off;   -- as the broker sets it
SELECT test.seed();

CREATE FUNCTION test.random_gauge() RETURNS queen.gauge LANGUAGE sql AS $$
    SELECT CASE WHEN random() < 0.9 THEN
        ROW(floor(random() * 600), floor(random() * 10), floor(random() * 200), floor(random() * 100))::queen.gauge END $$;
CREATE FUNCTION test.random_calls() RETURNS queen.calls LANGUAGE sql AS $$
    SELECT ROW(floor(random() * 60), floor(random() * 600), floor(random() * 100000))::queen.calls $$;
CREATE FUNCTION test.amount() RETURNS bigint LANGUAGE sql AS $$ SELECT floor(random() * 1000)::bigint $$;

-- Two days that lie behind: two hosts, of which one has restarted, with gaps; a few queues, one of them gone.
CREATE TABLE test.day AS SELECT date_bin('1 day', clock_timestamp() - interval '3 days', timestamptz 'epoch') AS begins;
INSERT INTO queen.queues (name, namespace, task) SELECT 'q' || i, 'ns' || i % 2, 't' FROM generate_series(1, 4) i;
INSERT INTO queen.broker_minutes
SELECT d.begins + i * interval '1 minute', b, 1, 'host' || b % 2, 6632, 2, 1 + floor(random() * 6),
       d.begins + i * interval '1 minute' + (10 + random() * 50) * interval '1 second',
       test.amount(), test.amount(), test.amount(), test.amount(), test.amount(), test.amount(), test.amount(), test.amount(),
       test.amount(), test.amount(), test.amount(), test.amount(), test.amount(), test.amount(), test.amount(), test.amount(),
       test.amount(), test.amount(), test.amount() * 1000, test.amount() * 1000,
       test.random_calls(), test.random_calls(), test.random_calls(), test.random_calls(), test.random_calls(),
       test.random_gauge(), test.random_gauge(), test.random_gauge(), test.random_gauge(), test.random_gauge(), test.random_gauge(),
       test.random_gauge(), test.random_gauge()
FROM test.day d, generate_series(0, 2 * 1440 - 1, 12) i, generate_series(1, 3) b WHERE random() < 0.5 AND (i / 100) % 4 <> 3;
INSERT INTO queen.queue_minutes
SELECT m.minute, 'q' || q, m.broker, 1, test.amount(), test.amount(), test.amount(), test.amount(), test.amount(), test.amount(),
       test.amount(), test.amount(), test.amount(), test.amount(), test.amount(), test.amount(), test.amount(), test.amount(),
       floor(random() * 2) * test.amount(), test.amount()
FROM queen.broker_minutes m, generate_series(1, 5) q WHERE random() < 0.4;
ANALYZE queen.broker_minutes, queen.queue_minutes;

CREATE FUNCTION test.pages() RETURNS TABLE (page text, body text) LANGUAGE sql AS $$
    SELECT format('%s - %s by %s: ', t.from_time, t.to_time, t.minutes) || r.name, r.body::text
    FROM (SELECT d.begins + f * interval '1 minute' AS from_time, d.begins + u * interval '1 minute' AS to_time, w AS minutes
          FROM test.day d, (VALUES (37, 2001, NULL::int), (61, 2881, 120), (60, 2881, 1440), (7, 400, NULL), (100, 110, 60)) AS v(f, u, w)) t
    CROSS JOIN LATERAL (VALUES
        ('system', queen.report_system_metrics(t.from_time, t.to_time, t.minutes, NULL, NULL)),
        ('one system', queen.report_system_metrics(t.from_time, t.to_time, t.minutes, 'host1', 6632)),
        ('worker', queen.report_worker_metrics(t.from_time, t.to_time, t.minutes, NULL, NULL)),
        ('lag', queen.report_queue_lag(t.from_time, t.to_time, t.minutes, NULL, NULL, NULL, 3, 1)),
        ('ops', queen.report_queue_ops(t.from_time, t.to_time, t.minutes, NULL, NULL, NULL, 20, 0)),
        ('ops of a namespace', queen.report_queue_ops(t.from_time, t.to_time, t.minutes, NULL, 'ns1', NULL, 20, 0)),
        ('parked', queen.report_parked_replicas(t.from_time, t.to_time, t.minutes, NULL, NULL, NULL, 20, 0)),
        ('analytics', queen.report_analytics(t.from_time, t.to_time, t.minutes, NULL, NULL, NULL)),
        ('analytics of a queue', queen.report_analytics(t.from_time, t.to_time, t.minutes, 'q2', NULL, NULL))) AS r(name, body) $$;

CREATE FUNCTION test.add_up() RETURNS int LANGUAGE plpgsql AS $$
DECLARE v_hours int := 0;
BEGIN
    WHILE queen.add_up_hour(30) LOOP v_hours := v_hours + 1; END LOOP;
    RETURN v_hours;
END $$;

CREATE TABLE test.before AS SELECT * FROM test.pages();
CREATE PROCEDURE test.expect_same() LANGUAGE plpgsql AS $$
DECLARE v record;
BEGIN
    SELECT b.page, b.body AS was, p.body AS is INTO v FROM test.before b JOIN test.pages() p ON p.page = b.page WHERE p.body <> b.body LIMIT 1;
    ASSERT NOT FOUND, format(E'%s\n%s\n%s', v.page, v.was, v.is);
END $$;

DO $$
DECLARE
    v_hours int; v_day timestamptz := (SELECT begins FROM test.day);
BEGIN
    ASSERT (SELECT count(*) FROM test.before) = 45;
    v_hours := test.add_up();
    ASSERT v_hours > 36, v_hours;
    ASSERT NOT EXISTS (SELECT FROM queen.hours WHERE hour > clock_timestamp() - interval '1 hour'), 'an hour that has not ended';
    CALL test.expect_same();
    -- what days are made of is not read minute by minute
    ASSERT (SELECT count(*) FROM queen.other_minutes(v_day + interval '2 hours', v_day + interval '2 days', true)) = 0;

    -- minutes that come late are there at once, and added up again
    PERFORM queen.flush_minutes('[]', jsonb_build_array(to_jsonb(m) || '{"flush": 2, "pushed": 1000000}'))
    FROM (SELECT * FROM queen.queue_minutes WHERE minute >= v_day + interval '30 hours' AND queue = 'q3' ORDER BY minute LIMIT 1) m;
    ASSERT (SELECT count(*) FROM test.pages() p JOIN test.before b ON b.page = p.page WHERE p.page LIKE '%: ops' AND p.body <> b.body) >= 2;
    DROP TABLE test.before;
    CREATE TABLE test.before AS SELECT * FROM test.pages();
    v_hours := test.add_up();
    ASSERT v_hours = 1, v_hours;
    CALL test.expect_same();

    -- of an hour that begins to go the minutes tell
    WHILE (queen.sweep_minutes(3, 1000)).more LOOP NULL; END LOOP;
    ASSERT NOT EXISTS (SELECT FROM queen.hours WHERE hour < clock_timestamp() - interval '3 days'), 'a mark is left';
    ASSERT NOT EXISTS (SELECT FROM queen.queue_hours WHERE hour < clock_timestamp() - interval '3 days')
       AND NOT EXISTS (SELECT FROM queen.broker_hours WHERE hour < clock_timestamp() - interval '3 days')
       AND NOT EXISTS (SELECT FROM queen.parked_hours WHERE hour < clock_timestamp() - interval '3 days'), 'an hour is left';
    DROP TABLE test.before;
    CREATE TABLE test.before AS SELECT * FROM test.pages();
    TRUNCATE queen.hours;
    CALL test.expect_same();
    ASSERT NOT EXISTS (SELECT FROM queen.hours) AND test.add_up() > 20;
    CALL test.expect_same();
END $$;
