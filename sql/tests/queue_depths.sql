-- queue_depths: what each group has still to consume, counted page by page.

-- All of it, whatever the size of the pages: queue, group (* = stored), count.
CREATE FUNCTION test.depths(p_queues int[], p_probes int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_left int[] := p_queues; v_after int := 0; v_pages int := 0; v record; v_queue int; v_counts jsonb := '{}'; v_key text;
BEGIN
    LOOP
        v_queue := NULL;
        FOR v IN SELECT d.*, q.name, coalesce(g.name, '*') AS group_name FROM queen.queue_depths(v_left, v_after, p_probes) d
                 LEFT JOIN queen.queues q ON q.id = d.queue_id LEFT JOIN queen.groups g ON g.id = d.group_id LOOP
            v_queue := v.next_queue;
            v_after := v.next_after;
            CONTINUE WHEN v.queue_id IS NULL;
            v_key := v.name || '/' || v.group_name;
            v_counts := v_counts || jsonb_build_object(v_key, coalesce((v_counts ->> v_key)::bigint, 0) + v.unconsumed);
        END LOOP;
        EXIT WHEN v_queue IS NULL;
        v_pages := v_pages + 1;
        ASSERT v_pages < 1000, 'the pages do not end';
        WHILE v_left[1] <> v_queue LOOP v_left := v_left[2:]; END LOOP;
    END LOOP;
    RETURN (SELECT string_agg(key || '=' || value, ' ' ORDER BY key) FROM jsonb_each_text(v_counts));
END $$;

CREATE FUNCTION test.queue(p_name text) RETURNS int LANGUAGE sql AS $$ SELECT id FROM queen.queues WHERE name = p_name $$;

DO $$
DECLARE
    v_a int := test.partition('depth', 'a'); v_b int := test.partition('depth', 'b'); v_all int; v_new int;
    v_lease uuid := gen_random_uuid(); v_ids int[];
BEGIN
    PERFORM test.partition('depth', 'empty');
    -- no group: everything that is stored
    PERFORM test.push(v_a, 10);
    PERFORM test.push(v_b, 3);
    ASSERT test.depths(ARRAY[test.queue('depth')], 1000) = 'depth/*=13', test.depths(ARRAY[test.queue('depth')], 1000);

    -- a group counts from its start, without what it has settled, in front of the cursor or behind it
    v_all := test.groupid('depth', 'all');
    v_new := test.groupid('depth', 'new', 'new');
    PERFORM test.groupid('depth', 'time', 'time', clock_timestamp() + interval '1 hour');
    PERFORM test.push(v_a, 2);
    PERFORM test.pop(v_a, v_all, v_lease, 10);
    PERFORM test.ack(v_a, v_all, v_lease, ARRAY[0, 1, 5, 7]::bigint[]);
    ASSERT test.depths(ARRAY[test.queue('depth')], 1000) = 'depth/*=15 depth/all=11 depth/new=2 depth/time=0',
        test.depths(ARRAY[test.queue('depth')], 1000);
    PERFORM test.pop(v_b, v_new, v_lease, 10, p_auto_ack => true);

    -- what has expired or was removed is nobody's any more
    PERFORM test.age(v_b, interval '1 hour');
    UPDATE queen.queues SET max_wait_time_seconds = 60 WHERE name = 'depth';
    ASSERT test.depths(ARRAY[test.queue('depth')], 1000) = 'depth/*=12 depth/all=8 depth/new=2 depth/time=0',
        test.depths(ARRAY[test.queue('depth')], 1000);
    UPDATE queen.queues SET max_wait_time_seconds = 0 WHERE name = 'depth';
    UPDATE queen.segments SET payloads = NULL WHERE partition_id = v_b;
    DELETE FROM queen.segments WHERE partition_id = v_a AND base_seq = 0;
    ASSERT test.depths(ARRAY[test.queue('depth')], 1000) = 'depth/*=2 depth/all=2 depth/new=2 depth/time=0',
        test.depths(ARRAY[test.queue('depth')], 1000);

    -- a tail looks on: it is no consumer
    PERFORM test.groupid('depth', 'queen-tail-1');
    ASSERT test.depths(ARRAY[test.queue('depth')], 1000) = 'depth/*=2 depth/all=2 depth/new=2 depth/time=0', 'tails do not count';

    -- pages of any size add up to the same, over several queues, empty ones and such as are gone
    FOR i IN 1..20 LOOP PERFORM test.push(test.partition('depth.many', 'p' || i), i); END LOOP;
    PERFORM test.groupid('depth.many', 'g');
    PERFORM test.partition('depth.none');
    v_ids := ARRAY[test.queue('depth.none'), test.queue('depth.many'), 2000000000, test.queue('depth')];
    FOR v_probes IN 1..70 LOOP
        ASSERT test.depths(v_ids, v_probes) = 'depth.many/*=210 depth.many/g=210 depth/*=2 depth/all=2 depth/new=2 depth/time=0',
            format('%s: %s', v_probes, test.depths(v_ids, v_probes));
    END LOOP;
END $$;

-- idle_ms: since the group last took or settled something, or was made
DO $$
DECLARE
    v_id int := test.partition('idle'); v_group int := test.groupid('idle'); v_idle bigint;
BEGIN
    PERFORM test.push(v_id, 3);
    UPDATE queen.groups SET created_at = created_at - interval '2 hours' WHERE id = v_group;
    SELECT idle_ms INTO v_idle FROM queen.queue_depths(ARRAY[test.queue('idle')], 0, 100) WHERE group_id = v_group;
    ASSERT v_idle BETWEEN 7200000 AND 7300000, v_idle;
    PERFORM test.pop(v_id, v_group);
    SELECT idle_ms INTO v_idle FROM queen.queue_depths(ARRAY[test.queue('idle')], 0, 100) WHERE group_id = v_group;
    ASSERT v_idle BETWEEN 0 AND 100000, v_idle;
END $$;

-- What was cleared is nobody's, not even of a group that is made later and begins in front of it.
DO $$
DECLARE
    v_id int := test.partition('hole'); v_early int := test.groupid('hole', 'early'); v_lease uuid := gen_random_uuid();
BEGIN
    PERFORM test.push(v_id, 4);
    PERFORM test.pop(v_id, v_early, v_lease, 2);
    PERFORM test.ack(v_id, v_early, v_lease, ARRAY[0, 1]::bigint[]);
    PERFORM test.push(v_id, 3);
    PERFORM queen.clear_queue('hole', NULL, 0, NULL, NULL, 1000);
    PERFORM test.push(v_id, 2);
    PERFORM test.groupid('hole', 'late');
    ASSERT test.depths(ARRAY[test.queue('hole')], 1000) = 'hole/*=4 hole/early=2 hole/late=4', test.depths(ARRAY[test.queue('hole')], 1000);
END $$;
