-- Advisory locks live in the two-integer space: a class of ours, then the partition's id.
CREATE OR REPLACE FUNCTION queen.partition_lock_class()
RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT 1903521134 $$;

-- Waits for the locks of all given partitions, in the one order everybody uses. With one of them in hand it waits only
-- for as long as a commit may take: then it gives all back, waits for the busy one alone, and begins anew. Somebody who
-- keeps one partition locked must not stop those who push to the others.
CREATE OR REPLACE FUNCTION queen.lock_partitions(p_partitions int[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_class   CONSTANT int := queen.partition_lock_class();
    v_sorted  CONSTANT int[] := ARRAY(SELECT DISTINCT id FROM unnest(p_partitions) AS id ORDER BY id);
    v_timeout CONSTANT text := current_setting('lock_timeout');
    v_short   CONSTANT text := CASE WHEN v_timeout = '0' OR v_timeout::interval > interval '100 ms' THEN '100ms' ELSE v_timeout END;
    v_next    int;
BEGIN
    IF cardinality(v_sorted) <= 1 THEN
        PERFORM pg_advisory_xact_lock(v_class, v_sorted[1]);
        RETURN;
    END IF;
    LOOP
        BEGIN  -- a subtransaction: its locks are given back if it fails
            PERFORM set_config('lock_timeout', v_short, true);
            FOREACH v_next IN ARRAY v_sorted LOOP
                PERFORM pg_advisory_xact_lock(v_class, v_next);
            END LOOP;
            PERFORM set_config('lock_timeout', v_timeout, true);
            RETURN;
        EXCEPTION WHEN lock_not_available THEN NULL;
        END;
        BEGIN
            PERFORM pg_advisory_xact_lock(v_class, v_next);
            RAISE EXCEPTION 'the partition is free' USING ERRCODE = 'QN099';
        EXCEPTION WHEN SQLSTATE 'QN099' THEN NULL;  -- given back as well
        END;
    END LOOP;
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
