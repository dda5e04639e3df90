-- lane_numbers, begin_stats, measure_stats: the numbers of queues, groups and lanes that lag.

CREATE FUNCTION test.queue(p_name text) RETURNS int LANGUAGE sql AS $$ SELECT id FROM queen.queues WHERE name = p_name $$;

CREATE FUNCTION test.queue_numbers(p_queue text) RETURNS text LANGUAGE sql AS $$
    SELECT format('partitions=%s stored=%s pending=%s processing=%s completed=%s failed=%s dead=%s', partitions, stored, pending,
                  processing, completed, failed, dead_letters)
    FROM queen.queue_stats WHERE queue_id = test.queue(p_queue) $$;

CREATE FUNCTION test.group_numbers(p_queue text, p_group text) RETURNS text LANGUAGE sql AS $$
    SELECT format('pending=%s processing=%s failed=%s dead=%s leased=%s lagging=%s', s.pending, s.processing, s.failed, s.dead_letters,
                  s.leased_partitions, s.lagging_partitions)
    FROM queen.group_stats s JOIN queen.groups g ON g.id = s.group_id WHERE s.queue_id = test.queue(p_queue) AND g.name = p_group $$;

CREATE FUNCTION test.everything() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(t::text, E'\n' ORDER BY t::text)
    FROM (SELECT s::text FROM queen.queue_stats s UNION ALL SELECT s::text FROM queen.group_stats s
          UNION ALL SELECT s::text FROM queen.lane_lags s) t $$;

CREATE PROCEDURE test.expect(p_what text, p_is text, p_should text) LANGUAGE plpgsql AS $$
BEGIN
    ASSERT p_is = p_should, format('%s: %s instead of %s', p_what, p_is, p_should);
END $$;

-- Leases, settled bits, failures, dead letters.
DO $$
DECLARE
    v_a int := test.partition('numbers', 'a'); v_b int := test.partition('numbers', 'b'); v_g int; v_h int;
    v_lease uuid := gen_random_uuid(); v_other uuid := gen_random_uuid(); v_oldest timestamptz;
