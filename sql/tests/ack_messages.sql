-- ack_messages: I4 settled is settled; verdicts are per message, in whatever order they come.

-- [ok, failed, ok]: the failed one comes again, alone and first; then the rest goes on
DO $$
DECLARE
    v_id int := test.partition('ack.mixed'); v_group int := test.groupid('ack.mixed'); v_lease uuid := gen_random_uuid();
    v record; d test.delivery;
BEGIN
    PERFORM test.push(v_id, 4);
    PERFORM test.pop(v_id, v_group, v_lease, 3);
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, '{0,2}', '{1}', '{failed}');
    ASSERT v.state = 'applied' AND v.cursor = 0 AND v.new_cursor = 1 AND v.released AND v.lease_end = 3, v::text;
    d := test.pop(v_id, v_group, v_lease, 10);
    ASSERT d.seqs = '{1,3}' AND d.failures = '{1,0}', d::text;
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, '{1,3}');
    ASSERT v.released AND v.new_cursor = 4;
    ASSERT (test.state(v_id, v_group)).attempt_seqs IS NULL, 'counts of settled messages are forgotten';
    ASSERT test.available(v_id, v_group) = 'empty';
END $$;

-- Out of order and twice: 3,1,2,3; the cursor never goes back and the lease ends with the last
DO $$
DECLARE
    v_id int := test.partition('ack.order'); v_group int := test.groupid('ack.order'); v_lease uuid := gen_random_uuid(); v record;
BEGIN
    PERFORM test.push(v_id, 4);
    PERFORM test.pop(v_id, v_group, v_lease);
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, '{3}');
    ASSERT v.new_cursor = 0 AND NOT v.released, 'acking the last of a batch completes only it';
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, '{3}');
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, '{3}');
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, '{3}');
    ASSERT v.settled = '0001' AND NOT v.released, 'four acks of one message are one';
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, '{1}');
    ASSERT v.new_cursor = 0;
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, '{0}');
    ASSERT v.new_cursor = 2 AND NOT v.released;
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, '{0,1}');
    ASSERT v.state = 'applied' AND v.cursor = 2 AND v.new_cursor = 2 AND NOT v.released;
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, '{2}');
    ASSERT v.new_cursor = 4 AND v.released;
    -- after the end: refused, but the reply shows that the message is settled
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, '{2}');
    ASSERT v.state = 'refused' AND v.cursor = 4;
END $$;

-- cumulative: everything delivered before, but not what failed in this lease, nor beyond the lease
DO $$
DECLARE
    v_id int := test.partition('ack.cumulative'); v_group int := test.groupid('ack.cumulative'); v_lease uuid := gen_random_uuid(); v record;
BEGIN
    PERFORM test.push(v_id, 20);
    PERFORM test.pop(v_id, v_group, v_lease, 10);
    PERFORM test.ack(v_id, v_group, v_lease, p_items => '{1}', p_kinds => '{failed}');
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, p_items => '{3}', p_kinds => '{failed}', p_cumulative => 4);
    ASSERT v.new_cursor = 1 AND v.failed = '01' AND NOT v.released, v::text;
    ASSERT (test.state(v_id, v_group)).settled::text LIKE '0101%' AND (test.state(v_id, v_group)).failed = B'101';
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, p_cumulative => 0);
    ASSERT v.new_cursor = 1 AND NOT v.released, 'behind the cursor';
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, p_cumulative => 15);
    ASSERT v.new_cursor = 1 AND NOT v.released AND (test.state(v_id, v_group)).settled::text LIKE '0101%'
        AND bit_count((test.state(v_id, v_group)).settled) = 2, 'a message beyond the lease settles nothing';
    -- of several callers: each judged alone (I7)
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, p_items => '{6,15,5}', p_kinds => '{cumulative,cumulative,cumulative}');
    ASSERT bit_count((test.state(v_id, v_group)).settled) = 4, 'up to 6';
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, p_cumulative => 9);
    ASSERT v.released AND v.new_cursor = 1;
    ASSERT (test.pop(v_id, v_group, p_batch => 4)).seqs = '{1,3,10,11}';
END $$;

-- retry hands back uncounted and ends the lease; on a settled message, or one not delivered, it does nothing
DO $$
DECLARE
    v_id int := test.partition('ack.retry'); v_group int := test.groupid('ack.retry'); v_lease uuid := gen_random_uuid();
    v record; d test.delivery;
