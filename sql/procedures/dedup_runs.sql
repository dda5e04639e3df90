-- requires: locks
-- Where transactionIds without a time inside are found. The log holds them, one per line, and is searched itself
-- where it is new; what is older is covered by runs (queen.dedup_runs): sorted hashes with the places of their ids.
-- A run is made of segments (index_untimed), and sixteen runs of a level are merged into one of the next
-- (merge_untimed), so their number grows with the logarithm of the ids. A hash only nominates: an id counts as found
-- when it stands in the stored line. So what runs hold of messages that are gone does no harm.
--
-- The functions say how they are to be planned: their callers may be anybody, and row estimates mean nothing here.
--
-- Runs are made of committed segments without the partition's lock: all segments before a committed one are
-- committed (design 3). Of two who would make or merge runs of a partition one goes on, the other leaves it.

CREATE OR REPLACE FUNCTION queen.dedup_lock_class()
RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT 1903521136 $$;

-- The seed of the hashes; NULL: the runs were made on a server that hashes in another way.
CREATE OR REPLACE FUNCTION queen.dedup_seed()
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT k.seed FROM queen.dedup_key k WHERE k.proof = hashtextextended('queen', k.seed));
END $$;

-- Up to which offset the segments of a partition are covered by runs.
CREATE OR REPLACE FUNCTION queen.runs_end(p_partition_id int)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce((SELECT max(r.to_seq) FROM queen.dedup_runs r WHERE r.partition_id = p_partition_id AND r.state = 'ready'), 0);
END $$;

-- Where ids without a time are stored in a partition, outside of [p_known_from, p_known_to). p_lines says what to
-- call each of p_txns in the answer.
CREATE OR REPLACE FUNCTION queen.find_untimed(p_partition_id int, p_txns text[], p_lines int[],
                                              p_known_from bigint, p_known_to bigint)
RETURNS TABLE (line int, seq bigint) LANGUAGE plpgsql STABLE ROWS 1 SET jit = off SET enable_seqscan = off AS $$
DECLARE
    v_seed bigint := queen.dedup_seed();
    v_tail bigint := CASE WHEN v_seed IS NULL THEN 0 ELSE queen.runs_end(p_partition_id) END;
BEGIN
    RETURN QUERY
    WITH asked AS MATERIALIZED (
        SELECT u.txn COLLATE "C" AS txn, u.line, hashtextextended(u.txn COLLATE "C", v_seed) AS hash
        FROM unnest(p_txns, p_lines) AS u(txn, line)
    ), run AS MATERIALIZED (
        SELECT r.from_seq, r.level FROM queen.dedup_runs r
        WHERE r.partition_id = p_partition_id AND r.state = 'ready' AND v_seed IS NOT NULL
          AND (r.from_seq < p_known_from OR r.to_seq > p_known_to)
    ), nominated AS MATERIALIZED (
        SELECT a.line, a.txn, r.from_seq + n.place AS seq
        FROM run r CROSS JOIN asked a
        CROSS JOIN LATERAL (
            SELECT h.hashes, h.places FROM queen.dedup_hashes h
            WHERE h.partition_id = p_partition_id AND h.from_seq = r.from_seq AND h.level = r.level AND h.first_hash <= a.hash
            ORDER BY h.first_hash DESC LIMIT 1) c
        CROSS JOIN LATERAL unnest(c.hashes, c.places) AS n(hash, place)
        WHERE c.hashes[width_bucket(a.hash, c.hashes)] = a.hash AND n.hash = a.hash
    ), tail AS MATERIALIZED (
        SELECT g.base_seq, g.txns FROM queen.segments g
        WHERE g.partition_id = p_partition_id AND g.base_seq >= greatest(v_tail, p_known_to) AND g.untimed
        UNION ALL
        SELECT g.base_seq, g.txns FROM queen.segments g
        WHERE g.partition_id = p_partition_id AND g.base_seq >= v_tail AND g.base_seq < least(p_known_from, p_known_to) AND g.untimed
    )
    SELECT n.line, n.seq FROM nominated n
    CROSS JOIN LATERAL (
        SELECT g.base_seq, g.txns FROM queen.segments g
        WHERE g.partition_id = p_partition_id AND g.base_seq <= n.seq ORDER BY g.base_seq DESC LIMIT 1) s
    WHERE split_part(s.txns, E'\n', (n.seq - s.base_seq)::int + 1) = n.txn
    UNION ALL
    SELECT a.line, t.base_seq + l.line - 1
    FROM tail t CROSS JOIN LATERAL string_to_table(t.txns, E'\n') WITH ORDINALITY AS l(txn, line)
    JOIN asked a ON a.txn = l.txn;
END $$;

