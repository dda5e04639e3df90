-- A deleted message is delivered to nobody; its offset and its transactionId stay taken, and leases go on.
DO $$
DECLARE
    v_p int := test.partition('del'); v_g int := test.groupid('del', 'g'); v_h int := test.groupid('del', 'h'); v_late int;
    v_lease uuid := gen_random_uuid(); v record; v_pop test.delivery;
BEGIN
    PERFORM test.push_segments(ARRAY[v_p], ARRAY[test.lines(5)], ARRAY[E'a\nb\nc\nd\ne'], ARRAY[E'\n{"producerSub":"s"}\n\n\n']);
    ASSERT (test.pop(v_p, v_g, v_lease, p_batch => 3)).seqs = '{0,1,2}';
    ASSERT (SELECT deleted AND queue = 'del' FROM queen.delete_message(v_p, 'b')), 'under a lease';
    ASSERT (SELECT NOT deleted FROM queen.delete_message(v_p, 'b')), 'once';
    ASSERT (SELECT NOT deleted FROM queen.delete_message(v_p, 'x') ), 'what was never there';
    ASSERT (SELECT NOT deleted FROM queen.delete_message(987654, 'b'));
    ASSERT (SELECT payloads NOT LIKE '%"n":1}%' AND payloads LIKE '%"n":2}%' AND meta NOT LIKE '%producerSub%' FROM queen.segments WHERE partition_id = v_p), 'erased';
    ASSERT (SELECT count(*) = 4 FROM queen.messages WHERE queue = 'del');
    ASSERT (SELECT state = 'applied' AND released AND new_cursor = 3 FROM test.ack(v_p, v_g, v_lease, p_done => '{0,2}')), 'the lease ends without it';
    ASSERT (SELECT status = 'duplicate' FROM test.push_segments(ARRAY[v_p], ARRAY['1'], ARRAY['b'])), 'its transactionId stays taken';
    v_pop := test.pop(v_p, v_h, p_auto_ack => true);
    ASSERT v_pop.seqs = '{0,2,3,4}', v_pop::text;
    v_late := test.groupid('del', 'late');
    ASSERT (SELECT seqs = '{0,2}' FROM test.pop(v_p, v_late, p_batch => 2)), 'groups born later';
    PERFORM queen.seek('del', 'h', NULL, 'offset', NULL, 0, 0, 100);
    ASSERT (SELECT seqs = '{0,2,3,4}' FROM test.pop(v_p, v_h)), 'and groups that seek back';
    -- the rest, one by one: nothing is left, for anybody
    ASSERT (SELECT bool_and(d.deleted) FROM unnest('{a,c,d,e}'::text[]) t, queen.delete_message(v_p, t) d);
    ASSERT (SELECT bool_and(test.available(v_p, i) = 'empty') FROM unnest(ARRAY[v_g, v_h, v_late]) i), 'leases of nothing have ended';
    ASSERT (SELECT coalesce(sum(unconsumed), 0) = 0 FROM queen.queue_depths(ARRAY(SELECT id FROM queen.queues), 0, 1000));
    PERFORM test.push(v_p, 1);
    ASSERT (test.pop(v_p, v_g)).seqs = '{5}';
END $$;

-- The failing message at the head: with it go its retry delay and its dead letters.
DO $$
DECLARE v_p int := test.partition('head'); v_g int := test.groupid('head'); v_lease uuid := gen_random_uuid();
BEGIN
    PERFORM queen.configure('head', NULL, NULL, '{"retryDelay":60000}', false);
    PERFORM test.push_segments(ARRAY[v_p], ARRAY[test.lines(3)], ARRAY[E'a\nb\nc']);
    PERFORM test.pop(v_p, v_g, v_lease);
    PERFORM test.ack(v_p, v_g, v_lease, p_items => '{0,1}', p_kinds => '{failed,dlq}', p_done => '{2}');
    ASSERT test.available(v_p, v_g) = 'retry';
    ASSERT (SELECT deleted FROM queen.delete_message(v_p, 'a'));
    ASSERT test.available(v_p, v_g) = 'empty' AND (test.state(v_p, v_g)).cursor = 3;
    ASSERT (SELECT deleted FROM queen.delete_message(v_p, 'b'));
    ASSERT queen.count_dead_letters('head', NULL, NULL, NULL, NULL) = 0;
END $$;

