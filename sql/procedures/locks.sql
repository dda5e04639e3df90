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

-- Lanes that have no row of progress yet are locked by number: a class of ours, then a hash of partition and group. Two
-- lanes with the same hash only wait for each other.
CREATE OR REPLACE FUNCTION queen.lane_lock_class()
RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT 1903521135 $$;

CREATE OR REPLACE FUNCTION queen.lane_lock_key(p_partition_id int, p_group_id int)
RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT hashint8((p_partition_id::bigint << 32) | p_group_id) $$;

-- Whoever writes minutes shares this lock; who adds them up to hours has it alone.
CREATE OR REPLACE FUNCTION queen.hours_lock_class()
RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT 1903521136 $$;

-- The newest row of a lane, locked until the transaction ends, or NULL, with the lane's lock held instead. For those who
-- change a lane and may wait for it: append_lanes passes over what is locked here, and so never waits for a row that
-- is not committed. The row is a guess like any other: another may have followed it meanwhile.
CREATE OR REPLACE FUNCTION queen.lock_lane(p_partition_id int, p_group_id int)
RETURNS queen.progress LANGUAGE plpgsql AS $$
DECLARE
    v_row queen.progress;
BEGIN
    SELECT r.* INTO v_row FROM queen.progress r
    WHERE r.partition_id = p_partition_id AND r.group_id = p_group_id ORDER BY r.epoch DESC LIMIT 1 FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM pg_advisory_xact_lock(queen.lane_lock_class(), queen.lane_lock_key(p_partition_id, p_group_id));
    END IF;
    RETURN v_row;
END $$;
