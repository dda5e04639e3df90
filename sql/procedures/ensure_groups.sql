-- requires: ensure_group
-- ensure_group for many, each (queue, group) once; a row for each whose queue exists. A group that is being made
-- belongs to its maker until the commit, and others who make it wait. So all who make several go in one order,
-- by the names of queue and group (find_family too): otherwise two of them would wait for each other.
CREATE OR REPLACE FUNCTION queen.ensure_groups(p_queues text[], p_groups text[], p_modes text[], p_times timestamptz[])
RETURNS TABLE (ordinal int, queue_id int, group_id int) LANGUAGE plpgsql AS $$
DECLARE
    v record;
BEGIN
    FOR v IN SELECT u.* FROM unnest(p_queues, p_groups, p_modes, p_times)
                  WITH ORDINALITY AS u(queue, name, mode, start, ordinal)
             ORDER BY u.queue COLLATE "C", u.name COLLATE "C", u.ordinal LOOP
        RETURN QUERY SELECT v.ordinal::int, e.queue_id, e.group_id
                     FROM queen.ensure_group(v.queue, v.name, v.mode, v.start) e;
    END LOOP;
END $$;
