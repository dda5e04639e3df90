-- metrics_queues, metrics_groups, metrics_database: what a broker shows of the measured numbers, in bounded rows.

DO $$
DECLARE v_i int; v_queue int; v_text text;
BEGIN
    FOR v_i IN 1..6 LOOP
        PERFORM test.partition('metrics' || v_i, 'p');
        SELECT id INTO v_queue FROM queen.queues WHERE name = 'metrics' || v_i;
        -- 1 has the most pending, 6 the oldest
        INSERT INTO queen.queue_stats (queue_id, partitions, stored, pending, processing, completed, failed, dead_letters,
                                       oldest_unconsumed_at)
        VALUES (v_queue, 1, 100, (7 - v_i) * 10, 1, 0, 2, v_i, clock_timestamp() - v_i * interval '1 minute');
        INSERT INTO queen.group_stats (queue_id, group_id, pending, processing, failed, dead_letters, leased_partitions,
                                       lagging_partitions, oldest_unconsumed_at)
        VALUES (v_queue, test.groupid('metrics' || v_i, 'g' || v_i), (7 - v_i) * 10, 0, 0, 0, 0, 1,
                clock_timestamp() - v_i * interval '1 minute');
    END LOOP;
    -- of a queue that is gone: not shown, not added up
    INSERT INTO queen.queue_stats (queue_id, partitions, stored, pending, processing, completed, failed, dead_letters)
    VALUES (2000000000, 1, 1, 1000000, 0, 0, 0, 0);

    SELECT string_agg(coalesce(queue_name, '*') || '=' || pending || '/' || dead_letters || '/' || (oldest_age_seconds / 60)::int,
                      ' ' ORDER BY queue_name)
    INTO v_text FROM queen.metrics_queues(ARRAY['metrics3', 'nobody'], 1);
    ASSERT v_text = 'metrics1=60/1/1 metrics3=40/3/3 metrics6=10/6/6 *=100/11/5', v_text;
    SELECT string_agg(coalesce(queue_name, '*') || '=' || pending, ' ' ORDER BY queue_name)
    INTO v_text FROM queen.metrics_queues('{}', 0);
    ASSERT v_text = '*=210', v_text;

    SELECT string_agg(coalesce(queue_name || '.' || group_name, '*') || '=' || lag || '/' || (oldest_age_seconds / 60)::int,
                      ' ' ORDER BY queue_name)
    INTO v_text FROM queen.metrics_groups(2);
    ASSERT v_text = 'metrics1.g1=60/1 metrics2.g2=50/2 metrics5.g5=20/5 metrics6.g6=10/6 *=70/4', v_text;
END $$;

-- Every table of ours is there, and each number of the database once.
DO $$
BEGIN
    ASSERT (SELECT count(*) = 3 * (SELECT count(*) FROM pg_tables WHERE schemaname = 'queen')
            FROM queen.metrics_database() WHERE subject <> ''), 'tables are missing';
    ASSERT (SELECT value >= 1 FROM queen.metrics_database() WHERE kind = 'connections'), 'we are connected';
    ASSERT (SELECT array_agg(kind ORDER BY kind) FROM queen.metrics_database() WHERE subject = '' AND kind <> 'stats_age_seconds')
           = ARRAY['connections', 'connections_max', 'oldest_transaction_seconds', 'xmin_age'], 'other numbers';
    ASSERT (SELECT bool_and(value >= 0) FROM queen.metrics_database()), 'a negative number';
END $$;