-- Sorted hashes and their places as the rows of a run. Equal hashes stay together: a probe looks at one row.
CREATE OR REPLACE FUNCTION queen.store_hashes(p_partition_id int, p_from_seq bigint, p_level int, p_hashes bigint[], p_places int[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO queen.dedup_hashes (partition_id, from_seq, level, first_hash, hashes, places)
    SELECT p_partition_id, p_from_seq, p_level, p_hashes[c.first], p_hashes[c.first : c.next - 1], p_places[c.first : c.next - 1]
    FROM (SELECT b.first, lead(b.first, 1, cardinality(p_hashes) + 1) OVER (ORDER BY b.first) AS next
          FROM (SELECT DISTINCT CASE WHEN i = 1 THEN 1 ELSE width_bucket(p_hashes[i - 1], p_hashes) + 1 END AS first
                FROM generate_series(1, cardinality(p_hashes), 128) i) b
          WHERE b.first <= cardinality(p_hashes)) c;
END $$;

-- Makes a run of the first segments behind the runs of a partition, if they are enough: so many segments, or 8192
-- ids. At most 1024 segments and about 16384 ids at once. Returns whether it did; then there may be more.
CREATE OR REPLACE FUNCTION queen.index_untimed(p_partition_id int, p_segments int DEFAULT 64)
RETURNS boolean LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
DECLARE
    v_ids_max CONSTANT int := 8192;
    v_seed   bigint := queen.dedup_seed();
    v_range  record;
    v_hashes bigint[];
    v_places int[];
BEGIN
    IF v_seed IS NULL OR NOT pg_try_advisory_xact_lock(queen.dedup_lock_class(), p_partition_id) THEN RETURN false; END IF;
    SELECT min(g.base_seq) AS from_seq, max(g.base_seq + g.count) AS to_seq, count(*) AS segments, max(g.ids) AS ids INTO v_range
    FROM (SELECT s.base_seq, s.count, row_number() OVER w AS place,
                 sum(CASE WHEN s.untimed THEN s.count ELSE 0 END) OVER w AS ids
          FROM (SELECT x.base_seq, x.count, x.untimed FROM queen.segments x
                WHERE x.partition_id = p_partition_id AND x.base_seq >= queen.runs_end(p_partition_id)
                ORDER BY x.base_seq LIMIT 1024) s WINDOW w AS (ORDER BY s.base_seq)) g
    WHERE g.place = 1 OR g.ids < v_ids_max * 2;
    IF v_range.segments < p_segments AND v_range.ids < v_ids_max OR v_range.segments = 0 THEN RETURN false; END IF;
    -- A run that was dropped may begin with the same segment, blank now: first that one goes.
    IF EXISTS (SELECT FROM queen.dedup_runs r
               WHERE r.partition_id = p_partition_id AND r.from_seq = v_range.from_seq AND r.level = 1) THEN RETURN false; END IF;

    SELECT array_agg(x.hash), array_agg(x.place) INTO v_hashes, v_places
    FROM (SELECT hashtextextended(t.txn COLLATE "C", v_seed) AS hash, (s.base_seq - v_range.from_seq + t.line - 1)::int AS place
          FROM queen.segments s CROSS JOIN LATERAL string_to_table(s.txns, E'\n') WITH ORDINALITY AS t(txn, line)
          WHERE s.partition_id = p_partition_id AND s.base_seq >= v_range.from_seq AND s.base_seq < v_range.to_seq
            AND s.untimed AND t.txn <> ''
          ORDER BY hash) x;
    PERFORM queen.store_hashes(p_partition_id, v_range.from_seq, 1, v_hashes, v_places);
    INSERT INTO queen.dedup_runs (partition_id, from_seq, level, to_seq, ids, state)
    VALUES (p_partition_id, v_range.from_seq, 1, v_range.to_seq, coalesce(cardinality(v_hashes), 0), 'ready');
    PERFORM queen.plan_merge(p_partition_id, 1);
    RETURN true;
END $$;

-- Sixteen runs of a level are to become one; merge_untimed finds the plan and carries it out.
-- REQUIRES: the caller holds the lock of the partition's runs
CREATE OR REPLACE FUNCTION queen.plan_merge(p_partition_id int, p_level int)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO queen.dedup_runs (partition_id, from_seq, level, to_seq, ids, state, parts)
    SELECT p_partition_id, min(r.from_seq), p_level + 1, max(r.to_seq), sum(r.ids), 'building', greatest(1, ceil(sum(r.ids) / 8192.0))
    FROM queen.dedup_runs r
    WHERE r.partition_id = p_partition_id AND r.level = p_level AND r.state = 'ready'
      AND NOT EXISTS (SELECT FROM queen.dedup_runs b
                      WHERE b.partition_id = p_partition_id AND b.level = p_level + 1 AND b.state = 'building')
    HAVING count(*) >= 16 AND max(r.to_seq) - min(r.from_seq) < 2147483647
    ON CONFLICT DO NOTHING;  -- one that is dropped has still to go
END $$;

-- One short step of what is to be done for the runs of all partitions: a range of hashes of a run that is being
-- built, or some rows of one that is dropped. Returns whether there was anything: then call again.
CREATE OR REPLACE FUNCTION queen.merge_untimed()
RETURNS boolean LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
DECLARE
    v_rows_max CONSTANT int := 500;
    v_run  queen.dedup_runs;
    v_rows int;
BEGIN
    IF queen.dedup_seed() IS NULL THEN  -- restored on another kind of server: what is there cannot be searched
        TRUNCATE queen.dedup_runs, queen.dedup_hashes;
        UPDATE queen.dedup_key k SET proof = hashtextextended('queen', k.seed);
        RETURN true;
    END IF;
    FOR v_run IN SELECT r.* FROM queen.dedup_runs r WHERE r.state <> 'ready'
                 ORDER BY r.partition_id, r.from_seq, r.level LIMIT 100 LOOP
        CONTINUE WHEN NOT pg_try_advisory_xact_lock(queen.dedup_lock_class(), v_run.partition_id);
        -- A statement of its own: another may have gone on with it just before the lock.
        SELECT r.* INTO v_run FROM queen.dedup_runs r
        WHERE r.partition_id = v_run.partition_id AND r.from_seq = v_run.from_seq AND r.level = v_run.level AND r.state <> 'ready';
        CONTINUE WHEN NOT FOUND;
        IF v_run.state = 'building' THEN
            PERFORM queen.build_part(v_run);
            RETURN true;
        END IF;
        DELETE FROM queen.dedup_hashes h WHERE (h.partition_id, h.from_seq, h.level, h.first_hash) IN (
            SELECT x.partition_id, x.from_seq, x.level, x.first_hash FROM queen.dedup_hashes x
            WHERE x.partition_id = v_run.partition_id AND x.from_seq = v_run.from_seq AND x.level = v_run.level LIMIT v_rows_max);
        GET DIAGNOSTICS v_rows = ROW_COUNT;
        IF v_rows < v_rows_max THEN
            DELETE FROM queen.dedup_runs r
            WHERE r.partition_id = v_run.partition_id AND r.from_seq = v_run.from_seq AND r.level = v_run.level;
        END IF;
        RETURN true;
    END LOOP;
    RETURN false;
END $$;

-- The next range of hashes of a run that is being built, merged from the runs it is to replace. What retention has
-- removed is left out. With the last range the run is ready, and they are dropped.
-- REQUIRES: the caller holds the lock of the partition's runs
CREATE OR REPLACE FUNCTION queen.build_part(p_run queen.dedup_runs)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_width  CONSTANT numeric := 18446744073709551616.0 / p_run.parts;
    v_low    CONSTANT bigint := -9223372036854775808 + trunc(v_width * p_run.built);
    -- the last of the range
    v_high   CONSTANT bigint := CASE WHEN p_run.built + 1 < p_run.parts
                                     THEN -9223372036854775808 + trunc(v_width * (p_run.built + 1)) - 1 ELSE 9223372036854775807 END;
    v_oldest bigint;
    v_hashes bigint[];
    v_places int[];
BEGIN
    SELECT s.base_seq INTO v_oldest FROM queen.segments s WHERE s.partition_id = p_run.partition_id ORDER BY s.base_seq LIMIT 1;
    SELECT array_agg(m.hash), array_agg(m.place) INTO v_hashes, v_places
    FROM (SELECT n.hash, (r.from_seq - p_run.from_seq + n.place)::int AS place
          FROM queen.dedup_runs r
          CROSS JOIN LATERAL (
              SELECT h.hashes, h.places FROM queen.dedup_hashes h
              WHERE h.partition_id = r.partition_id AND h.from_seq = r.from_seq AND h.level = r.level
                AND h.first_hash <= v_high
                AND h.first_hash >= coalesce((SELECT max(b.first_hash) FROM queen.dedup_hashes b
                                              WHERE b.partition_id = r.partition_id AND b.from_seq = r.from_seq AND b.level = r.level
                                                AND b.first_hash <= v_low), v_low)
              OFFSET 0) c
          CROSS JOIN LATERAL unnest(c.hashes, c.places) AS n(hash, place)
          WHERE r.partition_id = p_run.partition_id AND r.level = p_run.level - 1 AND r.state = 'ready'
            AND r.from_seq >= p_run.from_seq AND r.to_seq <= p_run.to_seq
            AND n.hash BETWEEN v_low AND v_high AND r.from_seq + n.place >= v_oldest
          ORDER BY n.hash) m;
    PERFORM queen.store_hashes(p_run.partition_id, p_run.from_seq, p_run.level, v_hashes, v_places);
    UPDATE queen.dedup_runs r
    SET built = p_run.built + 1, state = CASE WHEN p_run.built + 1 = p_run.parts THEN 'ready' ELSE 'building' END
    WHERE r.partition_id = p_run.partition_id AND r.from_seq = p_run.from_seq AND r.level = p_run.level;
    IF p_run.built + 1 < p_run.parts THEN RETURN; END IF;
    UPDATE queen.dedup_runs r SET state = 'dropped'
    WHERE r.partition_id = p_run.partition_id AND r.level = p_run.level - 1 AND r.state = 'ready'
      AND r.from_seq >= p_run.from_seq AND r.to_seq <= p_run.to_seq;
    PERFORM queen.plan_merge(p_run.partition_id, p_run.level - 1);  -- those that came meanwhile
    PERFORM queen.plan_merge(p_run.partition_id, p_run.level);
END $$;