BEGIN
    PERFORM test.partition('numbers', 'empty');
    PERFORM test.push(v_a, 10);
    PERFORM test.push(v_b, 5);
    PERFORM test.measure();
    CALL test.expect('no group', test.queue_numbers('numbers'),
        'partitions=3 stored=15 pending=15 processing=0 completed=0 failed=0 dead=0');

    v_g := test.groupid('numbers', 'g');
    PERFORM test.pop(v_a, v_g, v_lease, 6);
    PERFORM test.ack(v_a, v_g, v_lease, ARRAY[0, 2]::bigint[], ARRAY[3, 4]::bigint[], ARRAY['failed', 'dlq']);
    PERFORM test.measure();
    -- 0, 2 and 4 are settled, 3 waits for the end of the lease, 1 and 5 are at work
    CALL test.expect('one group', test.queue_numbers('numbers'),
        'partitions=3 stored=15 pending=12 processing=2 completed=3 failed=1 dead=1');
    CALL test.expect('one group', test.group_numbers('numbers', 'g'), 'pending=12 processing=2 failed=1 dead=1 leased=1 lagging=2');
    SELECT l.oldest_unconsumed_at INTO v_oldest FROM queen.lane_lags l WHERE l.partition_id = v_a;
    ASSERT v_oldest = (SELECT created_at + interval '1 microsecond' FROM queen.segments WHERE partition_id = v_a);
    ASSERT v_oldest = (SELECT oldest_unconsumed_at FROM queen.queue_stats WHERE queue_id = test.queue('numbers'));
    ASSERT (SELECT last_change_at FROM queen.group_stats WHERE group_id = v_g) = (test.state(v_a, v_g)).changed_at;

    -- A message is completed when both groups are done with it, and at work once when both hold it.
    v_h := test.groupid('numbers', 'h');
    PERFORM test.pop(v_a, v_h, v_other, 3);
    PERFORM test.measure();
    CALL test.expect('two groups', test.queue_numbers('numbers'),
        'partitions=3 stored=15 pending=15 processing=4 completed=0 failed=1 dead=1');  -- 0, 1, 2 and 5
    PERFORM test.ack(v_a, v_h, v_other, ARRAY[0, 2]::bigint[]);
    PERFORM test.measure();
    CALL test.expect('two groups', test.queue_numbers('numbers'),
        'partitions=3 stored=15 pending=13 processing=2 completed=2 failed=1 dead=1');  -- 1 and 5
    CALL test.expect('h', test.group_numbers('numbers', 'h'), 'pending=13 processing=1 failed=0 dead=0 leased=1 lagging=2');

    -- A lease that has ended holds nothing.
    UPDATE queen.progress SET lease_until = clock_timestamp() - interval '1 second' WHERE partition_id = v_a;
    PERFORM test.measure();
    CALL test.expect('expired leases', test.queue_numbers('numbers'),
        'partitions=3 stored=15 pending=13 processing=0 completed=2 failed=1 dead=1');
    CALL test.expect('expired leases', test.group_numbers('numbers', 'g'), 'pending=12 processing=0 failed=1 dead=1 leased=0 lagging=2');

    -- Everything is consumed: nothing lags.
    PERFORM queen.seek('numbers', 'g', NULL, 'end', NULL, NULL, 0, 100), queen.seek('numbers', 'h', NULL, 'end', NULL, NULL, 0, 100);
    PERFORM test.measure();
    CALL test.expect('all consumed', test.queue_numbers('numbers'),
        'partitions=3 stored=15 pending=0 processing=0 completed=15 failed=0 dead=1');
    ASSERT NOT EXISTS (SELECT FROM queen.lane_lags WHERE queue_id = test.queue('numbers'));
    ASSERT (SELECT oldest_unconsumed_at IS NULL AND newest_at IS NOT NULL FROM queen.queue_stats WHERE queue_id = test.queue('numbers'));
END $$;

-- Starts of groups, expiry, and what retention has removed.
DO $$
DECLARE
    v_a int := test.partition('starts', 'a');
BEGIN
    PERFORM test.push(v_a, 4);
    PERFORM test.groupid('starts', 'new', 'new'), test.groupid('starts', 'later', 'time', clock_timestamp() + interval '1 hour');
    PERFORM test.push(v_a, 2), test.push(test.partition('starts', 'b'), 1);
    PERFORM test.measure();
    CALL test.expect('new', test.group_numbers('starts', 'new'), 'pending=3 processing=0 failed=0 dead=0 leased=0 lagging=2');
    CALL test.expect('later', test.group_numbers('starts', 'later'), 'pending=0 processing=0 failed=0 dead=0 leased=0 lagging=0');
    CALL test.expect('starts', test.queue_numbers('starts'), 'partitions=2 stored=7 pending=3 processing=0 completed=4 failed=0 dead=0');
    ASSERT (SELECT last_change_at IS NULL FROM queen.group_stats s JOIN queen.groups g ON g.id = s.group_id WHERE g.name = 'new');

    PERFORM test.groupid('starts', 'all');
    PERFORM test.age(v_a, interval '1 hour');
    UPDATE queen.queues SET max_wait_time_seconds = 60 WHERE name = 'starts';
    PERFORM test.measure();
    CALL test.expect('expired', test.queue_numbers('starts'), 'partitions=2 stored=1 pending=1 processing=0 completed=0 failed=0 dead=0');
    PERFORM queen.sweep_segments(v_a - 1, 1, 1000);
    PERFORM queen.sweep_segments(v_a - 1, 1, 1000);
    ASSERT EXISTS (SELECT FROM queen.segments WHERE partition_id = v_a AND payloads IS NULL), 'not blanked';
    UPDATE queen.queues SET max_wait_time_seconds = 0 WHERE name = 'starts';
    PERFORM test.measure();
    CALL test.expect('blanked', test.queue_numbers('starts'), 'partitions=2 stored=1 pending=1 processing=0 completed=0 failed=0 dead=0');
    PERFORM test.push(v_a, 3);
    PERFORM test.measure();
    CALL test.expect('behind a blanked one', test.queue_numbers('starts'),
        'partitions=2 stored=4 pending=4 processing=0 completed=0 failed=0 dead=0');
