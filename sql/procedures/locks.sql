-- Advisory locks live in the two-integer space: a class of ours, then the partition's id.
CREATE OR REPLACE FUNCTION queen.partition_lock_class()
RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT 1903521134 $$;

-- Waits for the locks of all given partitions, in the one order everybody uses.
CREATE OR REPLACE FUNCTION queen.lock_partitions(p_partitions int[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(queen.partition_lock_class(), sorted.id)
    FROM (SELECT DISTINCT id FROM unnest(p_partitions) AS id ORDER BY id) AS sorted;
END $$;
