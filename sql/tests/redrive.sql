-- Dead letters that are pushed again are seen by the group in which they died, once, and by no other.
DO $$
DECLARE
    v_p int := test.partition('re'); v_g int := test.groupid('re', 'g'); v_h int := test.groupid('re', 'h'); v_late int;
    v_lease uuid := gen_random_uuid(); v record; v_pop test.delivery;
BEGIN
    PERFORM test.push_segments(ARRAY[v_p], ARRAY[E'"a"\n"b"\n"c"'], ARRAY[E't1\n\nt3'], ARRAY[E'{"headers":{"k":"v"}}\n\n']);
    PERFORM test.pop(v_p, v_g, v_lease);
    PERFORM test.ack(v_p, v_g, v_lease, p_done => '{1}', p_items => '{0,2}', p_kinds => '{dlq,dlq}');
    ASSERT (test.pop(v_p, v_h, p_auto_ack => true)).seqs = '{0,1,2}';
    SELECT * INTO STRICT v FROM queen.redrive_message(v_p, 't1', NULL);
    ASSERT v.queue = 're' AND v.consumer_group = 'g', v::text;
    ASSERT NOT EXISTS (SELECT FROM queen.redrive_message(v_p, 't1', NULL)), 'two clicks are one message';
    ASSERT NOT EXISTS (SELECT FROM queen.redrive_message(v_p, 't3', 'h')), 'it did not die there';
    ASSERT (SELECT meta::text = '{"headers":{"k":"v"}}' AND payload::text = '"a"' AND transaction_id = v.message_id::text
            FROM queen.messages WHERE seq = 3), 'payload and headers are kept, the id is new';
    ASSERT test.available(v_p, v_h) = 'empty' AND test.available(v_p, v_g) = 'ready';
    ASSERT (SELECT sum(unconsumed) FILTER (WHERE group_id = v_h) = 0 AND sum(unconsumed) FILTER (WHERE group_id = v_g) = 1
            FROM queen.queue_depths(ARRAY(SELECT id FROM queen.queues), 0, 1000)), 'depths count only what a group may see';

    -- in bulk: the others of the group, with something pushed between
    PERFORM test.push(v_p, 1);
    SELECT * INTO STRICT v FROM queen.redrive_dead_letters('re', NULL, NULL, NULL, NULL, 10, 1 << 20);
    ASSERT v.redriven = 1 AND v.more AND v.queues = '{re}', v::text;
    SELECT * INTO STRICT v FROM queen.redrive_dead_letters('re', NULL, NULL, NULL, NULL, 10, 1 << 20);
    ASSERT v.redriven = 0 AND NOT v.more AND v.queues = '{}', v::text;
    v_lease := gen_random_uuid();
    v_pop := test.pop(v_p, v_g, v_lease);
    ASSERT v_pop.seqs = '{3,4,5}' AND v_pop.payloads = '{"\"a\"","{\"n\":0}","\"c\""}', v_pop::text;
    ASSERT (SELECT released AND new_cursor = 6 FROM test.ack(v_p, v_g, v_lease, p_done => '{3,4,5}'));
    v_lease := gen_random_uuid();
    ASSERT (test.pop(v_p, v_h, v_lease)).seqs = '{4}', 'another group sees only what was pushed';
    ASSERT (SELECT released AND new_cursor = 6 FROM test.ack(v_p, v_h, v_lease, p_done => '{4}')), 'the lease ends with it';
    ASSERT test.available(v_p, v_h) = 'empty';
    -- a group born later, and one that seeks back, read the originals, and not what was pushed again
    v_late := test.groupid('re', 'late');
    ASSERT (test.pop(v_p, v_late)).seqs = '{0,1,2,4}';
    PERFORM queen.seek('re', 'h', NULL, 'offset', NULL, 0, 0, 100);
    ASSERT (test.pop(v_p, v_h)).seqs = '{0,1,2,4}';
    -- it may die again, and be pushed again
    PERFORM queen.seek('re', 'g', NULL, 'offset', NULL, 5, 0, 100);
    PERFORM test.pop(v_p, v_g, v_lease); PERFORM test.ack(v_p, v_g, v_lease, p_items => '{5}', p_kinds => '{dlq}');
    ASSERT (SELECT redriven = 1 FROM queen.redrive_dead_letters(NULL, 'g', 'Default', NULL, NULL, 10, 1));
    ASSERT (test.pop(v_p, v_g)).seqs = '{6}';
END $$;

-- Large letters make segments of at most 1 MiB, or one letter; steps end at their bytes; several groups at once.
DO $$
DECLARE
    v_p int := test.partition('big'); v_g int := test.groupid('big', 'g'); v_h int := test.groupid('big', 'h'); v_lease uuid; v_group int; v record;
