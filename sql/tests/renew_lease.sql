-- renew_lease: extends, never shortens; several partitions under one lease; expired and unknown.
DO $$
DECLARE
    v_a int := test.partition('renew', 'a'); v_b int := test.partition('renew', 'b'); v_group int := test.groupid('renew');
    v_lease uuid := gen_random_uuid(); v record; v_rows text; v_before timestamptz;
BEGIN
    PERFORM test.push(v_a, 3); PERFORM test.push(v_b, 3);
    PERFORM test.pop(v_a, v_group, v_lease, p_seconds => 30);
    v_before := (test.pop(v_b, v_group, v_lease, p_seconds => 1000)).lease_until;
    PERFORM test.ack(v_a, v_group, v_lease, '{1}', '{2}', '{failed}');
    SELECT * INTO v FROM queen.renew_lease(ARRAY[v_lease], ARRAY[100]);
    ASSERT v.state = 'renewed' AND v.lease_until BETWEEN clock_timestamp() + interval '99 s' AND clock_timestamp() + interval '100 s',
        'the earliest of its partitions';
    ASSERT (test.state(v_b, v_group)).lease_until = v_before, 'never less than it had';
    -- everything else is carried over
    ASSERT (test.state(v_a, v_group)).settled = B'010' AND (test.state(v_a, v_group)).failed = B'001'
        AND (test.state(v_a, v_group)).attempt_counts = '{1}' AND (test.state(v_a, v_group)).lease_end = 3
        AND (test.state(v_a, v_group)).deliveries = 1;
    -- 0 = the lease's own length, at least 60
    PERFORM test.age(v_a, interval '90 s'); PERFORM test.age(v_b, interval '990 s');
    SELECT * INTO v FROM queen.renew_lease(ARRAY[v_lease], ARRAY[0]);
    ASSERT v.lease_until BETWEEN clock_timestamp() + interval '59 s' AND clock_timestamp() + interval '60 s', v::text;
    ASSERT (test.state(v_b, v_group)).lease_until > clock_timestamp() + interval '990 s';
    -- asked for twice in one call: the longer one, for both
    SELECT string_agg(format('%s %s %s', r.ordinal, r.state, round(extract(epoch FROM r.lease_until - clock_timestamp()))), ', ')
    INTO v_rows FROM queen.renew_lease(ARRAY[v_lease, v_lease], ARRAY[80, 200]) r;
    ASSERT v_rows = '1 renewed 200, 2 renewed 200', v_rows;
    -- one partition released, the other still held
    PERFORM test.ack(v_b, v_group, v_lease, '{0,1,2}');
    SELECT * INTO v FROM queen.renew_lease(ARRAY[v_lease], ARRAY[500]);
    ASSERT v.state = 'renewed' AND v.lease_until > clock_timestamp() + interval '499 s';
    PERFORM test.age(v_a, interval '501 s');
    SELECT string_agg(format('%s %s %s', r.ordinal, r.state, r.lease_until), ', ') INTO v_rows
    FROM queen.renew_lease(ARRAY[v_lease, gen_random_uuid()], ARRAY[500, 500]) r;
    ASSERT v_rows = '1 expired , 2 unknown ', v_rows;
    ASSERT (test.pop(v_a, v_group)).state = 'leased', 'an expired lease stays expired';
END $$;

-- A lease on a queue that was deleted is no lease.
DO $$
DECLARE
    v_id int := test.partition('renew.gone'); v_group int := test.groupid('renew.gone'); v_lease uuid := gen_random_uuid();
BEGIN
    PERFORM test.push(v_id, 1);
    PERFORM test.pop(v_id, v_group, v_lease);
    DELETE FROM queen.queues WHERE name = 'renew.gone';
    ASSERT (SELECT state FROM queen.renew_lease(ARRAY[v_lease], ARRAY[10])) = 'expired', 'a lease on a deleted queue was renewed';
    ASSERT (test.state(v_id, v_group)).epoch = 1;
END $$;

-- Durability: a renewal commits asynchronously, and what comes after it does not.
DO $$
BEGIN
    PERFORM queen.renew_lease(ARRAY[gen_random_uuid()], ARRAY[10]);
    ASSERT current_setting('synchronous_commit') = 'off';
END $$;
DO $$ BEGIN ASSERT current_setting('synchronous_commit') = 'on', 'it leaked out of the transaction'; END $$;
