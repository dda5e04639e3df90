-- The group of that name on a queue, made at its first pop with the start it asks for then; later
-- pops find the record and it wins. No row: the queue does not exist; the group's start is kept by
-- name, and since nothing was pushed yet it means "from the beginning". So it does on a queue that was
-- made after, or at the same moment as, the group's first pop of its family (find_family.sql).
--   p_mode  all, new or time (with p_time); NULL: the group is only looked for, and no row also means
--           that there is none
-- Without sequential scans: what is looked up by name is one probe, also where a session has made its plans
-- when the tables were small.
CREATE OR REPLACE FUNCTION queen.ensure_group(p_queue text, p_group text, p_mode text, p_time timestamptz)
RETURNS TABLE (queue_id int, group_id int, created boolean) LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    v_queue_id int;
    v_group_id int;
    v_early    queen.early_groups;
    v_families int[];
    v_mode     text := p_mode;
    v_time     timestamptz := CASE WHEN p_mode = 'time' THEN p_time END;
BEGIN
    SELECT q.id, g.id INTO v_queue_id, v_group_id
    FROM queen.queues q
    LEFT JOIN LATERAL (SELECT x.id FROM queen.groups x WHERE x.queue_id = q.id AND x.name = p_group LIMIT 1) g ON true
    WHERE q.name = p_queue;
    IF v_group_id IS NULL AND p_mode IS NULL THEN RETURN; END IF;
    IF v_queue_id IS NULL THEN
        INSERT INTO queen.early_groups (queue_name, group_name, start_time)
        VALUES (p_queue, p_group, v_time)
        ON CONFLICT DO NOTHING;
        RETURN;
    END IF;
    IF v_group_id IS NOT NULL THEN
        RETURN QUERY SELECT v_queue_id, v_group_id, false;
        RETURN;
    END IF;

    DELETE FROM queen.early_groups e
    WHERE e.queue_name = p_queue AND e.group_name = p_group RETURNING e.* INTO v_early;
    SELECT array_agg(f.id ORDER BY f.id) INTO v_families
    FROM queen.families f JOIN queen.queues q ON q.id = v_queue_id
    WHERE f.group_name = p_group
      AND (f.namespace IS NULL OR f.namespace = q.namespace) AND (f.task IS NULL OR f.task = q.task)
      AND NOT EXISTS (SELECT FROM queen.family_queues j WHERE j.queue_id = v_queue_id AND j.family_id = f.id);
    IF v_families IS NOT NULL THEN
        INSERT INTO queen.family_queues (family_id, queue_id)
        SELECT id, v_queue_id FROM unnest(v_families) AS id ON CONFLICT DO NOTHING;
    END IF;
    IF v_early.queue_name IS NOT NULL THEN
        v_time := v_early.start_time;
    ELSIF v_families IS NOT NULL THEN
        SELECT f.start_time INTO v_time FROM queen.families f WHERE f.id = v_families[1];
    END IF;
    IF v_early.queue_name IS NOT NULL OR v_families IS NOT NULL THEN
        v_mode := CASE WHEN v_time IS NULL THEN 'all' ELSE 'time' END;
    END IF;
    INSERT INTO queen.groups (queue_id, name, start_mode, start_time) VALUES (v_queue_id, p_group, v_mode, v_time)
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
