-- requires: raise_versions
-- Deletes a group on one queue, or on all and with its families (p_queue NULL). With p_metadata its record goes too, and its
-- next pop decides its start anew; without, it begins again at its recorded start, and keeps its dead letters and what was
-- redriven for it. Either way the old id is gone at once (a late ack finds nothing to move); sweep_orphans removes the rows.
CREATE OR REPLACE FUNCTION queen.delete_group(p_group text, p_queue text, p_metadata boolean)
RETURNS TABLE (deleted_partitions bigint, groups int) LANGUAGE plpgsql AS $$
DECLARE
    v_old    queen.groups;
    v_new    int;
    v_queues int[] := '{}';
BEGIN
    deleted_partitions := 0;
    groups := 0;
    FOR v_old IN SELECT g.* FROM queen.groups g JOIN queen.queues q ON q.id = g.queue_id
                 WHERE g.name = p_group AND (p_queue IS NULL OR q.name = p_queue) ORDER BY g.id FOR UPDATE OF g LOOP
        groups := groups + 1;
        deleted_partitions := deleted_partitions + (
            SELECT count(*) FROM queen.partitions p WHERE p.queue_id = v_old.queue_id
            AND EXISTS (SELECT FROM queen.progress r WHERE r.partition_id = p.id AND r.group_id = v_old.id));
        DELETE FROM queen.groups g WHERE g.id = v_old.id;
        INSERT INTO queen.deletions (kind, queue_id, object_id) VALUES ('group', v_old.queue_id, v_old.id);
        PERFORM queen.announce(ARRAY[-v_old.queue_id]);
        v_queues := v_queues || v_old.queue_id;
        IF NOT p_metadata THEN
            INSERT INTO queen.groups (queue_id, name, start_mode, start_time, created_at)
            VALUES (v_old.queue_id, v_old.name, v_old.start_mode, v_old.start_time, v_old.created_at)
            RETURNING id INTO v_new;
            INSERT INTO queen.group_starts (group_id, partition_id, seq)
            SELECT v_new, b.partition_id, b.seq FROM queen.group_starts b WHERE b.group_id = v_old.id;
            UPDATE queen.dead_letters d SET group_id = v_new
            FROM queen.partitions p
            WHERE p.queue_id = v_old.queue_id AND d.partition_id = p.id AND d.group_id = v_old.id;
            UPDATE queen.hidden_messages h SET only_group = v_new
            FROM queen.partitions p
            WHERE p.queue_id = v_old.queue_id AND p.hides AND h.partition_id = p.id AND h.only_group = v_old.id;
        END IF;
    END LOOP;
    IF p_metadata THEN
        DELETE FROM queen.early_groups e WHERE e.group_name = p_group AND (p_queue IS NULL OR e.queue_name = p_queue);
    END IF;
    IF p_metadata AND p_queue IS NULL THEN
        DELETE FROM queen.family_queues j USING queen.families f WHERE f.group_name = p_group AND j.family_id = f.id;
        DELETE FROM queen.families f WHERE f.group_name = p_group;
        IF FOUND THEN PERFORM queen.announce(ARRAY[0]); END IF;
    END IF;
    PERFORM queen.raise_versions(v_queues);
    RETURN NEXT;
END $$;
