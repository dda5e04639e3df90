-- What the hot tables have and do not have (design 3 and 4).

-- No foreign keys: a row of a deleted queue is an orphan for a while, and no insert locks its parent.
DO $$
BEGIN
    ASSERT NOT EXISTS (SELECT FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
                       WHERE c.contype = 'f' AND t.relnamespace = 'queen'::regnamespace
                         AND t.relname IN ('partitions', 'segments', 'dedup', 'dedup_runs', 'dedup_hashes', 'progress', 'group_starts', 'dead_letters', 'batches')),
        'a foreign key on a hot table';
END $$;

-- Leases are found by their id through an index, however many there are.
DO $$
DECLARE v_plan text := ''; v_line text;
BEGIN
    SET LOCAL enable_seqscan = off;
    FOR v_line IN EXPLAIN SELECT FROM queen.progress r WHERE r.lease_id = '00000000-0000-4000-8000-000000000001' LOOP
        v_plan := v_plan || v_line || ' ';
    END LOOP;
    ASSERT v_plan LIKE '%progress_lease%', 'no index on lease_id: ' || v_plan;
END $$;
