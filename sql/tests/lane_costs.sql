-- R15: what load_lanes and append_lanes cost, in pages touched, on tables that are filled: so many per lane, however many
-- lanes a call has and however large the tables are. A plan that scans, sorts or joins what it should probe shows here.
SET plan_cache_mode = force_generic_plan;   -- as the broker sets it
SET enable_seqscan = off;

-- 20,000 partitions with 3 segments and 3 epochs each; every tenth lane is new to its group
INSERT INTO queen.queues (name, namespace, task) SELECT 'q' || i, '', '' FROM generate_series(1, 200) i;
INSERT INTO queen.groups (queue_id, name, start_mode) SELECT id, 'g', 'all' FROM queen.queues;
INSERT INTO queen.partitions (queue_id, name) SELECT q.id, 'p' || i FROM queen.queues q, generate_series(1, 100) i;
INSERT INTO queen.segments (partition_id, base_seq, count, created_at, payloads)
SELECT p.id, k * 10, 10, now() - (3 - k) * interval '1 s', test.lines(10) FROM queen.partitions p, generate_series(0, 2) k;
INSERT INTO queen.progress (partition_id, group_id, epoch, stamp, cursor, changed_at)
SELECT p.id, g.id, e, e, 5, now() FROM queen.partitions p JOIN queen.groups g ON g.queue_id = p.queue_id, generate_series(1, 3) e
WHERE p.id % 10 > 0;
ANALYZE queen.queues, queen.partitions, queen.groups;

-- Lanes of all over the tables as the arrays of a call, from the p_from-th on.
CREATE FUNCTION test.lanes_of(p_lanes int, p_from int) RETURNS TABLE (partitions int[], groups int[], queues int[], versions bigint[],
    epochs bigint[], stamps bigint[], news bigint[], cursors bigint[], ones int[], ms bigint[], leases uuid[]) LANGUAGE sql AS $$
    SELECT array_agg(p.id), array_agg(g.id), array_agg(p.queue_id), array_agg(0::bigint), array_agg(coalesce(s.epoch, 0)),
           array_agg(coalesce(s.stamp, 0)), array_agg(p_from * 1000000::bigint + p.id), array_agg(coalesce(s.cursor, 0) + 1), array_agg(1),
           array_agg(60000::bigint), array_agg(gen_random_uuid())
    FROM generate_series(p_from, p_from + p_lanes - 1) i JOIN queen.partitions p ON p.id = (i * 7919) % 20000 + 1
    JOIN queen.groups g ON g.queue_id = p.queue_id LEFT JOIN LATERAL test.state(p.id, g.id) s ON true $$;

-- Pages touched by one call for so many lanes.
CREATE FUNCTION test.pages(p_verb text, p_lanes int, p_from int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    l      record;
    v_plan json;
BEGIN
    SELECT * INTO STRICT l FROM test.lanes_of(p_lanes, p_from);
    IF p_verb = 'load' THEN
        EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) SELECT * FROM queen.load_lanes($1, $2, $3)' INTO v_plan USING l.partitions, l.groups, l.ones;
    ELSE
        EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) SELECT * FROM queen.append_lanes(1, NULL, true, $1, $2, $3, $4, $5, $6, NULL, NULL,
                 NULL, $7, $8, NULL, NULL, NULL, NULL, $9, NULL, $10, $8, $11, $11, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)'
        INTO v_plan USING l.partitions, l.groups, l.queues, l.versions, l.epochs, l.stamps, l.news, l.cursors, l.leases, l.ms, l.ones;
        ASSERT (SELECT count(*) = p_lanes FROM unnest(l.partitions, l.groups, l.news) AS u(partition_id, group_id, new)
                WHERE (test.state(u.partition_id, u.group_id)).stamp = u.new), 'not all have won';
    END IF;
    ASSERT (v_plan -> 0 -> 'Plan' ->> 'Actual Rows')::int = p_lanes, v_plan::text;
    RETURN (v_plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::int + (v_plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::int;
END $$;

DO $$
DECLARE
    v_from  int := 1;
    v_lanes int;
    v_pages numeric;
BEGIN
    FOR i IN 1..3 LOOP  -- the first calls plan
        PERFORM test.pages('load', 1, v_from), test.pages('append', 1, v_from);
        v_from := v_from + 1;
    END LOOP;
    FOREACH v_lanes IN ARRAY '{1,10,100,1000}'::int[] LOOP
        v_pages := test.pages('load', v_lanes, v_from)::numeric / v_lanes;
        ASSERT v_pages <= 30, format('load_lanes: %s pages a lane in a call of %s', v_pages, v_lanes);
        v_pages := test.pages('append', v_lanes, v_from)::numeric / v_lanes;
        ASSERT v_pages <= 20, format('append_lanes: %s pages a lane in a call of %s', v_pages, v_lanes);
        v_from := v_from + v_lanes;
    END LOOP;
END $$;
