-- requires: availability, bits, drop_stale_progress, locks
-- Settles one message for one group, whoever holds its lease: the lease goes on without it, and ends when nothing
-- else is under it. Answers
--   settled   it was pending        ended: so was the lease, which has now ended
--   passed    it had been settled before
--   far       it is further behind the cursor than a bitmap reaches (10,000); nothing was done
--   gone      no such partition, queue or group
CREATE OR REPLACE FUNCTION queen.settle_message(p_partition_id int, p_group_id int, p_seq bigint,
                                                OUT state text, OUT failures int)
LANGUAGE plpgsql AS $$
DECLARE
    v_now      timestamptz;
    v_row      queen.progress;
    v_start    bigint;
    v_settled  bit varying;
    v_failed   bit varying;
    v_moved    int;
    v_span     int;
    v_live     boolean;
    v_ended    boolean;
    v_epoch    bigint;
BEGIN
    LOOP
        v_now := clock_timestamp();
        SELECT a.old_cursor INTO v_start FROM queen.availability(p_partition_id, p_group_id, v_now) a;
        IF NOT FOUND THEN state := 'gone'; RETURN; END IF;
        v_row := queen.lock_lane(p_partition_id, p_group_id);
        IF v_row.epoch IS NULL THEN
            v_row.epoch := 0; v_row.cursor := v_start; v_row.deliveries := 0;
            v_row.changed_at := (SELECT g.created_at FROM queen.groups g WHERE g.id = p_group_id);
        END IF;
        failures := coalesce(v_row.attempt_counts[array_position(v_row.attempt_seqs, p_seq)], 0);
        IF p_seq < v_row.cursor OR queen.bits_get(v_row.settled, p_seq - v_row.cursor) THEN state := 'passed'; RETURN; END IF;
        IF p_seq - v_row.cursor >= 10000 THEN state := 'far'; RETURN; END IF;

        v_settled := queen.bits_or(v_row.settled, (repeat('0', (p_seq - v_row.cursor)::int) || '1')::bit varying);
        v_moved := queen.bits_leading(v_settled);
        v_settled := queen.bits_from(v_settled, v_moved);
        v_failed := queen.bits_from(v_row.failed, v_moved);
        v_live := coalesce(v_row.lease_until > v_now, false);
        v_span := v_row.lease_end - v_row.cursor - v_moved;
        v_ended := v_live AND (v_span <= 0 OR bit_count(queen.bits_resize(queen.bits_or(v_settled, v_failed), v_span)) = v_span);
        SELECT array_agg(o.seq ORDER BY o.seq), array_agg(o.failures ORDER BY o.seq)
        INTO v_row.attempt_seqs, v_row.attempt_counts
        FROM unnest(v_row.attempt_seqs, v_row.attempt_counts) AS o(seq, failures) WHERE o.seq <> p_seq;

        INSERT INTO queen.progress (partition_id, group_id, epoch, cursor, settled, failed, attempt_seqs, attempt_counts,
            lease_id, lease_until, lease_end, lease_seconds, deliveries, ready_at, window_end, changed_at)
        VALUES (p_partition_id, p_group_id, v_row.epoch + 1, v_row.cursor + v_moved,
                CASE WHEN bit_count(v_settled) > 0 THEN v_settled END,
                CASE WHEN NOT v_ended AND bit_count(v_failed) > 0 THEN v_failed END, v_row.attempt_seqs, v_row.attempt_counts,
                CASE WHEN NOT v_ended THEN v_row.lease_id END, CASE WHEN NOT v_ended THEN v_row.lease_until END,
                CASE WHEN NOT v_ended THEN v_row.lease_end END, CASE WHEN NOT v_ended THEN v_row.lease_seconds END,
                CASE WHEN v_moved = 0 THEN v_row.deliveries WHEN v_live AND NOT v_ended THEN 1 ELSE 0 END,
                -- nothing that failed is left to wait for
                CASE WHEN v_row.attempt_seqs IS NOT NULL THEN v_row.ready_at END, v_row.window_end, v_row.changed_at)
        ON CONFLICT DO NOTHING
        RETURNING epoch INTO v_epoch;
        EXIT WHEN FOUND AND cardinality(queen.drop_stale_progress(ARRAY[p_partition_id], ARRAY[p_group_id], ARRAY[v_epoch])) = 0;
    END LOOP;
    state := CASE WHEN v_ended THEN 'ended' ELSE 'settled' END;
END $$;
