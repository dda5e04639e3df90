-- requires: drop_stale_progress, lane_numbers, locks
-- Removes what some group of a queue has still to consume (without groups: everything), from one partition or from all
-- (p_partition NULL). What every group has passed stays, for whoever seeks back and for the search for duplicates.
-- Each partition is cleared at one moment, between two pushes: its end and its clock stay where they are, so no offset
-- and no id is used twice, and what is pushed later is delivered to everybody. Leases on the partition end.
-- In steps of at most about p_limit segments: call again with next_after, next_from and next_upto until next_after is
-- NULL; at first 0, NULL, NULL. With p_upto the step goes on with partition p_after.
-- Answers how many messages were pending.
CREATE OR REPLACE FUNCTION queen.clear_queue(p_queue text, p_partition text, p_after int, p_from bigint, p_upto bigint, p_limit int)
RETURNS TABLE (cleared bigint, next_after int, next_from bigint, next_upto bigint) LANGUAGE plpgsql AS $$
DECLARE
    v_queue_id int;
    v_id       int;
    v_done     int[] := '{}';
    v_left     int := p_limit;
    v          record;
BEGIN
    cleared := 0;
    SELECT q.id INTO v_queue_id FROM queen.queues q WHERE q.name = p_queue;
    FOR v_id IN SELECT p.id FROM queen.partitions p
                WHERE p.queue_id = v_queue_id AND p.id > p_after - CASE WHEN p_upto IS NULL THEN 0 ELSE 1 END
                  AND (p_partition IS NULL OR p.name = p_partition)
                ORDER BY p.id LOOP
        next_after := v_done[cardinality(v_done)];
        EXIT WHEN v_left <= 0;
        -- Waits for a push only while it holds nothing that others wait for.
        IF NOT pg_try_advisory_xact_lock(queen.partition_lock_class(), v_id) THEN
            EXIT WHEN cardinality(v_done) > 0;
            PERFORM pg_advisory_xact_lock(queen.partition_lock_class(), v_id);
        END IF;
        -- Statements of their own: their snapshots must be younger than the lock.
        IF v_id = p_after THEN
            v := queen.remove_messages(v_id, p_from, p_upto, v_left);
        ELSE
            v := queen.clear_partition(v_id, v_left);
            cleared := cleared + v.pending;
        END IF;
        v_done := v_done || v_id;
        IF v.next_from IS NOT NULL THEN
            next_after := v_id;
            next_from := v.next_from;
            next_upto := v.upto;
            EXIT;
        END IF;
        v_left := v_left - 1 - v.removed;
        next_after := NULL;
    END LOOP;
    PERFORM queen.announce(v_done);
    RETURN NEXT;
END $$;

-- One partition, whose lock is held: moves the groups behind its end, then removes.
CREATE OR REPLACE FUNCTION queen.clear_partition(p_partition_id int, p_limit int, OUT pending bigint, OUT removed int,
                                                 OUT next_from bigint, OUT upto bigint)
LANGUAGE plpgsql AS $$
DECLARE
    v_from  bigint;
    v_group int;
    v_state record;
    v_epoch bigint;
BEGIN
    SELECT coalesce(min(l.cursor), min(l.first)), min(l.seq_end),
           queen.partition_pending(min(l.amount) FILTER (WHERE l.group_id IS NULL),
               array_agg(l.cursor) FILTER (WHERE l.group_id IS NOT NULL), array_agg(l.amount) FILTER (WHERE l.group_id IS NOT NULL),
               array_agg(l.settled) FILTER (WHERE l.group_id IS NOT NULL))
    INTO v_from, upto, pending
    FROM queen.lane_numbers(ARRAY[p_partition_id], NULL, clock_timestamp()) l;
    pending := coalesce(pending, 0);
    removed := 0;
    IF pending = 0 THEN RETURN; END IF;

    -- Also groups that have never been here: a first lease under way at this moment meets this row. As in seek, key
    -- by key, each until it is won.
    FOR v_group IN SELECT g.id FROM queen.groups g JOIN queen.partitions p ON p.queue_id = g.queue_id
                   WHERE p.id = p_partition_id ORDER BY g.id LOOP
        LOOP
            SELECT r.epoch, r.cursor INTO v_state FROM queen.progress r
            WHERE r.partition_id = p_partition_id AND r.group_id = v_group ORDER BY r.epoch DESC LIMIT 1;
            EXIT WHEN v_state.cursor >= upto;
            INSERT INTO queen.progress (partition_id, group_id, epoch, cursor, changed_at)
            VALUES (p_partition_id, v_group, coalesce(v_state.epoch, 0) + 1, upto, clock_timestamp())
            ON CONFLICT DO NOTHING RETURNING epoch INTO v_epoch;
            EXIT WHEN v_epoch IS NOT NULL
                AND cardinality(queen.drop_stale_progress(ARRAY[p_partition_id], ARRAY[v_group], ARRAY[v_epoch])) = 0;
        END LOOP;
    END LOOP;
    SELECT r.removed, r.next_from INTO removed, next_from FROM queen.remove_messages(p_partition_id, v_from, upto, p_limit) r;
