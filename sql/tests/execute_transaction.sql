-- execute_transaction: I11, pushes and acks all or nothing.
CREATE FUNCTION test.summary(p_call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE v text;
BEGIN
    EXECUTE format('SELECT string_agg(format(''%%s %%s %%s %%s%%s%%s'', part, ordinal, status, base_seq, CASE WHEN line IS NOT NULL THEN '':'' || line END, '
        'CASE WHEN dead THEN '' dead'' END) || CASE WHEN released THEN '' released'' ELSE '''' END, '', '' ORDER BY part, ordinal, line) FROM %s', p_call) INTO v;
    RETURN v;
END $$;

CREATE TABLE at (a int, b int, g int, h int, l uuid, m uuid);
INSERT INTO at SELECT test.partition('in'), test.partition('out', 'b'), NULL, NULL, gen_random_uuid(), gen_random_uuid();
UPDATE at SET g = test.groupid('in'), h = test.groupid('in', 'h');
SELECT test.push(a, 6, E'm0\nm1\nm2\nm3\n\nm5') FROM at;
SELECT test.pop(a, g, l, 4) FROM at;

-- push and ack together; the group of the lease; offsets known or not; the row in batches
DO $$
DECLARE v at; v_sum text;
BEGIN
    SELECT * INTO v FROM at;
    v_sum := test.summary(format('test.transaction(ARRAY[%s, %s], ARRAY[test.lines(2), ''1''], ARRAY[E''x\ny'', NULL], ARRAY[%s, %s], ARRAY[%s, NULL]::int[], ARRAY[%L, %L]::uuid[], ARRAY[''m0'', ''m2''], ARRAY[''completed'', ''dlq''], p_n => 1)',
        v.b, v.b, v.a, v.a, v.g, v.l, v.l));
    ASSERT v_sum = 'ack 1 applied 0, ack 2 applied 2 dead, push 1 queued 0, push 2 queued 2', v_sum;
    ASSERT (test.state(v.a, v.g)).cursor = 1 AND (SELECT error = 'because' AND seq = 2 FROM queen.dead_letters WHERE partition_id = v.a);
    ASSERT (SELECT partitions = ARRAY[v.b, v.b] AND base_seqs = '{0,2}' FROM queen.batches WHERE broker = 1 AND n = 1);
END $$;

-- each refusal: which operation, and nothing applied
DO $$
DECLARE v at; v_detail text; v_before queen.progress; v_call text := 'SELECT test.transaction(ARRAY[%s], ARRAY[%L], ARRAY[%L]::text[], ARRAY[%s, %s], ARRAY[%s, %s], ARRAY[%L, %L]::uuid[], ARRAY[%L, %L])';
BEGIN
    SELECT * INTO v FROM at;
    v_before := test.state(v.a, v.g);
    v_detail := test.fails(format(v_call, v.b, '7', NULL, v.a, v.a, v.g, v.g, v.l, v.l, 'm1', 'nobody'), 'QN101');
    ASSERT v_detail = 'index=1 transactionId=nobody', v_detail;
    v_detail := test.fails(format(v_call, v.b, '7', NULL, v.a, v.a, v.g, v.g, v.l, v.m, 'm1', 'm3'), 'QN102');
    ASSERT v_detail = 'index=1 transactionId=m3', v_detail;
    v_detail := test.fails(format(v_call, v.b, '7', NULL, v.a, v.a, v.g, v.g, v.l, v.l, 'm1', 'm5'), 'QN102');
    ASSERT v_detail = 'index=1 transactionId=m5', 'not under this lease';
    v_detail := test.fails(format(v_call, v.b, '7', NULL, v.a, v.a, v.g, v.h, v.l, NULL, 'm1', 'm3'), 'QN102');
    ASSERT v_detail = 'index=1 transactionId=m3', 'a group without a lease';
    v_detail := test.fails(format(v_call, v.b, '7', NULL, v.a, v.a, v.g, -1, v.l, NULL, 'm1', 'm3'), 'QN102');
    v_detail := test.fails(format(v_call, v.b, '7', NULL, v.a, v.a, v.g, v.g, v.l, v.l, 'm1', 'm0'), 'QN103');
    ASSERT v_detail = 'index=1 transactionId=m0', v_detail;
    v_detail := test.fails(format(v_call, v.b, E'7\n8', E'new\ny', v.a, v.a, v.g, v.g, v.l, v.l, 'm1', 'm3'), 'QN104');
    ASSERT v_detail = 'index=3 transactionId=y', v_detail;
    v_detail := test.fails(format(v_call, v.b, E'7\n8\n9', E'new\n\nnew', v.a, v.a, v.g, v.g, v.l, v.l, 'm1', 'm3'), 'QN104');
    ASSERT v_detail = 'index=4 transactionId=new', 'twice in one transaction';
    PERFORM test.fails(format(v_call, 2000000000, '7', NULL, v.a, v.a, v.g, v.g, v.l, v.l, 'm1', 'm3'), 'QN404');
    ASSERT test.state(v.a, v.g) IS NOT DISTINCT FROM v_before AND (SELECT max(seq) FROM queen.messages WHERE queue = 'out') = 2;
END $$;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT test.fails(format('SELECT test.transaction(ARRAY[%s], ARRAY[''1''], ARRAY[NULL]::text[])', b), 'QN010') FROM at;
ROLLBACK;

-- requiredLeases: an ack without a lease must be held under one of them
DO $$
DECLARE v at; v_sum text;
BEGIN
    SELECT * INTO v FROM at;
    PERFORM test.fails(format('SELECT test.transaction(p_ack_partitions => ARRAY[%s], p_ack_groups => ARRAY[%s], p_ack_leases => ARRAY[NULL]::uuid[], p_ack_txns => ARRAY[''m1''], p_required => ARRAY[%L]::uuid[])', v.a, v.g, v.m), 'QN102');
    v_sum := test.summary(format('test.transaction(p_ack_partitions => ARRAY[%s], p_ack_groups => ARRAY[NULL]::int[], p_ack_leases => ARRAY[NULL]::uuid[], p_ack_txns => ARRAY[''m1''], p_required => ARRAY[%L, %L]::uuid[], p_n => 2)', v.a, v.m, v.l));
    ASSERT v_sum = 'ack 1 applied 1', v_sum;
    ASSERT EXISTS (SELECT FROM queen.batches WHERE broker = 1 AND n = 2), 'acks alone are recorded too';
END $$;

-- replay: the whole of it stored and settled is success with the stored ids; part of it is not
DO $$
DECLARE v at; v_sum text; v_call text;
BEGIN
    SELECT * INTO v FROM at;
    v_call := format('test.transaction(ARRAY[%s], ARRAY[E''1\n2''], ARRAY[E''r1\nr2''], ARRAY[%s], ARRAY[%s], ARRAY[%L]::uuid[], ARRAY[''m3''], p_n => 3)', v.b, v.a, v.g, v.l);
    v_sum := test.summary(v_call);
    ASSERT v_sum = 'ack 1 applied 3 released, push 1 queued 3', v_sum;
    v_sum := test.summary(replace(v_call, 'p_n => 3', 'p_n => 4'));
    ASSERT v_sum = 'ack 1 settled 3, push 1 duplicate 3:0, push 1 duplicate 4:1', v_sum;
    PERFORM test.fails('SELECT ' || replace(replace(v_call, 'r2', 'r3'), 'p_n => 3', 'p_n => 5'), 'QN103');
    -- a push without an id cannot be known again: a retry must not push twice
    PERFORM test.fails('SELECT ' || replace(v_call, 'ARRAY[E''r1\nr2'']', 'ARRAY[NULL]::text[]'), 'QN103');
    ASSERT (SELECT max(seq) FROM queen.messages WHERE queue = 'out') = 4;
    -- pushes alone
    v_sum := test.summary(format('test.transaction(ARRAY[%s], ARRAY[E''1\n2''], ARRAY[E''r2\nr1''])', v.b));
    ASSERT v_sum = 'push 1 duplicate 4:0, push 1 duplicate 3:1', v_sum;
    PERFORM test.fails(format('SELECT test.transaction(ARRAY[%s], ARRAY[E''1\n2''], ARRAY[E''r2\nr9''])', v.b), 'QN104');
    -- acks alone
    v_sum := test.summary(format('test.transaction(p_ack_partitions => ARRAY[%s], p_ack_groups => ARRAY[%s], p_ack_leases => ARRAY[%L]::uuid[], p_ack_txns => ARRAY[''m1''])', v.a, v.g, v.l));
    ASSERT v_sum = 'ack 1 settled 1', v_sum;
END $$;

-- a replay that names no group, when nothing is left of its lease: known by its pushes, all of which are stored
DO $$
DECLARE v_in int := test.partition('swept'); v_out int := test.partition('swept.out'); v_g int := test.groupid('swept'); v_h int := test.groupid('swept', 'h');
    v_lease uuid := gen_random_uuid(); v_sum text; v_call text;
BEGIN
    PERFORM test.push(v_in, 3, E's0\ns1\ns2');
    PERFORM test.pop(v_in, v_h, gen_random_uuid(), 1);
    PERFORM test.pop(v_in, v_g, v_lease, 3);
    v_call := format('test.transaction(ARRAY[%s], ARRAY[E''1\n2''], ARRAY[E''w1\nw2''], ARRAY[%s, %s], ARRAY[NULL, NULL]::int[], ARRAY[%L, %L]::uuid[], ARRAY[''s0'', ''s2''])', v_out, v_in, v_in, v_lease, v_lease);
    v_sum := test.summary(v_call);
    ASSERT v_sum = 'ack 1 applied 0, ack 2 applied 2, push 1 queued 0', v_sum;
    PERFORM test.ack(v_in, v_g, v_lease, p_ends => true);
    PERFORM queen.sweep_progress(0, 0, 1000);
    ASSERT NOT EXISTS (SELECT FROM queen.progress WHERE lease_id = v_lease), 'the lease is not swept';
    v_sum := test.summary(v_call);
    ASSERT v_sum = 'ack 1 settled 0, ack 2 settled 2, push 1 duplicate 0:0, push 1 duplicate 1:1', v_sum;
    -- not one that pushes something else, or acks what nobody has settled, or nothing but acks
    PERFORM test.fails('SELECT ' || replace(v_call, 'w2', 'w3'), 'QN102');
    PERFORM test.fails('SELECT ' || replace(v_call, '''s2''', '''s1'''), 'QN102');
    PERFORM test.fails(format('SELECT test.transaction(p_ack_partitions => ARRAY[%s], p_ack_groups => ARRAY[NULL]::int[], p_ack_leases => ARRAY[%L]::uuid[], p_ack_txns => ARRAY[''s0''])', v_in, v_lease), 'QN102');
END $$;

-- failed, retry, cumulative; own id; a verdict given earlier in the lease
DO $$
DECLARE v at; v_sum text; v_own text; v_lease uuid := gen_random_uuid(); d test.delivery;
BEGIN
    SELECT * INTO v FROM at;
    SELECT id::text INTO v_own FROM queen.messages WHERE queue = 'in' AND seq = 4;
    d := test.pop(v.a, v.h, v_lease, 10);
    ASSERT d.seqs = '{0,1,2,3,4,5}';
    PERFORM test.ack(v.a, v.h, v_lease, p_items => '{1}', p_kinds => '{failed}');
    PERFORM test.fails(format('SELECT test.transaction(p_ack_partitions => ARRAY[%s], p_ack_groups => ARRAY[%s], p_ack_leases => ARRAY[%L]::uuid[], p_ack_txns => ARRAY[''m1''])', v.a, v.h, v_lease), 'QN103');
    v_sum := test.summary(format('test.transaction(p_ack_partitions => ARRAY[%s, %s, %s], p_ack_groups => ARRAY[%s, %s, %s], p_ack_leases => ARRAY[%L, NULL, NULL]::uuid[], '
        'p_ack_txns => ARRAY[''m3'', %L, ''m5''], p_ack_kinds => ARRAY[''completed'', ''failed'', ''retry''], p_ack_cumulatives => ARRAY[true, false, false])',
        v.a, v.a, v.a, v.h, v.h, v.h, v_lease, v_own));
    ASSERT v_sum = 'ack 1 applied 3 released, ack 2 applied 4 released, ack 3 applied 5 released', v_sum;
    d := test.pop(v.a, v.h, v_lease, 10);
    ASSERT d.seqs = '{1,4,5}' AND d.failures = '{1,1,0}', d::text;
    -- cumulative beside every verdict: all before the message is settled, the message has its own
    v_sum := test.summary(format('test.transaction(p_ack_partitions => ARRAY[%s], p_ack_groups => ARRAY[%s], p_ack_leases => ARRAY[%L]::uuid[], '
        'p_ack_txns => ARRAY[%L], p_ack_kinds => ARRAY[''failed''], p_ack_cumulatives => ARRAY[true])', v.a, v.h, v_lease, v_own));
    ASSERT v_sum = 'ack 1 applied 4', v_sum;
    ASSERT (test.state(v.a, v.h)).cursor = 4 AND (test.state(v.a, v.h)).attempt_counts = '{2}', test.state(v.a, v.h)::text;
    PERFORM test.ack(v.a, v.h, v_lease, p_ends => true);
    ASSERT (test.pop(v.a, v.h, v_lease, 10)).seqs = '{4,5}';
    v_sum := test.summary(format('test.transaction(p_ack_partitions => ARRAY[%s], p_ack_groups => ARRAY[%s], p_ack_leases => ARRAY[%L]::uuid[], '
        'p_ack_txns => ARRAY[''m5''], p_ack_kinds => ARRAY[''retry''], p_ack_cumulatives => ARRAY[true])', v.a, v.h, v_lease));
    ASSERT v_sum = 'ack 1 applied 5 released', v_sum;
    ASSERT (test.pop(v.a, v.h, v_lease, 10)).seqs = '{5}';
END $$;
