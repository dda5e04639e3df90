-- R4: a queue's version rises with whatever makes a belief about its lanes wrong, and with nothing else.
CREATE FUNCTION test.raises(p_command text, p_queue text DEFAULT 'v.q') RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE v_before bigint := (SELECT version FROM queen.queues WHERE name = p_queue); v_after bigint;
BEGIN
    EXECUTE p_command;
    v_after := (SELECT version FROM queen.queues WHERE name = p_queue);
    ASSERT v_after BETWEEN v_before AND v_before + 1, format('%s: from %s to %s', p_command, v_before, v_after);
    RETURN v_after > v_before;
END $$;

DO $$
DECLARE
    v_id int := test.partition('v.q'); v_gone int := test.partition('v.q', 'gone'); v_group int := test.groupid('v.q');
    v_other int := test.partition('v.other'); v_none bigint;
BEGIN
    PERFORM test.groupid('v.other'), test.push(v_id, 5, E'a\nb\nc\nd\ne'), test.push(v_gone, 1);
    v_none := (SELECT version FROM queen.queues WHERE name = 'v.other');

    ASSERT test.raises($q$SELECT queen.configure('v.q', NULL, NULL, '{"retryLimit": 1}', false)$q$), 'an option';
    ASSERT NOT test.raises($q$SELECT queen.configure('v.q', NULL, NULL, '{"retryLimit": 1}', false)$q$), 'the option it has';
    ASSERT test.raises($q$SELECT queen.configure('v.q', '', '', '{}', true)$q$), 'back to the defaults';
    ASSERT test.raises($q$SELECT queen.delete_partition('v.q', 'gone')$q$), 'a partition';
    ASSERT NOT test.raises($q$SELECT queen.delete_partition('v.q', 'gone')$q$), 'a partition that is not there';
    ASSERT test.raises(format($q$SELECT queen.delete_message(%s, 'a')$q$, v_id)), 'a message';
    ASSERT NOT test.raises(format($q$SELECT queen.delete_message(%s, 'a')$q$, v_id)), 'a message that was deleted';

    -- the daily work
    ASSERT NOT test.raises(format('SELECT test.push(%s, 3)', v_id)), 'a push';
    ASSERT NOT test.raises(format('SELECT test.pop(%s, %s, %L, 2)', v_id, v_group, '00000000-0000-4000-8000-000000000001')), 'a pop';
    ASSERT NOT test.raises(format('SELECT test.ack(%s, %s, %L, p_items => %L, p_kinds => %L)', v_id, v_group,
        '00000000-0000-4000-8000-000000000001', '{1}', '{dlq}')), 'an ack';
    ASSERT (SELECT count(*) = 1 FROM queen.dead_letters WHERE partition_id = v_id);
    ASSERT NOT test.raises('SELECT queen.sweep_segments(0, 100, 100), queen.sweep_progress(0, 0, 100)'), 'a sweep';
    ASSERT NOT test.raises($q$SELECT test.partition('v.q', 'born')$q$), 'a partition that is made';
    ASSERT NOT test.raises($q$SELECT test.groupid('v.q', 'h')$q$), 'a group that is made';

    ASSERT test.raises(format('SELECT queen.redrive(ARRAY[%s], ARRAY[%s], ARRAY[1::bigint], true)', v_id, v_group)), 'a dead letter for one group';
    ASSERT test.raises($q$SELECT queen.seek('v.q', 'g', NULL, 'end', NULL, NULL, 0, 100)$q$), 'a start';
    ASSERT NOT test.raises($q$SELECT queen.seek('v.q', 'g', 'Default', 'offset', NULL, 0, 0, 100)$q$), 'a lane';
    ASSERT NOT test.raises($q$SELECT queen.seek('v.q', 'g', NULL, 'offset', NULL, 0, 0, 1)$q$), 'one step of a seek';
    ASSERT test.raises($q$SELECT queen.clear_queue('v.q', NULL, 0, NULL, NULL, 100)$q$), 'the messages';
    ASSERT test.raises($q$SELECT queen.delete_group('g', 'v.q', false)$q$), 'a group that begins anew';
    ASSERT test.raises($q$SELECT queen.delete_group('g', 'v.q', true)$q$), 'a group';
    ASSERT NOT test.raises($q$SELECT queen.delete_group('g', 'v.q', true)$q$), 'a group that is not there';
    ASSERT v_none = (SELECT version FROM queen.queues WHERE name = 'v.other'), 'another queue';
    ASSERT test.raises($q$SELECT queen.set_subscription('g', now())$q$, 'v.other'), 'a start on every queue';
    ASSERT test.raises($q$SELECT queen.delete_group('g', NULL, true)$q$, 'v.other'), 'a group on every queue';
END $$;