-- Without transactionIds: by the message's id. More in a row than a bitmap reaches. One that was redriven.
DO $$
DECLARE v_p int := test.partition('own'); v_g int := test.groupid('own'); v_h int := test.groupid('own', 'h'); v_id text; v_lease uuid := gen_random_uuid();
BEGIN
    PERFORM test.push(v_p, 2);
    SELECT queen.message_id(created_at + interval '1 microsecond', v_p, 1)::text INTO v_id FROM queen.segments WHERE partition_id = v_p;
    ASSERT (SELECT deleted FROM queen.delete_message(v_p, v_id));
    ASSERT (SELECT seqs = '{0}' FROM test.pop(v_p, v_g, v_lease));
    PERFORM test.ack(v_p, v_g, v_lease, p_items => '{0}', p_kinds => '{dlq}');
    SELECT message_id::text INTO v_id FROM queen.redrive_message(v_p, (SELECT transaction_id FROM queen.list_dead_letters('own', NULL, NULL, NULL, NULL, 1, 0)), NULL);
    ASSERT (SELECT deleted FROM queen.delete_message(v_p, v_id));
    ASSERT test.available(v_p, v_g) = 'empty';

    INSERT INTO queen.hidden_messages SELECT v_p, 3 + i * 7000, 3 + (i + 1) * 7000 FROM generate_series(0, 3) i;
    PERFORM test.push(v_p, 10000); PERFORM test.push(v_p, 10000); PERFORM test.push(v_p, 10000);
    ASSERT (SELECT seqs = '{28003}' FROM test.pop(v_p, v_g, p_batch => 1));
    ASSERT (SELECT seqs = '{0}' FROM test.pop(v_p, v_h, p_batch => 2)), 'a lease reaches 10,000 offsets';
END $$;

-- Retention and deletion take the notes along.
DO $$
DECLARE v_p int := test.partition('swept'); v_g int := test.groupid('swept');
BEGIN
    PERFORM test.push(v_p, 2, E'a\nb'); PERFORM test.push(v_p, 1, 'c');
    PERFORM queen.delete_message(v_p, 'a'), queen.delete_message(v_p, 'c');
    PERFORM queen.configure('swept', NULL, NULL, '{"retentionSeconds":60}', false);
    PERFORM test.age(v_p, '61 seconds');
    PERFORM queen.sweep_segments(v_p - 1, 1, 1000), queen.sweep_segments(v_p - 1, 1, 1000);
    ASSERT NOT EXISTS (SELECT FROM queen.hidden_messages WHERE partition_id = v_p);
    PERFORM test.push(v_p, 1, 'd'); PERFORM queen.delete_message(v_p, 'd');
    PERFORM queen.delete_queue('swept');
    PERFORM queen.sweep_orphans(1000) FROM generate_series(1, 4);
    ASSERT NOT EXISTS (SELECT FROM queen.hidden_messages WHERE partition_id = v_p);
END $$;

-- dead_letter_message: one message for one group, leased or not.
DO $$
DECLARE v_p int := test.partition('todlq'); v_g int := test.groupid('todlq', 'g'); v_h int := test.groupid('todlq', 'h'); v_lease uuid := gen_random_uuid();
BEGIN
    PERFORM test.push(v_p, 3, E'a\nb\nc');
    PERFORM test.pop(v_p, v_g, v_lease, p_batch => 2);
    ASSERT (SELECT state = 'settled' AND queue = 'todlq' FROM queen.dead_letter_message(v_p, 'a', 'g', 'by hand'));
    ASSERT (SELECT state = 'passed' FROM queen.dead_letter_message(v_p, 'a', 'g', 'by hand'));
    ASSERT (SELECT state = 'missing' FROM queen.dead_letter_message(v_p, 'z', 'g', NULL)) AND (SELECT state = 'missing' FROM queen.dead_letter_message(v_p, 'a', 'nobody', NULL));
    ASSERT (SELECT count(*) = 1 AND min(error) = 'by hand' AND min(payload) = '{"n":0}' FROM queen.list_dead_letters('todlq', NULL, NULL, NULL, NULL, 9, 0));
    ASSERT (SELECT released AND new_cursor = 2 FROM test.ack(v_p, v_g, v_lease, p_done => '{0,1}'));
    ASSERT (SELECT seqs = '{2}' FROM test.pop(v_p, v_g)) AND (SELECT seqs = '{0,1,2}' FROM test.pop(v_p, v_h));
    ASSERT (SELECT state = 'settled' FROM queen.dead_letter_message(v_p, 'b', '__QUEUE_MODE__', NULL)), 'the group of the queue itself is made';
    PERFORM test.push(v_p, 10001, (SELECT string_agg('n' || i, E'\n' ORDER BY i) FROM generate_series(0, 10000) i));
    ASSERT (SELECT state = 'far' FROM queen.dead_letter_message(v_p, 'n10000', 'g', NULL));
END $$;

-- A verdict on a deleted message leaves no letter: there is nothing to write in it.
DO $$
DECLARE v_p int := test.partition('noletter'); v_g int := test.groupid('noletter');
BEGIN
    PERFORM test.push(v_p, 2, E'nl-a\nnl-b'), queen.delete_message(v_p, 'nl-a');
    PERFORM queen.dead_letter(ARRAY[v_p, v_p], ARRAY[v_g, v_g], '{0,1}', '{x,y}', '{1,1}');
    ASSERT (SELECT array_agg(transaction_id) = '{nl-b}' FROM queen.list_dead_letters('noletter', NULL, NULL, NULL, NULL, 9, 0));
END $$;
