-- requires: raise_versions
-- Deletes a queue: its row now, and with that everything of it is gone for every procedure;
-- sweep_orphans removes the rows in small steps. Returns whether it existed.
CREATE OR REPLACE FUNCTION queen.delete_queue(p_queue text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_id int;
BEGIN
    DELETE FROM queen.early_groups e WHERE e.queue_name = p_queue;
    DELETE FROM queen.queues q WHERE q.name = p_queue RETURNING q.id INTO v_id;
    IF v_id IS NULL THEN RETURN false; END IF;
    DELETE FROM queen.family_queues j WHERE j.queue_id = v_id;
    INSERT INTO queen.deletions (kind, queue_id, object_id) VALUES ('queue', v_id, v_id);
    PERFORM queen.announce(ARRAY[-v_id]);
    RETURN true;
END $$;

-- The same for one partition.
CREATE OR REPLACE FUNCTION queen.delete_partition(p_queue text, p_partition text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_id       int;
    v_queue_id int;
BEGIN
    DELETE FROM queen.partitions p USING queen.queues q
    WHERE q.name = p_queue AND p.queue_id = q.id AND p.name = p_partition RETURNING p.id, q.id INTO v_id, v_queue_id;
    IF v_id IS NULL THEN RETURN false; END IF;
    INSERT INTO queen.deletions (kind, queue_id, object_id) VALUES ('partition', v_queue_id, v_id);
    PERFORM queen.raise_versions(ARRAY[v_queue_id]);
    RETURN true;
END $$;
