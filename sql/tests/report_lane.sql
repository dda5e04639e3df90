-- For each cause of being stuck the summary names that cause.
CREATE FUNCTION pg_temp.lane(p_partition text DEFAULT 'Default', p_group text DEFAULT 'g', p_queue text DEFAULT 'lane') RETURNS json LANGUAGE sql AS $$
    SELECT queen.report_lane(p_queue, p_partition, p_group)::json $$;
DO $$
DECLARE v_p int; v_g int; v_lease uuid := gen_random_uuid(); v json;
BEGIN
    v := pg_temp.lane();
    ASSERT v->>'cause' = 'missing_queue' AND v->>'summary' LIKE 'There is no queue "lane"%', v::text;
    v_p := test.partition('lane');
    ASSERT pg_temp.lane('gone')->>'cause' = 'missing_partition' AND pg_temp.lane('gone')->>'summary' LIKE '%no partition "gone"%';
    PERFORM test.push(v_p, 3, E'a\nb\nc');
    v := pg_temp.lane();
    ASSERT v->>'cause' = 'missing_group' AND v->>'summary' LIKE 'Nobody has ever popped from queue "lane" as group "g"%holds 3 messages%', v::text;
    v_g := test.groupid('lane');
    v := pg_temp.lane();
    ASSERT v->>'cause' = 'ready' AND v->>'summary' LIKE 'Nothing is in the way: 3 messages are ready%' AND v->'head'->>'transactionId' = 'a' AND v->>'lease' IS NULL, v::text;

    PERFORM test.pop(v_p, v_g, v_lease, p_batch => 2, p_seconds => 60);
    v := pg_temp.lane();
    ASSERT v->>'cause' = 'leased' AND v->>'summary' LIKE '%holds the lease ' || v_lease || ' with 2 unsettled messages for another 60 seconds%' AND v->'lease'->>'live' = 'true'
       AND v->'lease'->>'upToOffset' = '2', v::text;
    PERFORM test.age(v_p, '61 seconds');
    v := pg_temp.lane();
    ASSERT v->>'cause' = 'ready' AND v->>'summary' LIKE 'A lease has expired without a verdict%nobody has popped since: 3 messages%' AND v->'lease'->>'live' = 'false', v::text;

    -- the head fails, and waits for its retryDelay
    PERFORM queen.configure('lane', NULL, NULL, '{"retryDelay":90000}', false);
    v_lease := gen_random_uuid();
    PERFORM test.pop(v_p, v_g, v_lease); PERFORM test.ack(v_p, v_g, v_lease, p_items => '{0,1}', p_kinds => '{failed,dlq}', p_ends => true);
    v := pg_temp.lane();
    ASSERT v->>'cause' = 'retry' AND v->>'summary' LIKE '%offset 0 has failed 1 time (retryLimit 3) and waits for its retryDelay, another 90 seconds%' AND v->'failing'->0->>'failures' = '1'
       AND v->'delay'->>'reason' = 'retryDelay' AND v->>'summary' LIKE '%1 message of it is a dead letter (last error: error of 1)%' AND v->'deadLetters'->>'count' = '1', v::text;
    PERFORM queen.record_trace(v_p, 'a', 'g', 'error', '"boom"', '{}', NULL);
    PERFORM test.age(v_p, '91 seconds');
    v := pg_temp.lane();
    ASSERT v->>'cause' = 'ready' AND v->>'summary' LIKE 'The message at offset 0 has failed 1 time%ready to be delivered again%' AND v->>'lastError' = '"boom"', v::text;
    INSERT INTO queen.system_state (name, value) VALUES ('pop_maintenance', 'true');
    ASSERT pg_temp.lane()->>'summary' LIKE 'Pops are paused by maintenance%' AND pg_temp.lane()->'maintenance'->>'pop' = 'true';
    DELETE FROM queen.system_state;
    PERFORM queen.seek('lane', 'g', NULL, 'end', NULL, NULL, 0, 100);
    v := pg_temp.lane();
    ASSERT v->>'cause' = 'empty' AND v->>'summary' LIKE 'Nothing is left%(offset 3)%' AND v->'cursor'->>'offset' = '3' AND v->>'head' IS NULL, v::text;

    v_p := test.partition('slow'); v_g := test.groupid('slow'); PERFORM test.push(v_p, 1);
    PERFORM queen.configure('slow', NULL, NULL, '{"delayedProcessing":30}', false);
    v := pg_temp.lane(p_queue => 'slow');
    ASSERT v->>'cause' = 'delayed' AND v->>'summary' LIKE '%delayedProcessing is 30 s, and it becomes visible in 30 seconds%', v::text;
    PERFORM queen.configure('slow', NULL, NULL, '{"delayedProcessing":0,"windowBuffer":20}', false);
    v := pg_temp.lane(p_queue => 'slow');
    ASSERT v->>'cause' = 'window' AND v->>'summary' LIKE '%windowBuffer (20 s)%' AND v->'delay'->>'reason' = 'windowBuffer', v::text;
    -- what retention takes before it is consumed
    PERFORM queen.configure('slow', NULL, NULL, '{"windowBuffer":0,"retentionSeconds":3600}', false);
    ASSERT pg_temp.lane(p_queue => 'slow')->>'summary' LIKE '%The first message expires in 60 minutes%' OR pg_temp.lane(p_queue => 'slow')->>'summary' LIKE '%expires in 59 minutes%';
    PERFORM test.pop(v_p, v_g, p_seconds => 1);
    PERFORM test.age(v_p, '3700 seconds'); PERFORM test.push(v_p, 1);
    v := pg_temp.lane(p_queue => 'slow');
    ASSERT v->>'expired' = '1' AND v->>'summary' LIKE '%1 message was removed by retention before group "g" had consumed it%', v::text;