END $$;

-- Steps of any size add up to the same; what was deleted disappears, what has not changed is not written.
DO $$
DECLARE
    v_before text; v_id int; v_steps int;
BEGIN
    FOR i IN 1..20 LOOP PERFORM test.push(test.partition('steps.many', 'p' || i), i); END LOOP;
    FOR i IN 1..5 LOOP PERFORM test.push(test.partition('steps.few' || i, 'p'), i); END LOOP;
    PERFORM test.groupid('steps.many', 'g'), test.groupid('steps.many', 'h'), test.groupid('steps.few1', 'g');
    PERFORM queen.configure('steps.none', NULL, NULL, '{}', false);
    PERFORM queen.delete_partition('steps.none', 'Default');
    PERFORM test.measure(1000000);
    CALL test.expect('many', test.queue_numbers('steps.many'),
        'partitions=20 stored=210 pending=210 processing=0 completed=0 failed=0 dead=0');
    CALL test.expect('no partition', test.queue_numbers('steps.none'),
        'partitions=0 stored=0 pending=0 processing=0 completed=0 failed=0 dead=0');
    CALL test.expect('a group', test.group_numbers('steps.many', 'h'), 'pending=210 processing=0 failed=0 dead=0 leased=0 lagging=20');
    v_before := test.everything();
    FOR v_probes IN 1..60 LOOP
        PERFORM test.measure(v_probes);
        CALL test.expect('steps of ' || v_probes, test.everything(), v_before);
    END LOOP;
    ASSERT (SELECT partitions FROM queen.stats_job) = (SELECT count(*) FROM queen.partitions);
    ASSERT test.measure(1) > 20 AND test.measure(1000000) = 1;

    PERFORM queen.delete_partition('steps.many', 'p20'), queen.delete_queue('steps.few5'), queen.delete_group('h', 'steps.many', true);
    PERFORM test.measure(30);
    CALL test.expect('deleted', test.queue_numbers('steps.many'),
        'partitions=19 stored=190 pending=190 processing=0 completed=0 failed=0 dead=0');
    ASSERT NOT EXISTS (SELECT FROM queen.queue_stats s WHERE NOT EXISTS (SELECT FROM queen.queues q WHERE q.id = s.queue_id));
    ASSERT NOT EXISTS (SELECT FROM queen.group_stats s WHERE NOT EXISTS (SELECT FROM queen.groups g WHERE g.id = s.group_id));
    ASSERT NOT EXISTS (SELECT FROM queen.lane_lags s WHERE NOT EXISTS (SELECT FROM queen.groups g WHERE g.id = s.group_id)
                       OR NOT EXISTS (SELECT FROM queen.partitions p WHERE p.id = s.partition_id));
END $$;

-- In a transaction of its own: a row that is written has a new place, one that is locked has an xmax.
CREATE TABLE test.places AS SELECT 'q' AS kind, s.ctid AS place, s.xmax AS locked FROM queen.queue_stats s UNION ALL SELECT 'g', s.ctid, s.xmax FROM queen.group_stats s
    UNION ALL SELECT 'l', s.ctid, s.xmax FROM queen.lane_lags s;
