-- tail_batches and resolve_batch: outcome unknown, and what others have written (design 3). Each statement
-- below is a transaction of its own.
CREATE TABLE since (s pg_snapshot);
CREATE FUNCTION test.tail(p_limit int = 10) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(format('%s %s', t.queue_id, t.partitions), ', ' ORDER BY t.queue_id, t.partitions)
    FROM since, queen.tail_batches(since.s, p_limit, 70, 79) t WHERE t.queue_id IS NOT NULL
$$;
CREATE PROCEDURE test.mark() LANGUAGE sql AS $$
    DELETE FROM since;
    INSERT INTO since SELECT next_since FROM queen.tail_batches(NULL, 10, 70, 79) WHERE queue_id IS NULL;
$$;
SELECT test.partition('tail', 'a'), test.partition('tail', 'b'), test.partition('tail.other');
CALL test.mark();
SELECT test.push_segments(ARRAY[1, 2], ARRAY['1', '2'], p_broker => 5, p_n => 1);
SELECT queen.push('tail', '{}', 'a');
SELECT test.push(1);                                                          -- without a key: nobody can tail it
SELECT test.push_segments(ARRAY[3], ARRAY['1'], p_broker => 75, p_n => 1);    -- our own process, which knows
SELECT test.push_segments(ARRAY[3], ARRAY['1'], p_broker => -75, p_n => 1);   -- its transactions
INSERT INTO queen.batches (broker, n) VALUES (5, -1), (6, -1);                -- heartbeats tell nothing
DO $$
DECLARE v record;
BEGIN
    ASSERT test.tail() IS NOT DISTINCT FROM '1 {1,2}', coalesce(test.tail(), 'nothing to tail');
    SELECT t.* INTO STRICT v FROM since, queen.tail_batches(since.s, 10, 70, 79) t WHERE t.queue_id IS NULL;
    ASSERT NOT v.truncated AND (SELECT count(*) FROM queen.tail_batches(v.next_since, 10, 70, 79)) = 1, 'nothing new since';
    SELECT t.* INTO STRICT v FROM since, queen.tail_batches(since.s, 1, 70, 79) t;  -- one row: none is told
    ASSERT v.queue_id IS NULL AND v.truncated AND v.next_since IS NOT NULL;
    -- committed, and where; never, and then really never
    SELECT * INTO STRICT v FROM queen.resolve_batch(5, 1);
    ASSERT v.committed AND v.partitions = '{1,2}' AND v.base_seqs = '{0,0}', 'a push that committed: ' || v.committed;
    SELECT * INTO STRICT v FROM queen.resolve_batch(5, 2);
    ASSERT NOT v.committed;
    PERFORM test.fails('SELECT test.push_segments(ARRAY[1], ARRAY[''1''], p_broker => 5, p_n => 2)', '23505');
    SELECT * INTO STRICT v FROM queen.resolve_batch(5, 2);
    ASSERT NOT v.committed, 'asked again: the row of the first question is not the batch';
END $$;

-- What makes a partition ready without a push is told too: partitions, or the whole queue.
CREATE PROCEDURE test.told(p_sql text, p_expected text) LANGUAGE plpgsql AS $$
BEGIN
    CALL test.mark();
    COMMIT;
    EXECUTE p_sql;
    COMMIT;
    ASSERT test.tail() IS NOT DISTINCT FROM p_expected, format('%s: %s', p_sql, coalesce(test.tail(), 'nothing'));
END $$;
SELECT test.groupid('tail', 'g');
-- a lease says nothing; that it has ended does, by an ack, by giving it back, within a transaction
CALL test.told('SELECT test.pop(1, test.groupid(''tail'', ''g''), ''01890000-0000-7000-8000-000000000001'')', NULL);
CALL test.told('SELECT test.ack(1, test.groupid(''tail'', ''g''), ''01890000-0000-7000-8000-000000000001'', p_ends => true)', '1 {1}');
CALL test.told('SELECT test.ack(1, test.groupid(''tail'', ''g''), ''01890000-0000-7000-8000-000000000001'', p_ends => true)', NULL);
CALL test.told('SELECT test.pop(1, test.groupid(''tail'', ''g''), ''01890000-0000-7000-8000-000000000001'', p_batch => 1)', NULL);
CALL test.told('SELECT test.transaction(ARRAY[2], ARRAY[''1''], ARRAY[''t''], ARRAY[1], ARRAY[test.groupid(''tail'', ''g'')],
    ARRAY[''01890000-0000-7000-8000-000000000001'']::uuid[], ARRAY[''-''], p_ack_seqs => ARRAY[0], p_n => 9)', '1 {1,2}');
CALL test.told('SELECT queen.seek(''tail'', ''g'', ''b'', ''offset'', NULL, 0, 0, 100)', '1 {2}');
CALL test.told('SELECT queen.seek(''tail'', ''g'', NULL, ''end'', NULL, NULL, 0, 100)', '1 {1,2}');
CALL test.told('SELECT queen.set_subscription(''g'', now())', '1 ');
CALL test.told('SELECT queen.set_subscription(''nobody'', now())', NULL);
CALL test.told('SELECT queen.configure(''tail'', NULL, NULL, ''{"delayedProcessing": 5}'', false)', '1 ');
CALL test.told('SELECT queen.configure(''tail'', NULL, NULL, ''{"delayedProcessing": 5, "leaseTime": 7}'', false)', NULL);
CALL test.told('SELECT queen.configure(''tail'', NULL, NULL, ''{}'', true)', '1 ');
CALL test.told('SELECT queen.delete_group(''g'', ''tail'', false)', '1 ');
CALL test.told('SELECT queen.delete_group(''g'', NULL, true)', '1 ');
CALL test.told('SELECT queen.delete_queue(''tail.other'')', '2 ');
