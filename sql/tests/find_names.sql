-- Looking names up: one probe each of a unique index, whatever the statistics say and whenever the plan was made.
-- Counted are the blocks of tables and indexes that this transaction has looked at: a probe is the height of its
-- index, and the row.
CREATE FUNCTION test.blocks_read() RETURNS bigint LANGUAGE sql AS $$
    SELECT sum(pg_stat_get_xact_blocks_fetched(o.oid))::bigint
    FROM (SELECT unnest('{queen.queues,queen.partitions,queen.groups}'::regclass[]) AS oid) t
    CROSS JOIN LATERAL (SELECT t.oid UNION ALL SELECT i.indexrelid FROM pg_index i WHERE i.indrelid = t.oid) o $$;

-- Everything that looks up names, of queue `big`: 50 partitions and groups that are there, and 50 that are not.
CREATE FUNCTION test.look_up() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_queues     CONSTANT text[] := array_fill('big'::text, '{100}');
    v_names      CONSTANT text[] := ARRAY(SELECT CASE WHEN i % 2 = 0 THEN test.name(i) ELSE 'missing ' || i END FROM generate_series(1, 100) i);
    v_probe      CONSTANT int := 5;
    v_before     bigint := test.blocks_read();
BEGIN
    PERFORM queen.find_partitions(v_queues, v_names);
    ASSERT test.blocks_read() - v_before <= 2 * 100 * v_probe, 'partitions: ' || test.blocks_read() - v_before || ' blocks read';
    v_before := test.blocks_read();
    PERFORM queen.find_pop_names(v_queues, v_names, v_names);
    ASSERT test.blocks_read() - v_before <= 3 * 100 * v_probe, 'pops: ' || test.blocks_read() - v_before || ' blocks read';
    v_before := test.blocks_read();
    PERFORM queen.ensure_group(CASE WHEN i % 2 = 0 THEN 'big' ELSE 'missing' END, v_names[2 * i], NULL, NULL) FROM generate_series(1, 50) i;
    ASSERT test.blocks_read() - v_before <= 2 * 50 * v_probe, 'groups: ' || test.blocks_read() - v_before || ' blocks read';
END $$;

CREATE FUNCTION test.name(p_number int) RETURNS text LANGUAGE sql AS $$ SELECT 'name ' || p_number || repeat(' ', 100) $$;

CREATE FUNCTION test.fill_others(p_count int) RETURNS void LANGUAGE sql AS $$
    WITH made AS (INSERT INTO queen.queues (name, namespace, task)
                  SELECT 'other ' || gen_random_uuid(), 'n', 't' FROM generate_series(1, p_count) RETURNING id)
    INSERT INTO queen.partitions (queue_id, name) SELECT id, 'Default' FROM made $$;

CREATE FUNCTION test.fill_big() RETURNS void LANGUAGE sql AS $$
    INSERT INTO queen.partitions (queue_id, name)
    SELECT q.id, test.name(i) FROM queen.queues q, generate_series(1, 10000) i WHERE q.name = 'big';
    INSERT INTO queen.groups (queue_id, name, start_mode)
    SELECT q.id, test.name(i), 'all' FROM queen.queues q, generate_series(1, 10000) i WHERE q.name = 'big' $$;

ALTER TABLE queen.queues SET (autovacuum_enabled = off);
ALTER TABLE queen.partitions SET (autovacuum_enabled = off);
ALTER TABLE queen.groups SET (autovacuum_enabled = off);

-- what is found
DO $$
DECLARE v_p int := test.partition('a', 'p'); v_g int := test.groupid('a', 'g'); v text;
BEGIN
    SELECT string_agg(format('%s %s %s %s', f.ordinal, q.name, f.partition_id = v_p, f.encrypted), ', ' ORDER BY f.ordinal) INTO v
    FROM queen.find_partitions('{a,a,b,a}', '{p,q,p,p}') f LEFT JOIN queen.queues q ON q.id = f.queue_id;
    ASSERT v = '1 a t f, 2 a  f, 3   , 4 a t f', v;
    PERFORM queen.ensure_group('b', 'g', 'all', NULL);
    SELECT string_agg(format('%s %s %s %s %s', f.ordinal, q.name, f.group_id = v_g, f.partition_id = v_p, f.early), ', ' ORDER BY f.ordinal)
    INTO v FROM queen.find_pop_names('{a,a,a,b,b}', '{g,g,h,g,h}', ARRAY['p', NULL, 'p', 'p', NULL]) f
    LEFT JOIN queen.queues q ON q.id = f.queue_id;
    ASSERT v = '1 a t t f, 2 a t  f, 3 a  t f, 4    t, 5    f', v;
    ASSERT NOT EXISTS (SELECT FROM queen.groups g WHERE g.name = 'h'), 'a look-up makes nothing';
END $$;

-- planned when the tables were tiny, in a session that keeps its plans
SELECT test.partition('big', 'first');
VACUUM ANALYZE queen.queues, queen.partitions, queen.groups;
DO $$ BEGIN FOR i IN 1..20 LOOP PERFORM test.look_up(); END LOOP; END $$;
SELECT test.fill_big(), test.fill_others(10000);
DO $$ BEGIN PERFORM test.look_up(); END $$;
-- planned since, with the statistics of then
DISCARD PLANS;
DO $$ BEGIN PERFORM test.look_up(); END $$;

-- one queue has grown since every queue had one partition
TRUNCATE queen.queues, queen.partitions, queen.groups;
SELECT test.partition('big', 'first'), test.fill_others(10000);
VACUUM ANALYZE queen.queues, queen.partitions, queen.groups;
SELECT test.fill_big();
DISCARD PLANS;
DO $$ BEGIN FOR i IN 1..10 LOOP PERFORM test.look_up(); END LOOP; END $$;

-- and with statistics that are right
VACUUM ANALYZE queen.queues, queen.partitions, queen.groups;
DO $$ BEGIN PERFORM test.look_up(); END $$;
