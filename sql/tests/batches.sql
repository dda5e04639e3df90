-- tail_batches and resolve_batch: outcome unknown, and what others have written (design 3). Each statement
-- below is a transaction of its own.
CREATE TABLE since (s pg_snapshot);
INSERT INTO since SELECT next_since FROM queen.tail_batches(NULL, 10) WHERE broker IS NULL;
SELECT test.push_segments(ARRAY[test.partition('tail', 'a'), test.partition('tail', 'b')], ARRAY['1', '2'], p_broker => 5, p_n => 1);
SELECT queen.push('tail', '{}', 'a');
SELECT test.push(test.partition('tail', 'a'));   -- without a key: nobody can tail it
DO $$
DECLARE v_rows text; v record;
BEGIN
    SELECT string_agg(format('%s %s %s', t.broker, t.partitions, t.base_seqs), ', ' ORDER BY t.broker) INTO v_rows
    FROM since, queen.tail_batches(since.s, 10) t WHERE t.broker IS NOT NULL;
    ASSERT v_rows = '0 {1} {1}, 5 {1,2} {0,0}', coalesce(v_rows, 'nothing to tail');
    SELECT t.* INTO STRICT v FROM since, queen.tail_batches(since.s, 10) t WHERE t.broker IS NULL;
    ASSERT NOT v.truncated AND (SELECT count(*) FROM queen.tail_batches(v.next_since, 10)) = 1, 'nothing new since';
    SELECT t.* INTO STRICT v FROM since, queen.tail_batches(since.s, 1) t WHERE t.broker IS NULL;
    ASSERT v.truncated;
    -- committed, and where; never, and then really never
    SELECT * INTO STRICT v FROM queen.resolve_batch(5, 1);
    ASSERT v.committed AND v.partitions = '{1,2}' AND v.base_seqs = '{0,0}', 'a push that committed: ' || v.committed;
    SELECT * INTO STRICT v FROM queen.resolve_batch(5, 2);
    ASSERT NOT v.committed;
    PERFORM test.fails('SELECT test.push_segments(ARRAY[1], ARRAY[''1''], p_broker => 5, p_n => 2)', '23505');
    SELECT * INTO STRICT v FROM queen.resolve_batch(5, 2);
    ASSERT v.committed AND v.partitions = '{}';
END $$;