BEGIN
    PERFORM test.push(v_id, 10);
    PERFORM test.pop(v_id, v_group, v_lease, 4);
    PERFORM test.ack(v_id, v_group, v_lease, '{0,2}');
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, p_retry_from => 0);
    ASSERT v.state = 'applied' AND NOT v.released;
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, p_retry_from => 2);
    ASSERT NOT v.released;
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, p_retry_from => 7);
    ASSERT NOT v.released;
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, p_items => '{0,7}', p_kinds => '{retry,retry}');
    ASSERT NOT v.released;
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, '{1}', p_items => '{0,3}', p_kinds => '{retry,retry}');
    ASSERT v.released AND v.new_cursor = 3, v::text;
    d := test.pop(v_id, v_group, v_lease, 2);
    ASSERT d.seqs = '{3,4}' AND d.failures = '{0,0}' AND (test.state(v_id, v_group)).deliveries = 1;
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, p_retry_from => 4);
    ASSERT v.released AND v.new_cursor = 3 AND (test.state(v_id, v_group)).deliveries = 0;
END $$;

-- retryLimit: n failures are redelivered, the next goes to the dead letters; 0 = the first
DO $$
DECLARE
    v_id int := test.partition('ack.limit'); v_group int := test.groupid('ack.limit'); v_lease uuid := gen_random_uuid();
    v record; d test.delivery;
BEGIN
    UPDATE queen.queues SET retry_limit = 2 WHERE name = 'ack.limit';
    PERFORM test.push(v_id, 2, E'x\n');
    FOR i IN 0..2 LOOP
        d := test.pop(v_id, v_group, v_lease);
        ASSERT d.seqs = '{0,1}' AND d.failures[1] = i, d::text;
        SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, p_items => '{0}', p_kinds => '{failed}', p_ends => true);
        ASSERT (i = 2) = (v.dead_seqs IS NOT NULL) AND v.new_cursor = CASE WHEN i = 2 THEN 1 ELSE 0 END, v::text;
    END LOOP;
    ASSERT (SELECT (seq, txn, payload, error, retry_count) = (0, 'x', '{"n":0}', 'error of 0', 3)
            FROM queen.dead_letters WHERE partition_id = v_id);
    UPDATE queen.queues SET retry_limit = 0 WHERE name = 'ack.limit';
    PERFORM test.pop(v_id, v_group, v_lease);
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, p_items => '{1}', p_kinds => '{failed}');
    ASSERT v.dead_seqs = '{1}' AND v.released AND v.new_cursor = 2;
    ASSERT (SELECT retry_count = 1 AND txn IS NULL FROM queen.dead_letters WHERE partition_id = v_id AND seq = 1);
END $$;

-- dlq at once; a second verdict on the same message in one call does not fail the call (I7); first wins
DO $$
DECLARE
    v_id int := test.partition('ack.dlq'); v_group int := test.groupid('ack.dlq'); v_lease uuid := gen_random_uuid(); v record;
BEGIN
    PERFORM test.push(v_id, 4);
    PERFORM test.pop(v_id, v_group, v_lease);
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, '{0}', '{1,1,2,2,9}', '{dlq,dlq,failed,dlq,dlq}');
    ASSERT v.dead_seqs = '{1}' AND v.new_cursor = 2 AND NOT v.released, v::text;
    ASSERT (SELECT error = 'error of 1' AND retry_count = 0 FROM queen.dead_letters WHERE partition_id = v_id);
    -- failed in this lease: a later verdict under it is too late
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, '{2}', '{2}', '{dlq}');
    ASSERT v.dead_seqs IS NULL AND v.new_cursor = 2 AND v.failed = '1', v::text;
    ASSERT (test.state(v_id, v_group)).attempt_counts = '{1}', 'counted once';
    -- settled: too late as well
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, p_items => '{1,0}', p_kinds => '{failed,dlq}');
    ASSERT (SELECT count(*) FROM queen.dead_letters WHERE partition_id = v_id) = 1;
    -- a message that dies again after a seek replaces its letter
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, p_ends => true);
    INSERT INTO queen.progress (partition_id, group_id, epoch, cursor, changed_at) VALUES (v_id, v_group, 100, 0, now());
    PERFORM test.pop(v_id, v_group, v_lease);
    PERFORM test.ack(v_id, v_group, v_lease, p_items => '{1}', p_kinds => '{dlq}');
    ASSERT (SELECT count(*) FROM queen.dead_letters WHERE partition_id = v_id) = 1;
END $$;

-- cumulative on a message that has its verdict: the ones before it are settled all the same, and the lease ends
DO $$
DECLARE
    v_id int := test.partition('ack.again'); v_group int := test.groupid('ack.again'); v_lease uuid := gen_random_uuid(); v record;
