-- The group of that name on a queue, made at its first pop with the start it asks for then; later
-- pops find the record and it wins. No row: the queue does not exist; the group's start is kept by
-- name, and since nothing was pushed yet it means "from the beginning".
--   p_mode  all, new or time (with p_time)
CREATE OR REPLACE FUNCTION queen.ensure_group(p_queue text, p_group text, p_mode text, p_time timestamptz)
RETURNS TABLE (queue_id int, group_id int, created boolean) LANGUAGE plpgsql AS $$
DECLARE
    v_queue_id int;
    v_group_id int;
    v_early    queen.early_groups;
BEGIN
    SELECT q.id, g.id INTO v_queue_id, v_group_id
    FROM queen.queues q LEFT JOIN queen.groups g ON g.queue_id = q.id AND g.name = p_group
    WHERE q.name = p_queue;
    IF v_queue_id IS NULL THEN
        INSERT INTO queen.early_groups (queue_name, group_name, start_time)
        VALUES (p_queue, p_group, CASE WHEN p_mode = 'time' THEN p_time END)
        ON CONFLICT DO NOTHING;
        RETURN;
    END IF;
    IF v_group_id IS NOT NULL THEN
        RETURN QUERY SELECT v_queue_id, v_group_id, false;
        RETURN;
    END IF;

    DELETE FROM queen.early_groups e
    WHERE e.queue_name = p_queue AND e.group_name = p_group RETURNING e.* INTO v_early;
    INSERT INTO queen.groups (queue_id, name, start_mode, start_time)
    SELECT v_queue_id, p_group,
           CASE WHEN v_early.queue_name IS NULL THEN p_mode
                WHEN v_early.start_time IS NULL THEN 'all' ELSE 'time' END,
           CASE WHEN v_early.queue_name IS NOT NULL THEN v_early.start_time
                WHEN p_mode = 'time' THEN p_time END
    ON CONFLICT DO NOTHING
    RETURNING id INTO v_group_id;
    IF v_group_id IS NULL THEN  -- another pop made it meanwhile, and its record wins
        SELECT g.id INTO v_group_id FROM queen.groups g WHERE g.queue_id = v_queue_id AND g.name = p_group;
        RETURN QUERY SELECT v_queue_id, v_group_id, false;
        RETURN;
    END IF;

    -- "new" is recorded as offsets: a clock can step, and a push in flight has no time yet.
    INSERT INTO queen.group_starts (group_id, partition_id, seq)
    SELECT v_group_id, p.id, n.seq_end
    FROM queen.groups g
    JOIN queen.partitions p ON p.queue_id = g.queue_id
    CROSS JOIN LATERAL (
        SELECT s.base_seq + s.count AS seq_end FROM queen.segments s
        WHERE s.partition_id = p.id ORDER BY s.base_seq DESC LIMIT 1) n
    WHERE g.id = v_group_id AND g.start_mode = 'new';
    RETURN QUERY SELECT v_queue_id, v_group_id, true;
END $$;
