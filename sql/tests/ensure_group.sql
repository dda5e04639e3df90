-- ensure_group: the start is decided at the first pop, and the record wins (api 2.2).
DO $$
DECLARE
    v_id int := test.partition('group'); v record; w record; v_early int;
BEGIN
    PERFORM test.push(v_id, 3);
    SELECT * INTO v FROM queen.ensure_group('group', 'a', 'new', NULL);
    ASSERT v.created AND (SELECT start_mode = 'new' FROM queen.groups WHERE id = v.group_id);
    ASSERT (SELECT (partition_id, seq) = (v_id, 3) FROM queen.group_starts WHERE group_id = v.group_id);
    SELECT * INTO w FROM queen.ensure_group('group', 'a', 'all', NULL);
    ASSERT NOT w.created AND w.group_id = v.group_id AND (SELECT start_mode = 'new' FROM queen.groups WHERE id = v.group_id);
    SELECT * INTO w FROM queen.ensure_group('group', 'b', 'time', '2026-01-01Z');
    ASSERT w.created AND w.group_id <> v.group_id AND (SELECT start_time = '2026-01-01Z' FROM queen.groups WHERE id = w.group_id);
    -- a pop burns no id for a group that exists
    FOR i IN 1..5 LOOP PERFORM queen.ensure_group('group', 'b', 'all', NULL); END LOOP;
    ASSERT (SELECT last_value FROM queen.groups_id_seq) = w.group_id;

    -- before its queue exists: kept by name, `new` means from 0, a time stays a time, the first pop decides
    ASSERT (SELECT count(*) FROM queen.ensure_group('early', 'n', 'new', NULL)) = 0;
    ASSERT (SELECT count(*) FROM queen.ensure_group('early', 'n', 'time', '2030-01-01Z')) = 0;
    ASSERT (SELECT count(*) FROM queen.ensure_group('early', 't', 'time', '2030-01-01Z')) = 0;
    ASSERT NOT EXISTS (SELECT FROM queen.queues WHERE name = 'early'), 'a pop makes no queue';
    v_early := test.partition('early');
    PERFORM test.push(v_early, 2);
    ASSERT (test.pop(v_early, test.groupid('early', 'n', 'new'))).seqs = '{0,1}', 'pushed after its first pop';
    ASSERT (test.pop(v_early, test.groupid('early', 't', 'all'))).state = 'empty', 'the record wins';
    -- the record is used up: the group of a queue made anew decides again
    DELETE FROM queen.queues WHERE name = 'early';
    v_early := test.partition('early');
    PERFORM test.push(v_early, 2);
    ASSERT (test.pop(v_early, test.groupid('early', 'n', 'new'))).state = 'empty';
END $$;
