-- find_family: a group's start on a family is decided at its first pop of it (api 2.2), on the queues that
-- are there and for those made later.
CREATE FUNCTION test.family(p_namespace text, p_task text DEFAULT NULL, p_group text DEFAULT 'g',
                            p_mode text DEFAULT 'all', p_time timestamptz DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(queue_name, ' ') FROM queen.find_family(p_namespace, p_task, p_group, p_mode, p_time) $$;
CREATE FUNCTION test.start(p_queue text, p_group text DEFAULT 'g') RETURNS text LANGUAGE sql AS $$
    SELECT g.start_mode FROM queen.groups g JOIN queen.queues q ON q.id = g.queue_id
    WHERE q.name = p_queue AND g.name = p_group $$;
-- What a family's group would be given, its own start decided by nothing but the record.
CREATE FUNCTION test.seqs(p_queue text, p_group text DEFAULT 'g') RETURNS bigint[] LANGUAGE sql AS $$
    SELECT (test.pop(test.partition(p_queue), (SELECT e.group_id FROM queen.ensure_group(p_queue, p_group, NULL, NULL) e))).seqs $$;

DO $$
BEGIN
    -- members: by namespace, by task, by both; the highest priority first
    PERFORM test.partition('m.b'), test.partition('m.a'), test.partition('other.a');
    ASSERT test.family('m') = 'm.a m.b' AND test.family(NULL, 'a') = 'm.a other.a' AND test.family('m', 'b') = 'm.b';
    PERFORM queen.configure('m.b', NULL, NULL, '{"priority":1}', false);
    ASSERT test.family('m') = 'm.b m.a' AND test.family('nowhere') IS NULL;
    ASSERT (SELECT count(*) FROM queen.families WHERE namespace = 'm' AND group_name = 'g') = 2, 'recorded once each';

    -- `new`: every queue that is there gets its positions, not only the one that is served
    PERFORM test.push(test.partition('n.1'), 2), test.push(test.partition('n.2'), 3);
    ASSERT test.family('n', NULL, 'g', 'new') = 'n.1 n.2';
    PERFORM test.push(test.partition('n.1')), test.push(test.partition('n.2'));
    ASSERT test.seqs('n.1') = '{2}' AND test.seqs('n.2') = '{3}';

    -- and a queue made later is read from its start, however it is made and whatever later pops say
    PERFORM test.push(test.partition('n.3'), 2);
    PERFORM queen.push('n.4', '1');
    PERFORM queen.configure('configured', 'n', 't', '{}', false);
    PERFORM test.push(test.partition('configured'));
    ASSERT test.start('n.3') = 'all', 'recorded when it is made, so that retention counts the group';
    ASSERT test.family('n', NULL, 'g', 'new') = 'configured n.1 n.2 n.3 n.4';
    ASSERT test.seqs('n.3') = '{0,1}' AND test.seqs('n.4') = '{0}' AND test.seqs('configured') = '{0}';

    -- the record also wins over a pop of the queue itself
    PERFORM test.push(test.partition('n.5'));
    PERFORM queen.ensure_group('n.5', 'g', 'new', NULL);
    ASSERT test.seqs('n.5') = '{0}';
    -- but not for another group
    PERFORM test.family('n', NULL, 'h', 'new');
    ASSERT test.start('n.5', 'h') = 'new' AND test.seqs('n.5', 'h') IS NULL;

    -- deleted and made again: born later
    PERFORM queen.delete_queue('n.1');
    ASSERT NOT EXISTS (SELECT FROM queen.family_queues j WHERE NOT EXISTS (SELECT FROM queen.queues q WHERE q.id = j.queue_id));
    PERFORM test.push(test.partition('n.1'), 2);
    PERFORM test.family('n', NULL, 'g', 'new');
    ASSERT test.seqs('n.1') = '{0,1}';

    -- a family with no queue at all
    ASSERT test.family('z', NULL, 'g', 'new') IS NULL AND test.family(NULL, 'zt', 'g', 'new') IS NULL;
    PERFORM test.push(test.partition('z.zt'));
    ASSERT test.seqs('z.zt') = '{0}';

    -- a time stays a time
    PERFORM test.family('t', NULL, 'g', 'time', '2030-01-01Z');
    PERFORM test.push(test.partition('t.1'));
    ASSERT test.start('t.1') = 'time' AND test.seqs('t.1') IS NULL;
    PERFORM queen.set_subscription('g', '2020-01-01Z');
    PERFORM test.push(test.partition('t.2'));
    ASSERT test.seqs('t.2') = '{0}', 'a changed subscription counts for queues made later';
END $$;

-- A queue that joins a family by configure.
DO $$
BEGIN
    PERFORM test.push(test.partition('before'), 2);
    PERFORM test.family('j', NULL, 'g', 'new');
    PERFORM test.push(test.partition('after'), 2);
    PERFORM queen.configure('before', 'j', NULL, '{}', false), queen.configure('after', 'j', NULL, '{}', false);
    PERFORM test.push(test.partition('before'));
    ASSERT test.family('j', NULL, 'g', 'new') = 'after before';
    ASSERT test.seqs('after') = '{0,1}', 'it was made later';
    ASSERT test.seqs('before') = '{2}', 'what is pushed since it joined';
END $$;

-- Deleting the group: on one queue it decides anew there, everywhere the family's record goes too.
DO $$
BEGIN
    PERFORM test.family('d', NULL, 'g', 'new');
    PERFORM test.push(test.partition('d.1'), 2), test.push(test.partition('d.2'), 2);
    PERFORM queen.delete_group('g', 'd.1', true);
    ASSERT NOT EXISTS (SELECT FROM queen.ensure_group('d.1', 'g', NULL, NULL)), 'only looked for';
    PERFORM test.family('d', NULL, 'g', 'new');
    ASSERT test.seqs('d.1') IS NULL AND test.seqs('d.2') = '{0,1}';
    PERFORM queen.delete_group('g', NULL, false);
    ASSERT EXISTS (SELECT FROM queen.families WHERE namespace = 'd'), 'without its metadata it keeps its start';
    PERFORM queen.delete_group('g', NULL, true);
    ASSERT NOT EXISTS (SELECT FROM queen.families f WHERE f.group_name = 'g');
    ASSERT NOT EXISTS (SELECT FROM queen.family_queues j WHERE NOT EXISTS (SELECT FROM queen.families f WHERE f.id = j.family_id));
    PERFORM test.push(test.partition('d.3'));
    PERFORM test.family('d', NULL, 'g', 'new');
    ASSERT test.seqs('d.3') IS NULL AND test.start('d.3') = 'new';
    ASSERT NOT EXISTS (SELECT FROM queen.early_groups), 'a look makes nothing';
END $$;

-- Every broker is told of a birth, of a move and of a priority; a push to a queue that is there tells of nothing else.
DO $$
DECLARE v_since pg_snapshot; v_count bigint; v_id int;
BEGIN
    SELECT count(*) INTO v_count FROM queen.batches WHERE partitions[1] < 0;
    PERFORM test.push(test.partition('told.x'));
    SELECT id INTO v_id FROM queen.queues WHERE name = 'told.x';
    ASSERT (SELECT count(*) FROM queen.batches WHERE partitions = ARRAY[-v_id]) = 1;
    PERFORM test.push(test.partition('told.x')), test.push(test.partition('told.x', 'another'));
    ASSERT (SELECT count(*) FROM queen.batches WHERE partitions[1] < 0) = v_count + 1;
    PERFORM queen.configure('told.x', NULL, NULL, '{"priority":3}', false);
    PERFORM queen.configure('told.x', 'moved', NULL, '{}', false);
    ASSERT (SELECT count(*) FROM queen.batches WHERE partitions = ARRAY[-v_id]) = 3;
END $$;