BEGIN
    PERFORM test.push(v_id, 6);
    PERFORM test.pop(v_id, v_group, v_lease, 5);
    PERFORM test.ack(v_id, v_group, v_lease, '{3}', '{0,4}', '{failed,failed}');
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, '{3}', '{3}', '{cumulative}');
    ASSERT v.settled = '00010' AND v.released, v::text;
    ASSERT (test.pop(v_id, v_group, v_lease, 9)).seqs = '{0,4,5}';
    PERFORM test.ack(v_id, v_group, v_lease, p_items => '{5}', p_kinds => '{failed}');
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, p_items => '{5,5}', p_kinds => '{dlq,cumulative}');
    ASSERT v.released AND v.new_cursor = 5 AND v.dead_seqs IS NULL, 'what failed in this lease stays so';
END $$;

-- retry with all before it settled (`before`): not the message itself, and nothing when it is not under the lease
DO $$
DECLARE
    v_id int := test.partition('ack.before'); v_group int := test.groupid('ack.before'); v_lease uuid := gen_random_uuid();
    v record; d test.delivery;
BEGIN
    PERFORM test.push(v_id, 10);
    PERFORM test.pop(v_id, v_group, v_lease, 5);
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, p_items => '{5,5}', p_kinds => '{retry,before}');
    ASSERT v.state = 'applied' AND v.new_cursor = 0 AND NOT v.released, 'beyond the lease: ' || v::text;
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, p_items => '{0}', p_kinds => '{before}');
    ASSERT v.new_cursor = 0 AND NOT v.released, 'nothing is before the first';
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, '{4}', '{1,3,3}', '{failed,retry,before}');
    ASSERT v.released AND v.new_cursor = 1, v::text;
    d := test.pop(v_id, v_group, v_lease, 3);
    ASSERT d.seqs = '{1,3,5}' AND d.failures = '{1,0,0}', d::text;
    -- a message that has its verdict is not handed back, but those before it are settled
    PERFORM test.ack(v_id, v_group, v_lease, '{3}');
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, p_items => '{3,3}', p_kinds => '{retry,before}');
    ASSERT v.new_cursor = 5 AND NOT v.released, v::text;
    -- the cumulative ack of one caller is not cut short by another's retry of the same message
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, '{5}', '{5,5,5}', '{retry,before,cumulative}');
    ASSERT v.released AND v.new_cursor = 6, v::text;
END $$;

-- retryDelay counts from the failure, holds up its partition only, and does not outlive a delivery
DO $$
DECLARE
    v_id int := test.partition('ack.delay'); v_other int := test.partition('ack.delay', 'other'); v_group int := test.groupid('ack.delay');
    v_lease uuid := gen_random_uuid(); v record;
BEGIN
    UPDATE queen.queues SET retry_delay = 30000 WHERE name = 'ack.delay';
    PERFORM test.push(v_id, 3); PERFORM test.push(v_other, 1);
    PERFORM test.pop(v_id, v_group, v_lease, 2);
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, p_items => '{1}', p_kinds => '{failed}');
    ASSERT NOT v.released AND v.ready_in_ms BETWEEN 29000 AND 30000, v::text;
    ASSERT (test.pop(v_id, v_group)).state = 'held';
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, '{0}');
    ASSERT v.released AND v.ready_in_ms BETWEEN 29000 AND 30000, v::text;
    ASSERT (test.pop(v_id, v_group)).state = 'retry', 'nothing later of the partition overtakes it';
    ASSERT (test.pop(v_other, v_group)).state = 'leased';
    PERFORM test.age(v_id, interval '31 s');
    ASSERT (test.pop(v_id, v_group, v_lease)).seqs = '{1,2}';
    ASSERT (test.state(v_id, v_group)).ready_at IS NULL;
    -- a dead letter delays nobody
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, '{2}', '{1}', '{dlq}');
    ASSERT v.released AND v.ready_in_ms IS NULL;
END $$;

-- A whole failed batch comes again as a batch
DO $$
DECLARE
    v_id int := test.partition('ack.batch'); v_group int := test.groupid('ack.batch'); v_lease uuid := gen_random_uuid();
    v record; d test.delivery;
BEGIN
    PERFORM test.push(v_id, 5);
    PERFORM test.pop(v_id, v_group, v_lease, 3);
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, p_items => '{2,0,1}', p_kinds => '{failed,failed,failed}');
    ASSERT v.released AND v.new_cursor = 0 AND v.dead_seqs IS NULL;
    d := test.pop(v_id, v_group, v_lease, 3);
    ASSERT d.seqs = '{0,1,2}' AND d.failures = '{1,1,1}';
