-- requires: availability, drop_stale_progress, lane_numbers, locks, raise_versions
-- Removes what some group of a queue has still to consume (without groups: everything), from one partition or from all
-- (p_partition NULL). What every group has passed stays, for whoever seeks back and for the search for duplicates.
-- Each partition is cleared at one moment, between two pushes: its end and its clock stay where they are, so no offset
-- and no id is used twice, and what is pushed later is delivered to everybody. Leases on the partition end.
-- In steps of at most about p_limit segments: call again with next_after, next_from and next_upto until next_after is
-- NULL; at first 0, NULL, NULL. With p_upto the step goes on with partition p_after. What later steps are to remove is
-- hidden from everybody meanwhile, and when nobody asks for them, the next clear goes on with it.
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
        IF v_id > p_after THEN
            cleared := cleared + queen.clear_partition(v_id);
        END IF;
        v := queen.remove_cleared(v_id, v_left);
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
    IF cardinality(v_done) > 0 THEN PERFORM queen.raise_versions(ARRAY[v_queue_id]); END IF;
    RETURN NEXT;
END $$;

-- What is to be removed of a partition, and how many messages that is.
CREATE OR REPLACE FUNCTION queen.range_to_clear(p_partition_id int, OUT from_seq bigint, OUT to_seq bigint, OUT pending bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT coalesce(min(l.cursor), min(l.first)), min(l.seq_end),
           CASE WHEN count(l.group_id) = 0 THEN min(l.amount)
                ELSE queen.partition_pending(array_agg(l.cursor) FILTER (WHERE l.group_id IS NOT NULL),
                         array_agg(l.amount) FILTER (WHERE l.group_id IS NOT NULL),
                         array_agg(l.settled) FILTER (WHERE l.group_id IS NOT NULL)) END
    INTO from_seq, to_seq, pending
    FROM queen.lane_numbers(ARRAY[p_partition_id], NULL, clock_timestamp()) l;
    pending := coalesce(pending, 0);
END $$;

-- Appends the state of a lane once more, so that nobody else changes it until the end of this transaction. Also of a
-- group that has never been here: a first lease under way at this moment meets this row.
CREATE OR REPLACE FUNCTION queen.hold_lane(p_partition_id int, p_group_id int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_state queen.progress;
    v_epoch bigint;
BEGIN
    LOOP
        v_state := queen.lock_lane(p_partition_id, p_group_id);
        INSERT INTO queen.progress (partition_id, group_id, epoch, cursor, settled, failed, attempt_seqs, attempt_counts,
            lease_id, lease_until, lease_end, lease_seconds, deliveries, ready_at, window_end, changed_at)
        SELECT p_partition_id, p_group_id, coalesce(v_state.epoch, 0) + 1, coalesce(v_state.cursor, a.old_cursor, 0),
               v_state.settled, v_state.failed, v_state.attempt_seqs, v_state.attempt_counts, v_state.lease_id,
               v_state.lease_until, v_state.lease_end, v_state.lease_seconds, coalesce(v_state.deliveries, 0),
               v_state.ready_at, v_state.window_end, coalesce(v_state.changed_at, clock_timestamp())
        FROM (VALUES (p_group_id)) AS u(id)
        LEFT JOIN LATERAL queen.availability(p_partition_id, u.id, clock_timestamp()) a ON v_state.epoch IS NULL
        ON CONFLICT DO NOTHING RETURNING epoch INTO v_epoch;
        EXIT WHEN FOUND AND cardinality(queen.drop_stale_progress(ARRAY[p_partition_id], ARRAY[p_group_id], ARRAY[v_epoch])) = 0;
    END LOOP;
END $$;

-- One partition, whose lock is held: moves the groups behind its end, and notes what is to be removed. Answers how many
-- messages were pending.
CREATE OR REPLACE FUNCTION queen.clear_partition(p_partition_id int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_groups int[];
    v        record;
BEGIN
    v := queen.range_to_clear(p_partition_id);
    IF v.pending = 0 THEN RETURN 0; END IF;
    -- As in seek, key by key. Then again: what was consumed meanwhile is neither removed nor counted.
    v_groups := ARRAY(SELECT g.id FROM queen.groups g JOIN queen.partitions p ON p.queue_id = g.queue_id
                      WHERE p.id = p_partition_id ORDER BY g.id);
    PERFORM queen.hold_lane(p_partition_id, g.id) FROM unnest(v_groups) AS g(id);
    v := queen.range_to_clear(p_partition_id);
    IF v.pending = 0 THEN RETURN 0; END IF;

    INSERT INTO queen.progress (partition_id, group_id, epoch, cursor, changed_at)
    SELECT p_partition_id, g.id, r.epoch + 1, v.to_seq, clock_timestamp()
    FROM unnest(v_groups) AS g(id)
    CROSS JOIN LATERAL (
        SELECT x.epoch, x.cursor FROM queen.progress x WHERE x.partition_id = p_partition_id AND x.group_id = g.id
        ORDER BY x.epoch DESC LIMIT 1) r
    WHERE r.cursor < v.to_seq;

    DELETE FROM queen.hidden_messages h
    WHERE h.partition_id = p_partition_id AND h.from_seq >= v.from_seq AND h.from_seq < v.to_seq;
    UPDATE queen.hidden_messages h SET to_seq = v.from_seq
    WHERE h.partition_id = p_partition_id AND h.from_seq < v.from_seq AND h.to_seq > v.from_seq;
    INSERT INTO queen.hidden_messages (partition_id, from_seq, to_seq, only_group) VALUES (p_partition_id, v.from_seq, v.to_seq, -1);
    RETURN v.pending;
END $$;

-- Removes what is noted of a partition whose lock is held, at most about p_limit segments; next_from and upto: the range
-- to go on with, NULL: nothing is left.
CREATE OR REPLACE FUNCTION queen.remove_cleared(p_partition_id int, p_limit int, OUT removed int, OUT next_from bigint, OUT upto bigint)
LANGUAGE plpgsql AS $$
DECLARE
    v_note record;
    v_step record;
BEGIN
    removed := 0;
    FOR v_note IN SELECT h.from_seq, h.to_seq FROM queen.hidden_messages h
                  WHERE h.partition_id = p_partition_id AND h.only_group = -1 ORDER BY h.from_seq LOOP
        next_from := v_note.from_seq;
        upto := v_note.to_seq;
        EXIT WHEN removed >= p_limit;
        v_step := queen.remove_messages(p_partition_id, v_note.from_seq, v_note.to_seq, p_limit - removed);
        removed := removed + v_step.removed;
        next_from := v_step.next_from;
        EXIT WHEN next_from IS NOT NULL;
    END LOOP;
END $$;

-- Removes the messages [p_from, p_upto), a noted range, of a partition whose lock is held, at most about p_limit segments
-- of them, from the front; next_from: where to go on, NULL: nothing is left.
--   * a segment that begins before p_from is cut;
--   * the partition's newest segment is blanked, not deleted: the next push builds on its end and its clock;
--   * when messages before p_from are kept, the gap is noted as a hole.
CREATE OR REPLACE FUNCTION queen.remove_messages(p_partition_id int, p_from bigint, p_upto bigint, p_limit int,
                                                 OUT removed int, OUT next_from bigint)
LANGUAGE plpgsql AS $$
DECLARE
    v_newest queen.segments.base_seq%TYPE;
    v_cut    record;
    v_last   bigint;
    v_base   bigint;
BEGIN
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
    -- That something is left, the partition's row has to say. In the one order of locks it comes before the partition's
    -- lock, so it is not waited for: without it all is removed at once.
    IF v_last < p_upto AND removed = p_limit AND EXISTS (
        SELECT FROM queen.partitions p WHERE p.id = p_partition_id FOR NO KEY UPDATE SKIP LOCKED) THEN
        UPDATE queen.partitions p SET hides = true WHERE p.id = p_partition_id AND NOT p.hides;
        next_from := v_last;
    ELSE
        v_last := p_upto;
    END IF;

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

    DELETE FROM queen.hidden_messages h WHERE h.partition_id = p_partition_id AND h.from_seq = p_from;
    IF next_from IS NOT NULL THEN
        INSERT INTO queen.hidden_messages (partition_id, from_seq, to_seq, only_group) VALUES (p_partition_id, next_from, p_upto, -1);
    END IF;

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
