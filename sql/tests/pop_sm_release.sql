-- pop_sm_release: a lease given back as if it had not been taken (its client went away).
DO $$
DECLARE
    v_a int := test.partition('release', 'a'); v_b int := test.partition('release', 'b'); v_group int := test.groupid('release');
    v_lease uuid := gen_random_uuid(); v_rows text;
BEGIN
    PERFORM test.push(v_a, 3); PERFORM test.push(v_b, 3);
    PERFORM test.pop(v_a, v_group, v_lease); PERFORM test.pop(v_b, v_group, v_lease);
    PERFORM test.ack(v_a, v_group, v_lease, '{1}');
    SELECT string_agg(format('%s %s', r.ordinal, r.state), ', ' ORDER BY r.ordinal) INTO v_rows
    FROM queen.pop_sm_release(ARRAY[v_a, v_b, v_b, -1], ARRAY[v_group, v_group, -1, v_group], array_fill(v_lease, '{4}')) r;
    ASSERT v_rows = '1 applied, 2 applied, 3 gone, 4 gone', v_rows;
    ASSERT (test.state(v_b, v_group)).deliveries = 0 AND (test.state(v_b, v_group)).lease_id IS NULL;
    ASSERT (test.pop(v_a, v_group)).seqs = '{0,2}' AND (test.pop(v_b, v_group)).seqs = '{0,1,2}';
    -- somebody else's lease is not touched
    ASSERT (SELECT state FROM queen.pop_sm_release(ARRAY[v_a], ARRAY[v_group], ARRAY[v_lease])) = 'refused';
    ASSERT (SELECT count(*) FROM queen.pop_sm_release('{}', '{}', '{}')) = 0;
END $$;