END $$;

-- A lease under which everything has expired holds the lane until it ends: the group's page says what explain says.
DO $$
DECLARE v_id int := test.partition('over'); v_g int := test.groupid('over', 'holder'); v_lane json; v_page json;
BEGIN
    PERFORM test.push(v_id, 2), test.pop(v_id, v_g);
    PERFORM queen.configure('over', NULL, NULL, '{"retentionSeconds":60}', false);
    UPDATE queen.segments SET created_at = created_at - interval '1 hour' WHERE partition_id = v_id;
    v_lane := queen.report_lane('over', 'Default', 'holder')::json;
    v_page := queen.report_group('holder', NULL, 0)->'over'->'partitions'->0;
    ASSERT v_lane->>'cause' = 'leased' AND v_page->>'leaseActive' = 'true' AND v_page->>'workerId' = v_lane->'lease'->>'leaseId', v_page::text;
END $$;

-- One is not many.
DO $$
DECLARE v_id int := test.partition('single'); v_g int; v_lease uuid := gen_random_uuid(); v text;
BEGIN
    PERFORM test.push(v_id, 1);
    v := pg_temp.lane(p_queue => 'single')->>'summary';
    ASSERT v LIKE '%The partition holds 1 message.%', v;
    v_g := test.groupid('single', 'g');
    v := pg_temp.lane(p_queue => 'single')->>'summary';
    ASSERT v LIKE 'Nothing is in the way: 1 message is ready for group "g", and nobody has popped it yet.%', v;
    PERFORM test.pop(v_id, v_g, v_lease);
    v := pg_temp.lane(p_queue => 'single')->>'summary';
    ASSERT v LIKE '%with 1 unsettled message for another%', v;
    UPDATE queen.progress SET lease_until = clock_timestamp() - interval '1 second' WHERE partition_id = v_id;
    v := pg_temp.lane(p_queue => 'single')->>'summary';
    ASSERT v LIKE '%: 1 message of the partition is ready for group "g".%', v;
END $$;