END $$;

-- Acks beyond the lease, under a stale lease, without a lease, of a group that never popped
DO $$
DECLARE
    v_id int := test.partition('ack.stale'); v_group int := test.groupid('ack.stale'); v_old uuid := gen_random_uuid();
    v_new uuid := gen_random_uuid(); v record;
BEGIN
    PERFORM test.push(v_id, 6);
    SELECT * INTO v FROM test.ack(v_id, v_group, v_old, '{0}');
    ASSERT v.state = 'refused' AND v.cursor IS NULL;
    PERFORM test.pop(v_id, v_group, v_old, 3);
    SELECT * INTO v FROM test.ack(v_id, v_group, v_old, '{0,4}', '{5}', '{dlq}');
    ASSERT v.state = 'applied' AND v.new_cursor = 1 AND v.lease_end = 3 AND v.dead_seqs IS NULL;
    PERFORM test.age(v_id, interval '301 s');
    -- I3: expired but not taken over: refused all the same
    SELECT * INTO v FROM test.ack(v_id, v_group, v_old, '{1}');
    ASSERT v.state = 'refused' AND v.cursor = 1;
    PERFORM test.pop(v_id, v_group, v_new, 6);
    SELECT * INTO v FROM test.ack(v_id, v_group, v_old, '{1,2}', p_ends => true);
    ASSERT v.state = 'refused' AND v.cursor = 1 AND (test.state(v_id, v_group)).lease_id = v_new;
    -- no lease id: the current lease
    SELECT * INTO v FROM test.ack(v_id, v_group, NULL, '{1,2,4}');
    ASSERT v.state = 'applied' AND v.new_cursor = 3;
    SELECT * INTO v FROM test.ack(v_id, v_group, v_old, '{4}');
    ASSERT v.state = 'refused' AND v.cursor = 3 AND substr(v.settled, 2, 1) = '1', 'settled already: visible in the refusal';
    SELECT * INTO v FROM test.ack(v_id, v_group, v_new, '{3,5}');
    ASSERT v.released;
    SELECT * INTO v FROM test.ack(v_id, v_group, NULL, '{5}');
    ASSERT v.state = 'refused' AND v.cursor = 6, 'no lease is there to act on';
    SELECT * INTO v FROM test.ack(v_id, -1, v_new, '{5}');
    ASSERT v.state = 'gone', 'a group that is not there: ' || v.state;
    SELECT * INTO v FROM test.ack(-1, v_group, v_new, '{5}');
    ASSERT v.state = 'gone';
END $$;

-- Settled marks longer than a shorter later lease: the cursor may pass the lease's end
DO $$
DECLARE
    v_id int := test.partition('ack.past'); v_group int := test.groupid('ack.past'); v_lease uuid := gen_random_uuid(); v record;
BEGIN
    PERFORM test.push(v_id, 8);
    PERFORM test.pop(v_id, v_group, v_lease, 6);
    PERFORM test.ack(v_id, v_group, v_lease, '{1,2,3,5}', p_ends => true);
    ASSERT (test.pop(v_id, v_group, v_lease, 1)).lease_end = 1;
    SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, '{0}');
    ASSERT v.released AND v.new_cursor = 4;
    ASSERT (test.pop(v_id, v_group, v_lease, 10)).seqs = '{4,6,7}';
END $$;

-- Many keys in one call: refused and gone ones leave the others applied (I7); the same key twice is asked again
DO $$
DECLARE
    v_a int := test.partition('ack.many', 'a'); v_b int := test.partition('ack.many', 'b'); v_group int := test.groupid('ack.many');
    v_la uuid := gen_random_uuid(); v_lb uuid := gen_random_uuid(); v_rows text;