SELECT test.measure();
DO $$
BEGIN
    ASSERT NOT EXISTS ((SELECT 'q', s.ctid, s.xmax FROM queen.queue_stats s UNION ALL SELECT 'g', s.ctid, s.xmax FROM queen.group_stats s
        UNION ALL SELECT 'l', s.ctid, s.xmax FROM queen.lane_lags s) EXCEPT SELECT * FROM test.places), 'unchanged rows were written';
END $$;

-- One broker at a time; who does not come back is given up; who waits for numbers takes over.
DO $$
DECLARE
    v_a uuid := gen_random_uuid(); v_b uuid := gen_random_uuid(); v record; v_since timestamptz;
BEGIN
    UPDATE queen.stats_job SET finished_at = clock_timestamp() - interval '1 minute';
    SELECT * INTO v FROM queen.begin_stats(v_a, 120000, false, NULL);
    ASSERT v.state = 'fresh' AND v.wait_ms BETWEEN 50000 AND 60000, v;
    SELECT * INTO v FROM queen.begin_stats(v_a, 10000, false, NULL);
    ASSERT v.state = 'yours', v;
    SELECT * INTO v FROM queen.begin_stats(v_b, 10000, false, NULL);
    ASSERT v.state = 'held' AND v.wait_ms BETWEEN 1000 AND 5000, v;
    ASSERT (queen.measure_stats(v_b, 0, 0, NULL, 10)).state = 'lost';

    UPDATE queen.stats_job SET held_until = clock_timestamp() - interval '1 second';
    ASSERT (queen.begin_stats(v_b, 10000, false, NULL)).state = 'yours', 'a dead broker keeps the job';
    ASSERT (queen.measure_stats(v_a, 0, 0, NULL, 10)).state = 'lost';
    ASSERT (queen.begin_stats(v_a, 10000, true, NULL)).state = 'yours', 'a hurried pass waits for another';
    ASSERT (queen.measure_stats(v_b, 0, 0, NULL, 10)).state = 'lost';
    SELECT * INTO v FROM queen.begin_stats(v_b, 10000, true, NULL);
    ASSERT v.state = 'held', 'a hurried pass is taken over';
    v_since := v.since;
    ASSERT (queen.measure_stats(v_a, 0, 0, NULL, 1000000)).state = 'done';
    ASSERT (queen.begin_stats(v_b, 10000, true, v_since)).state = 'yours', 'numbers from before are good enough';
    ASSERT (queen.measure_stats(v_b, 0, 0, NULL, 1000000)).state = 'done';
    ASSERT (queen.begin_stats(v_a, 10000, true, v_since)).state = 'fresh';

    -- The clock was set back.
    UPDATE queen.stats_job SET finished_at = clock_timestamp() + interval '1 day';
    ASSERT (queen.begin_stats(v_a, 10000, false, NULL)).state = 'yours';
    UPDATE queen.stats_job SET held_until = clock_timestamp() + interval '1 day', finished_at = NULL;
    ASSERT (queen.begin_stats(v_b, 10000, false, NULL)).state = 'yours';
    ASSERT queen.leave_stats(v_b) AND NOT queen.leave_stats(v_a);
    ASSERT (queen.begin_stats(v_a, 10000, false, NULL)).state = 'yours';
    ASSERT queen.leave_stats(v_a);
END $$;

