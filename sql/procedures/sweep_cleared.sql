-- Goes on with clears that nobody goes on with: removes what clear_queue has hidden in the next partition behind p_after,
-- at most about p_limit segments. The partitions such a clear had not come to keep what they hold: who asked for it was
-- not told that it is done. A clear under way is only helped. A partition that is in use is left for the next time.
-- Answers how many segments were removed, and where to go on; next_after NULL: nothing is left behind p_after.
CREATE OR REPLACE FUNCTION queen.sweep_cleared(p_after int, p_limit int, OUT removed int, OUT next_after int) LANGUAGE plpgsql AS $$
DECLARE
    v_id   int;
    v_step record;
BEGIN
    removed := 0;
    SELECT h.partition_id INTO v_id FROM queen.hidden_messages h
    WHERE h.only_group = -1 AND h.partition_id > p_after ORDER BY h.partition_id LIMIT 1;
    IF NOT FOUND THEN RETURN; END IF;
    next_after := v_id;
    IF NOT pg_try_advisory_xact_lock(queen.partition_lock_class(), v_id) THEN RETURN; END IF;
    v_step := queen.remove_cleared(v_id, p_limit);
    removed := v_step.removed;
    IF v_step.next_from IS NOT NULL THEN next_after := v_id - 1; END IF;
    PERFORM queen.announce(ARRAY[v_id]);
    PERFORM queen.raise_versions(ARRAY(SELECT p.queue_id FROM queen.partitions p WHERE p.id = v_id));
END $$;