BEGIN
    PERFORM test.push(v_a, 2); PERFORM test.push(v_b, 2);
    PERFORM test.pop(v_a, v_group, v_la); PERFORM test.pop(v_b, v_group, v_lb);
    SELECT string_agg(format('%s %s %s', r.ordinal, r.state, r.new_cursor), ', ' ORDER BY r.ordinal) INTO v_rows
    FROM queen.ack_messages(3, 30, ARRAY[v_b, -5, v_a, v_b, v_a], ARRAY[v_group, v_group, -1, v_group, v_group],
        ARRAY[v_lb, v_la, v_la, v_lb, v_lb], '{0,0,0,1,0}', '{1,1,1,1,1}', array_fill(NULL::bigint, '{5}'),
        array_fill(NULL::bigint, '{5}'), array_fill(false, '{5}'), '{1,4,2}', '{1,1,0}', '{failed,failed,dlq}', '{e,f,g}') r;
    ASSERT v_rows = '1 applied 1, 2 gone , 3 gone , 4 again , 5 refused ', v_rows;
    ASSERT EXISTS (SELECT FROM queen.batches WHERE broker = 3 AND n = 30), 'no row in batches';
    ASSERT (test.state(v_b, v_group)).attempt_counts = '{1}';
    ASSERT (SELECT count(*) FROM queen.ack_messages(3, NULL, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')) = 0;
END $$;

-- Random consumers of one partition against a model: what is completed or dead never comes again, what is not does,
-- in order, and the failure counts are each message's own.
DO $$
DECLARE
    v_id int := test.partition('ack.random'); v_group int := test.groupid('ack.random'); v_lease uuid; d test.delivery;
    v_settled boolean[] := '{}'; v_fails int[] := '{}'; v_verdicts text[]; v_done bigint[]; v_items bigint[]; v_kinds text[];
    v_seq bigint; v_end int := 0; v record; v_calls int; v_failed_now bigint[]; v_verdict text; v_expected bigint[]; v_rounds int := 0;
BEGIN
    PERFORM test.seed();
    UPDATE queen.queues SET retry_limit = 2 WHERE name = 'ack.random';
    LOOP
        v_rounds := v_rounds + 1;
        IF v_end < 300 THEN
            v_end := v_end + 1 + (random() * 12)::int;
            PERFORM test.push(v_id, v_end - cardinality(v_settled));
            WHILE cardinality(v_settled) < v_end LOOP v_settled := v_settled || false; v_fails := v_fails || 0; END LOOP;
        END IF;
        v_lease := gen_random_uuid();
        d := test.pop(v_id, v_group, v_lease, 1 + (random() * 15)::int);
        EXIT WHEN d.state = 'empty';
        ASSERT d.state = 'leased', d::text;
        v_expected := ARRAY(SELECT i - 1 FROM generate_subscripts(v_settled, 1) i WHERE NOT v_settled[i] ORDER BY i LIMIT cardinality(d.seqs));
        ASSERT d.seqs = v_expected, format('%s instead of %s', d.seqs, v_expected);
        ASSERT d.failures = ARRAY(SELECT v_fails[s + 1] FROM unnest(d.seqs) s), format('failures %s', d.failures);
        v_failed_now := '{}';
        FOR attempt IN 1..(1 + (random() * 3)::int) LOOP
            v_done := '{}'; v_items := '{}'; v_kinds := '{}';
            FOREACH v_seq IN ARRAY d.seqs LOOP
                v_verdict := (ARRAY['ok', 'ok', 'ok', 'failed', 'dlq', 'none', 'none', 'none'])[1 + floor(random() * 8)::int];
                IF v_verdict = 'ok' THEN v_done := v_done || v_seq; END IF;
                IF v_verdict IN ('failed', 'dlq') THEN v_items := v_items || v_seq; v_kinds := v_kinds || v_verdict; END IF;
                CONTINUE WHEN v_verdict = 'none' OR v_settled[v_seq + 1] OR v_seq = ANY (v_failed_now);
                IF v_verdict = 'failed' THEN
                    v_fails[v_seq + 1] := v_fails[v_seq + 1] + 1;
                    IF v_fails[v_seq + 1] > 2 THEN v_settled[v_seq + 1] := true; ELSE v_failed_now := v_failed_now || v_seq; END IF;
                ELSE v_settled[v_seq + 1] := true; END IF;
            END LOOP;
            SELECT * INTO v FROM test.ack(v_id, v_group, v_lease, v_done, v_items, v_kinds);
            ASSERT v.state = 'applied', v::text;
            ASSERT v.new_cursor = (SELECT coalesce(min(i) FILTER (WHERE NOT v_settled[i]), v_end + 1) - 1 FROM generate_subscripts(v_settled, 1) i);
            ASSERT v.released = (SELECT bool_and(v_settled[s + 1] OR s = ANY (v_failed_now)) FROM unnest(d.seqs) s);
            EXIT WHEN v.released;
        END LOOP;
        PERFORM test.age(v_id, interval '301 s');
    END LOOP;
    ASSERT (SELECT bool_and(s) FROM unnest(v_settled) s) AND v_rounds > 20;
END $$;