-- Random traffic, judged message by message.
SELECT test.seed();
CREATE FUNCTION test.judge(p_queue text) RETURNS text LANGUAGE sql AS $$
    WITH message AS (
        SELECT p.id AS partition_id, s.base_seq + i AS seq
        FROM queen.partitions p JOIN queen.segments s ON s.partition_id = p.id CROSS JOIN LATERAL generate_series(0, s.count - 1) i
        WHERE p.queue_id = test.queue(p_queue) AND s.payloads IS NOT NULL
    ), verdict AS (
        SELECT m.partition_id, m.seq, coalesce(r.cursor, b.seq, 0) > m.seq OR queen.bits_get(r.settled, m.seq - r.cursor) AS consumed,
               coalesce(r.lease_until > clock_timestamp() AND m.seq < r.lease_end
                   AND NOT queen.bits_get(r.failed, m.seq - r.cursor), false) AS held,
               coalesce(m.seq = ANY (r.attempt_seqs), false) AS failed
        FROM message m
        JOIN queen.groups g ON g.queue_id = test.queue(p_queue)
        LEFT JOIN LATERAL (SELECT x.* FROM queen.progress x WHERE x.partition_id = m.partition_id AND x.group_id = g.id
                           ORDER BY x.epoch DESC LIMIT 1) r ON true
        LEFT JOIN queen.group_starts b ON b.group_id = g.id AND b.partition_id = m.partition_id
    ), judged AS (
        SELECT v.partition_id, v.seq, bool_and(v.consumed) AS completed, bool_or(NOT v.consumed AND v.held) AS held,
               bool_or(NOT v.consumed AND v.failed) AS failed
        FROM verdict v GROUP BY v.partition_id, v.seq
    )
    SELECT format('partitions=%s stored=%s pending=%s processing=%s completed=%s failed=%s dead=%s',
                  (SELECT count(*) FROM queen.partitions WHERE queue_id = test.queue(p_queue)), (SELECT count(*) FROM message),
                  count(*) FILTER (WHERE NOT completed), count(*) FILTER (WHERE held), count(*) FILTER (WHERE completed),
                  count(*) FILTER (WHERE failed),
                  (SELECT count(*) FROM queen.dead_letters d JOIN queen.partitions p ON p.id = d.partition_id
                   JOIN queen.groups g ON g.id = d.group_id WHERE p.queue_id = test.queue(p_queue)))
    FROM judged $$;

DO $$
DECLARE
    v_partitions int[]; v_groups int[]; v_partition int; v_group int; v_lease uuid; v test.delivery; v_state queen.progress;
    v_seqs bigint[];
BEGIN
    FOR i IN 1..4 LOOP v_partitions := v_partitions || test.partition('random', 'p' || i); END LOOP;
    FOR i IN 1..4 LOOP PERFORM test.push(v_partitions[i], 3); END LOOP;
    v_groups := ARRAY[test.groupid('random', 'a'), test.groupid('random', 'b'), test.groupid('random', 'c', 'new')];
    UPDATE queen.queues SET retry_limit = 1 WHERE name = 'random';
    FOR i IN 1..300 LOOP
        v_partition := v_partitions[1 + floor(random() * 4)];
        v_group := v_groups[1 + floor(random() * 3)];
        v_state := test.state(v_partition, v_group);
        IF random() < 0.3 THEN
            PERFORM test.push(v_partition, 1 + floor(random() * 8)::int);
        ELSIF v_state.lease_until > clock_timestamp() THEN
            v_seqs := ARRAY(SELECT s FROM generate_series(v_state.cursor, v_state.lease_end - 1) s WHERE random() < 0.4);
            IF random() < 0.5 THEN
                PERFORM test.ack(v_partition, v_group, v_state.lease_id, v_seqs);
            ELSE
                PERFORM test.ack(v_partition, v_group, v_state.lease_id, '{}', v_seqs,
                    ARRAY(SELECT CASE WHEN random() < 0.7 THEN 'failed' ELSE 'dlq' END FROM unnest(v_seqs)));
            END IF;
            IF random() < 0.2 THEN   -- its consumer is gone
                UPDATE queen.progress SET lease_until = clock_timestamp() - interval '1 second'
                WHERE partition_id = v_partition AND group_id = v_group;
            END IF;
        ELSE
            PERFORM test.pop(v_partition, v_group, p_batch => 1 + floor(random() * 12)::int);
        END IF;
        IF i % 10 = 0 THEN
            PERFORM test.measure(1 + floor(random() * 200)::int);
            CALL test.expect('after ' || i, test.queue_numbers('random'), test.judge('random'));
        END IF;
    END LOOP;
END $$;
