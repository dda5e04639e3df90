-- pop_sm_resolve: pages through a queue by partition id; has_pending_messages: the same predicate.
DO $$
DECLARE
    v_ids int[] := ARRAY(SELECT test.partition('resolve', 'p' || i) FROM generate_series(1, 25) i);
    v_queue int := (SELECT id FROM queen.queues WHERE name = 'resolve');
    v_group int := test.groupid('resolve'); v_found int[] := '{}'; v_after int := 0; v_pages int := 0; v record; v_rows text;
BEGIN
    FOR i IN 1..25 LOOP IF i % 3 = 0 THEN PERFORM test.push(v_ids[i], 1); END IF; END LOOP;
    PERFORM test.push(test.partition('resolve.other'), 1);
    LOOP
        v_pages := v_pages + 1;
        SELECT coalesce(array_agg(r.partition_id) FILTER (WHERE r.partition_id IS NOT NULL), '{}') AS ids, max(r.next_after) AS next,
               count(*) FILTER (WHERE r.partition_id IS NULL) AS last
        INTO v FROM queen.pop_sm_resolve(v_queue, v_group, v_after, 10) r;
        ASSERT v.last = 1;
        v_found := v_found || v.ids;
        EXIT WHEN v.next IS NULL;
        v_after := v.next;
    END LOOP;
    ASSERT v_pages = 3 AND v_found = ARRAY(SELECT v_ids[i] FROM generate_series(3, 25, 3) i), v_found::text;

    -- the others come with their time, the empty ones do not come
    PERFORM test.pop(v_ids[3], v_group, p_seconds => 50);
    SELECT string_agg(format('%s:%s', array_position(v_ids, r.partition_id), r.ready_in_ms / 1000), ' ') INTO v_rows
    FROM queen.pop_sm_resolve(v_queue, v_group, 0, 8) r WHERE r.partition_id IS NOT NULL;
    ASSERT v_rows IN ('3:49 6:0', '3:50 6:0'), v_rows;
    UPDATE queen.queues SET window_buffer = 100 WHERE id = v_queue;
    ASSERT (SELECT r.ready_in_ms BETWEEN 90000 AND 100000 FROM queen.pop_sm_resolve(v_queue, v_group, v_ids[5], 1) r
            WHERE r.partition_id = v_ids[6]);
    UPDATE queen.queues SET window_buffer = 0 WHERE id = v_queue;

    SELECT string_agg(format('%s %s %s', p.ordinal, p.pending, p.ready_in_ms / 1000), ', ' ORDER BY p.ordinal) INTO v_rows
    FROM queen.has_pending_messages(v_ids[6:6] || v_ids[3:3] || v_ids[1:1] || -1, array_fill(v_group, '{4}')) p;
    ASSERT v_rows IN ('1 t , 2 f 49, 3 f , 4  ', '1 t , 2 f 50, 3 f , 4  '), v_rows;

    -- of a group or queue that is gone there is no last row either
    ASSERT (SELECT count(*) FROM queen.pop_sm_resolve(v_queue, -1, 0, 100)) = 0;
    ASSERT (SELECT count(*) FROM queen.pop_sm_resolve(-1, v_group, 0, 100)) = 0;
END $$;

-- What resolve calls ready can be leased, whatever retention did (a wrong `ready` would spin for ever).
DO $$
DECLARE
    v_id int; v_queue int; v_group int; v_state text; v_ready boolean;
BEGIN
    PERFORM test.seed();
    FOR round IN 1..150 LOOP
        v_id := test.partition('agree' || round);
        SELECT id INTO v_queue FROM queen.queues WHERE name = 'agree' || round;
        UPDATE queen.queues SET delayed_processing = CASE WHEN random() < 0.3 THEN 20 ELSE 0 END,
            window_buffer = CASE WHEN random() < 0.3 THEN 20 ELSE 0 END,
            max_wait_time_seconds = CASE WHEN random() < 0.3 THEN 60 ELSE 0 END WHERE id = v_queue;
        IF random() < 0.3 THEN v_group := test.groupid('agree' || round, 'g', 'new'); ELSE v_group := test.groupid('agree' || round); END IF;
        FOR i IN 1..(1 + (random() * 4)::int) LOOP
            PERFORM test.push(v_id, 1 + (random() * 3)::int);
            -- whole seconds: no message comes due, or expires, between the two questions
            PERFORM test.age(v_id, floor(random() * 30) * interval '1 second');
        END LOOP;
        IF random() < 0.5 THEN
            DELETE FROM queen.segments s WHERE partition_id = v_id AND random() < 0.5
                AND base_seq < (SELECT max(base_seq) FROM queen.segments WHERE partition_id = v_id)
                AND NOT EXISTS (SELECT FROM queen.segments e WHERE e.partition_id = v_id AND e.base_seq < s.base_seq);
        END IF;
        IF random() < 0.2 AND (SELECT count(*) FROM queen.segments WHERE partition_id = v_id) = 1 THEN
            UPDATE queen.segments SET payloads = NULL WHERE partition_id = v_id;
        END IF;
        v_ready := EXISTS (SELECT FROM queen.pop_sm_resolve(v_queue, v_group, 0, 10) r WHERE r.partition_id = v_id AND r.ready_in_ms = 0);
        v_state := (test.pop(v_id, v_group)).state;
        ASSERT v_ready = (v_state = 'leased'), format('round %s: resolve %s, lease %s', round, v_ready, v_state);
    END LOOP;
END $$;
