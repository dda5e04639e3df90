-- traces: recorded, found by message and by name (api 3).
DO $$
DECLARE v_id int := test.partition('tr'); v_rows text; v_first uuid;
BEGIN
    v_first := queen.record_trace(v_id, 'm1', 'g', 'info', '{"text":"a\u0000"}', '{order-1,tenant-9,order-1}', 'w');
    PERFORM queen.record_trace(v_id, 'm1', NULL, 'error', '{}', NULL, NULL);
    PERFORM queen.record_trace(v_id, 'm2', NULL, 'info', '{}', '{tenant-9}', NULL);
    SELECT string_agg(format('%s %s %s %s', event_type, data, consumer_group, trace_names), ', ' ORDER BY created_at) INTO v_rows FROM queen.list_traces(v_id, 'm1');
    ASSERT v_rows = 'info {"text":"a\u0000"} g {order-1,tenant-9}, error {}  {}', v_rows;
    SELECT string_agg(format('%s %s %s %s', queue, partition, transaction_id, total), ', ' ORDER BY created_at) INTO v_rows FROM queen.list_traces_by_name('tenant-9', 10, 0);
    ASSERT v_rows = 'tr Default m1 2, tr Default m2 2', v_rows;
    ASSERT (SELECT transaction_id FROM queen.list_traces_by_name('tenant-9', 1, 1)) = 'm2';
    SELECT string_agg(format('%s %s %s %s', trace_name, trace_count, message_count, total), ', ') INTO v_rows FROM queen.list_trace_names(10, 0);
    ASSERT v_rows = 'tenant-9 2 2 2, order-1 1 1 2', v_rows;
    ASSERT (SELECT id FROM queen.list_traces(v_id, 'm1') LIMIT 1) = v_first;
    PERFORM test.fails('SELECT queen.record_trace(-1, ''m'', NULL, ''info'', ''{}'', NULL, NULL)', 'QN404');
END $$;

-- Replies are limited in bytes, with one trace at least.
DO $$
DECLARE v_p int := test.partition('tr.bytes');
BEGIN
    PERFORM queen.record_trace(v_p, 'big', NULL, 'info', '"' || repeat('x', 1000) || '"', '{n}', NULL) FROM generate_series(1, 5);
    ASSERT (SELECT count(*) = 5 FROM queen.list_traces(v_p, 'big')) AND (SELECT count(*) = 3 FROM queen.list_traces(v_p, 'big', 3500))
       AND (SELECT count(*) = 1 FROM queen.list_traces(v_p, 'big', 1));
    ASSERT (SELECT count(*) = 2 AND min(total) = 5 FROM queen.list_traces_by_name('n', 100, 1, 2500)) AND (SELECT count(*) = 1 FROM queen.list_traces_by_name('n', 100, 0, 1));
END $$;
