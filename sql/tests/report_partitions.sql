-- report_partitions by lag: one row per partition, whatever the number of groups, and a page far down costs little.

CREATE FUNCTION test.by_lag(p_queue text, p_limit int, p_offset int) RETURNS text LANGUAGE sql AS $$
    SELECT coalesce(string_agg(p ->> 'name', ' ' ORDER BY i), '') || ' of ' || (min(r.page ->> 'total'))
    FROM (SELECT queen.report_partitions(p_queue, true, p_limit, p_offset) AS page) r
    LEFT JOIN LATERAL json_array_elements(r.page -> 'partitions') WITH ORDINALITY AS u(p, i) ON true $$;

CREATE PROCEDURE test.expect_page(p_limit int, p_offset int, p_should text) LANGUAGE plpgsql AS $$
BEGIN
    ASSERT test.by_lag('lagging', p_limit, p_offset) = p_should, test.by_lag('lagging', p_limit, p_offset);
END $$;

-- Each partition has one lane that says where it stands in the list; another one when that has moved.
DO $$
DECLARE
    v_a int := test.partition('lagging', 'a'); v_b int := test.partition('lagging', 'b'); v_c int := test.partition('lagging', 'c');
    v_g int := test.groupid('lagging', 'g'); v_h int := test.groupid('lagging', 'h'); v_other int := test.partition('elsewhere', 'd');
BEGIN
    PERFORM test.groupid('elsewhere', 'g'), test.push(v_other, 1);
    FOR i IN 1..2 LOOP PERFORM test.push(v_a, 1), test.push(v_b, 1), test.push(v_c, 1); END LOOP;
    UPDATE queen.segments SET created_at = created_at - (100 - partition_id * 10 - base_seq) * interval '1 minute';
    PERFORM test.measure();
    CALL test.expect_page(10, 0, 'a b c of 3');
    ASSERT test.by_lag(NULL, 10, 0) = 'a b c d of 4', test.by_lag(NULL, 10, 0);

    PERFORM test.pop(v_a, v_g, p_batch => 1, p_auto_ack => true);   -- h still has everything to do
    PERFORM test.measure();
    CALL test.expect_page(10, 0, 'a b c of 3');
    ASSERT (SELECT group_id FROM queen.lane_lags WHERE partition_id = v_a AND longest) = v_h, 'the other lane did not take over';

    PERFORM test.pop(v_a, v_h, p_batch => 2, p_auto_ack => true);
    PERFORM test.pop(v_b, v_g, p_batch => 2, p_auto_ack => true), test.pop(v_b, v_h, p_batch => 2, p_auto_ack => true);
    PERFORM test.measure();
    CALL test.expect_page(10, 0, 'a c of 2');
    CALL test.expect_page(1, 1, 'c of 2');
    CALL test.expect_page(10, 2, ' of 2');
    ASSERT NOT EXISTS (SELECT FROM queen.lane_lags GROUP BY partition_id HAVING count(*) FILTER (WHERE longest) <> 1);
    ASSERT NOT EXISTS (SELECT FROM queen.lane_lags l JOIN queen.lane_lags x USING (partition_id)
                       WHERE l.longest AND x.oldest_unconsumed_at < l.oldest_unconsumed_at);
    ASSERT queen.report_partitions('nobody', true, 1, 0) IS NULL;
END $$;

-- 20,000 partitions as two groups see them: the page touches the index up to where it begins, and no row twice.
INSERT INTO queen.lane_lags (queue_id, partition_id, group_id, pending, oldest_unconsumed_at, longest)
SELECT q.id, 1000000 + i, g, 1, now() + i * interval '1 second', g = 1
FROM queen.queues q, generate_series(1, 20000) i, generate_series(1, 2) g WHERE q.name = 'lagging';
ANALYZE queen.lane_lags;

CREATE FUNCTION test.pages_touched(p_queue text, p_offset int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE v json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) SELECT queen.report_partitions($1, true, 100, $2)' INTO v USING p_queue, p_offset;
    RETURN (v -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::int + (v -> 0 -> 'Plan' ->> 'Shared Read Blocks')::int;
END $$;

DO $$
DECLARE v_pages int;
BEGIN
    FOR i IN 1..3 LOOP
        v_pages := test.pages_touched('lagging', 18000);
        v_pages := greatest(v_pages, test.pages_touched(NULL, 18000));
    END LOOP;
    ASSERT v_pages < 4000, format('%s pages touched', v_pages);
END $$;