END $$;

-- Removes the messages [p_from, p_upto) of a partition whose lock is held, at most about p_limit segments of them, from
-- the front; next_from: where to go on, NULL: nothing is left.
--   * a segment that begins before p_from is cut;
--   * the partition's newest segment is blanked, not deleted: the next push builds on its end and its clock;
--   * when messages before p_from are kept, the gap is noted as a hole.
CREATE OR REPLACE FUNCTION queen.remove_messages(p_partition_id int, p_from bigint, p_upto bigint, p_limit int,
                                                 OUT removed int, OUT next_from bigint, OUT upto bigint)
LANGUAGE plpgsql AS $$
DECLARE
    v_newest queen.segments.base_seq%TYPE;
    v_cut    record;
    v_last   bigint;
    v_base   bigint;
BEGIN
    upto := p_upto;
    SELECT s.base_seq INTO v_newest FROM queen.segments s WHERE s.partition_id = p_partition_id ORDER BY s.base_seq DESC LIMIT 1;
    SELECT s.base_seq, s.count, s.created_at INTO v_cut FROM queen.segments s
    WHERE s.partition_id = p_partition_id AND s.base_seq < p_from ORDER BY s.base_seq DESC LIMIT 1;
    IF v_cut.base_seq + v_cut.count > p_from THEN
        UPDATE queen.segments s
        SET count = p_from - s.base_seq, payloads = queen.first_lines(s.payloads, (p_from - s.base_seq)::int),
            txns = queen.first_lines(s.txns, (p_from - s.base_seq)::int), meta = queen.first_lines(s.meta, (p_from - s.base_seq)::int)
        WHERE s.partition_id = p_partition_id AND s.base_seq = v_cut.base_seq;
        IF v_cut.base_seq = v_newest THEN
            INSERT INTO queen.segments (partition_id, base_seq, count, created_at)
            VALUES (p_partition_id, p_from, v_cut.base_seq + v_cut.count - p_from,
                    v_cut.created_at + (p_from - v_cut.base_seq) * interval '1 microsecond');
            v_newest := p_from;
        END IF;
    END IF;

    -- what this step ends with
    SELECT max(s.base_seq + s.count), count(*) INTO v_last, removed
    FROM (SELECT x.base_seq, x.count FROM queen.segments x
          WHERE x.partition_id = p_partition_id AND x.base_seq >= p_from AND x.base_seq < p_upto
          ORDER BY x.base_seq LIMIT p_limit) s;
    v_last := coalesce(v_last, p_upto);
    IF v_last < p_upto AND removed = p_limit THEN next_from := v_last; ELSE v_last := p_upto; END IF;

    -- the gap, with the one before it that it touches
    v_base := coalesce((SELECT h.base_seq FROM queen.holes h WHERE h.partition_id = p_partition_id AND h.base_seq + h.count = p_from), p_from);
    IF NOT EXISTS (SELECT FROM queen.segments s
                   WHERE s.partition_id = p_partition_id AND s.base_seq < v_base AND s.payloads IS NOT NULL) THEN
        v_base := 0;
    END IF;
    DELETE FROM queen.holes h WHERE h.partition_id = p_partition_id AND h.base_seq >= v_base AND h.base_seq < v_last;
    IF v_base > 0 THEN
        INSERT INTO queen.holes (partition_id, base_seq, count) VALUES (p_partition_id, v_base, v_last - v_base);
    END IF;

    -- What is gone need not be hidden. A range that goes on behind this step is in the next one.
    DELETE FROM queen.hidden_messages h WHERE h.partition_id = p_partition_id AND h.from_seq >= p_from AND h.from_seq < v_last;
    UPDATE queen.hidden_messages h SET to_seq = p_from
    WHERE h.partition_id = p_partition_id AND h.from_seq < p_from AND h.to_seq > p_from;

    DELETE FROM queen.dedup d WHERE d.partition_id = p_partition_id AND d.seq >= p_from AND d.seq < v_last;
    UPDATE queen.dedup_runs r SET state = 'dropped'
    WHERE r.partition_id = p_partition_id AND r.from_seq >= v_base AND r.to_seq <= v_last AND r.state <> 'dropped';
    DELETE FROM queen.segments s
    WHERE s.partition_id = p_partition_id AND s.base_seq >= v_base AND s.base_seq < v_last AND s.base_seq <> v_newest;
    UPDATE queen.segments s SET payloads = NULL, txns = NULL, meta = NULL
    WHERE s.partition_id = p_partition_id AND s.base_seq = v_newest AND s.base_seq >= p_from AND s.base_seq < v_last
      AND s.payloads IS NOT NULL;
END $$;

CREATE OR REPLACE FUNCTION queen.first_lines(p_text text, p_count int) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    RETURN array_to_string((string_to_array(p_text, E'\n'))[1:p_count], E'\n');
END $$;
