-- The queues of a family for one of its groups: those of that namespace and/or task (NULL: any). The
-- group's start is recorded at its first pop of the family: with p_mode and p_time (as in ensure_group)
-- on every queue that is there, and by (namespace, task, group) for every queue made later, which is read
-- from its start. Nobody waits for anybody. A queue that is being made at the same moment does not see the record,
-- and this call does not see that queue. The next call notices: the queue is missing in family_queues.
CREATE OR REPLACE FUNCTION queen.find_family(p_namespace text, p_task text, p_group text, p_mode text, p_time timestamptz)
RETURNS TABLE (queue_id int, queue_name text, priority int) LANGUAGE plpgsql AS $$
DECLARE
    v_id   int;
    v_name text;
BEGIN
    IF NOT EXISTS (
        SELECT FROM queen.families f
        WHERE f.group_name = p_group
          AND coalesce(f.namespace, '') = coalesce(p_namespace, '') AND (f.namespace IS NULL) = (p_namespace IS NULL)
          AND coalesce(f.task, '') = coalesce(p_task, '') AND (f.task IS NULL) = (p_task IS NULL)) THEN
        INSERT INTO queen.families (namespace, task, group_name, start_mode, start_time)
        VALUES (p_namespace, p_task, p_group, p_mode, CASE WHEN p_mode = 'time' THEN p_time END)
        ON CONFLICT DO NOTHING RETURNING id INTO v_id;
        -- Before the groups: ensure_group takes a queue that is missing here for one made later.
        INSERT INTO queen.family_queues (family_id, queue_id)
        SELECT v_id, q.id FROM queen.queues q
        WHERE v_id IS NOT NULL AND (p_namespace IS NULL OR q.namespace = p_namespace) AND (p_task IS NULL OR q.task = p_task);
    END IF;

    FOR v_name IN
        SELECT q.name FROM queen.queues q
        WHERE (p_namespace IS NULL OR q.namespace = p_namespace) AND (p_task IS NULL OR q.task = p_task)
          AND NOT EXISTS (SELECT FROM queen.groups g WHERE g.queue_id = q.id AND g.name = p_group)
        ORDER BY q.name LOOP  -- the order of ensure_groups
        PERFORM queen.ensure_group(v_name, p_group, p_mode, p_time);
    END LOOP;

    RETURN QUERY
    SELECT q.id, q.name, q.priority FROM queen.queues q
    WHERE (p_namespace IS NULL OR q.namespace = p_namespace) AND (p_task IS NULL OR q.task = p_task)
    ORDER BY q.priority DESC, q.name;
END $$;

-- For procedures: these queues have just been made (p_born), or have moved to another namespace or task.
-- Their families' groups get their starts, now and not at their first pop, so that retention counts
-- them; and every broker is told. Of a queue that was there before a family's record and joins it later,
-- `new` is what is pushed from then on. With the rights of its owner: who may make a queue by queen.push
-- need not be allowed to write to the tables of groups (docs/sql.md).
CREATE OR REPLACE FUNCTION queen.join_families(p_queues int[], p_born boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v record;
BEGIN
    FOR v IN
        SELECT q.id, q.name, f.id AS family_id, f.group_name, f.start_mode, f.start_time,
               p_born OR q.created_at > f.created_at AS later
        FROM queen.queues q
        JOIN queen.families f ON f.namespace = q.namespace AND f.task = q.task
                              OR f.namespace = q.namespace AND f.task IS NULL
                              OR f.namespace IS NULL AND f.task = q.task
        WHERE q.id = ANY (p_queues)
          AND NOT EXISTS (SELECT FROM queen.family_queues j WHERE j.queue_id = q.id AND j.family_id = f.id)
        ORDER BY q.name, f.group_name, f.id LOOP  -- the order of ensure_groups
        IF v.later THEN PERFORM queen.ensure_group(v.name, v.group_name, v.start_mode, v.start_time); END IF;
        INSERT INTO queen.family_queues (family_id, queue_id) VALUES (v.family_id, v.id) ON CONFLICT DO NOTHING;
        PERFORM queen.ensure_group(v.name, v.group_name, v.start_mode, v.start_time);
    END LOOP;
    PERFORM queen.announce(ARRAY(SELECT -id FROM unnest(p_queues) AS id));
END $$;