BEGIN
    PERFORM test.push_segments(array_fill(v_p, ARRAY[4]), ARRAY(SELECT '"' || repeat(chr(96 + i), 600000) || '"' FROM generate_series(1, 4) i));
    FOREACH v_group IN ARRAY ARRAY[v_g, v_h] LOOP
        v_lease := gen_random_uuid();
        PERFORM test.pop(v_p, v_group, v_lease); PERFORM test.ack(v_p, v_group, v_lease, p_items => '{0,1,2,3}', p_kinds => '{dlq,dlq,dlq,dlq}');
    END LOOP;
    ASSERT (SELECT count(*) = 1 FROM queen.list_dead_letters('big', NULL, NULL, NULL, NULL, 100, 0, 1)), 'one letter at least';
    ASSERT (SELECT count(*) = 3 FROM queen.list_dead_letters('big', NULL, NULL, NULL, NULL, 100, 0, 1900000)), 'a page ends at its bytes';
    SELECT * INTO STRICT v FROM queen.redrive_dead_letters('big', NULL, NULL, NULL, NULL, 100, 1900000);
    ASSERT v.redriven = 3 AND v.more, v::text;
    SELECT * INTO STRICT v FROM queen.redrive_dead_letters('big', NULL, NULL, NULL, NULL, 100, 1 << 30);
    ASSERT v.redriven = 5, v::text;
    ASSERT (SELECT count(*) = 8 AND max(count) = 1 FROM queen.segments s WHERE s.partition_id = v_p AND base_seq >= 4), 'each is alone';
    ASSERT (SELECT seqs[1:3] = '{4,5,6}' AND cardinality(seqs) = 4 FROM test.pop(v_p, v_g));
    ASSERT (SELECT cardinality(seqs) = 4 AND payloads[1] LIKE '"a%' AND payloads[4] LIKE '"d%' FROM test.pop(v_p, v_h));
END $$;

-- Purging by the filters, and dead letters of what was deleted.
DO $$
DECLARE v_p int := test.partition('pu', 'a'); v_q int := test.partition('pu', 'b'); v_g int := test.groupid('pu'); v_id int; v_lease uuid; v record;
BEGIN
    FOREACH v_id IN ARRAY ARRAY[v_p, v_q] LOOP
        v_lease := gen_random_uuid();
        PERFORM test.push(v_id, 3); PERFORM test.pop(v_id, v_g, v_lease);
        PERFORM test.ack(v_id, v_g, v_lease, p_items => '{0,1,2}', p_kinds => '{dlq,dlq,dlq}');
    END LOOP;
    SELECT * INTO v FROM queen.purge_dead_letters('pu', NULL, 'a', NULL, NULL, 2);
    ASSERT v.purged = 2 AND v.more AND queen.count_dead_letters('pu', NULL, NULL, NULL, NULL) = 4;
    ASSERT (SELECT purged = 0 AND NOT more FROM queen.purge_dead_letters('pu', 'nobody', NULL, NULL, NULL, 9));
    PERFORM queen.delete_partition('pu', 'b');
    ASSERT queen.count_dead_letters('pu', NULL, NULL, NULL, NULL) = 1 AND queen.count_dead_letters(NULL, NULL, NULL, NULL, NULL)
         = (SELECT count(*) FROM queen.list_dead_letters(NULL, NULL, NULL, NULL, NULL, 100, 0));
    ASSERT (SELECT redriven = 1 FROM queen.redrive_dead_letters('pu', NULL, NULL, NULL, NULL, 100, 1));
END $$;

-- A group deleted without its record keeps what was redriven for it, under its new id, and nobody else is given it.
DO $$
DECLARE v_p int := test.partition('moved'); v_g int := test.groupid('moved', 'g'); v_h int := test.groupid('moved', 'h'); v_lease uuid := gen_random_uuid();
BEGIN
    PERFORM test.push(v_p, 2, E'mv-a\nmv-b');
    PERFORM test.pop(v_p, v_h, p_auto_ack => true), test.pop(v_p, v_g, v_lease);
    PERFORM test.ack(v_p, v_g, v_lease, p_items => '{0}', p_kinds => '{dlq}', p_done => '{1}');
    ASSERT (SELECT count(*) = 1 FROM queen.redrive_message(v_p, 'mv-a', NULL));
    PERFORM queen.delete_group('g', 'moved', false);
    ASSERT (SELECT seqs = '{0,1,2}' FROM test.pop(v_p, test.groupid('moved', 'g')));
    ASSERT test.available(v_p, v_h) = 'empty';
END $$;
