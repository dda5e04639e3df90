-- requires: first_seq_at, drop_stale_progress, ensure_group, locks, raise_versions
-- Moves a group on a queue (p_partition NULL) or on one partition: leases are cancelled, settled marks
-- and failure counts cleared. p_mode:
--   end     behind the newest message
--   after   to the first message after p_time
--   offset  to p_offset, at most the end
-- At most p_limit partitions behind p_after are moved, so that no transaction holds thousands of rows:
-- call again with next_after until it is NULL. With the last of a whole queue the group's recorded start
-- changes too, which is for partitions born later and for the group after its deletion without its record.
-- An unknown queue or group: nothing moves; one that has popped before the queue existed is known.
CREATE OR REPLACE FUNCTION queen.seek(p_queue text, p_group text, p_partition text, p_mode text,
                                      p_time timestamptz, p_offset bigint, p_after int, p_limit int)
RETURNS TABLE (moved int, next_after int, partition_ids int[]) LANGUAGE plpgsql AS $$
DECLARE
    v_now      timestamptz := clock_timestamp();
    v_queue_id int;
    v_group_id int;
    v_ids      int[];
    v_id       int;
    v_row      queen.progress;
    v_epoch    bigint;
    v_cursor   bigint;
    v_cursors  bigint[] := '{}';
BEGIN
    SELECT g.queue_id, g.id INTO v_queue_id, v_group_id
    FROM queen.queues q JOIN queen.groups g ON g.queue_id = q.id AND g.name = p_group WHERE q.name = p_queue;
    IF v_group_id IS NULL AND EXISTS (SELECT FROM queen.early_groups e
                                      WHERE e.queue_name = p_queue AND e.group_name = p_group) THEN
        SELECT e.queue_id, e.group_id INTO v_queue_id, v_group_id FROM queen.ensure_group(p_queue, p_group, 'all', NULL) e;
    END IF;
    v_ids := ARRAY(SELECT p.id FROM queen.partitions p
                   WHERE p.queue_id = v_queue_id AND p.id > p_after AND (p_partition IS NULL OR p.name = p_partition)
                   ORDER BY p.id LIMIT p_limit);
    -- Key by key, each until it is won: whoever waits for a key here holds only lower ones, as everywhere.
    FOREACH v_id IN ARRAY v_ids LOOP
        LOOP
            v_row := queen.lock_lane(v_id, v_group_id);
            INSERT INTO queen.progress (partition_id, group_id, epoch, cursor, changed_at)
            SELECT v_id, v_group_id, coalesce(v_row.epoch, 0) + 1,
                   CASE p_mode WHEN 'end' THEN coalesce(n.seq_end, 0)
                               WHEN 'after' THEN queen.first_seq_at(v_id, p_time + interval '1 microsecond')
                               WHEN 'offset' THEN least(greatest(p_offset, 0), coalesce(n.seq_end, 0)) END, v_now
            FROM (VALUES (v_id)) AS u(id)
            LEFT JOIN LATERAL (
                SELECT t.base_seq + t.count AS seq_end FROM queen.segments t WHERE t.partition_id = u.id
                ORDER BY t.base_seq DESC LIMIT 1) n ON true
            ON CONFLICT DO NOTHING
            RETURNING queen.progress.epoch, queen.progress.cursor INTO v_epoch, v_cursor;
            EXIT WHEN FOUND AND cardinality(queen.drop_stale_progress(ARRAY[v_id], ARRAY[v_group_id], ARRAY[v_epoch])) = 0;
        END LOOP;
        v_cursors := v_cursors || v_cursor;
    END LOOP;

    IF p_partition IS NULL AND p_mode = 'end' THEN
        INSERT INTO queen.group_starts (group_id, partition_id, seq)
        SELECT v_group_id, u.id, u.seq FROM unnest(v_ids, v_cursors) AS u(id, seq)
        ON CONFLICT (group_id, partition_id) DO UPDATE SET seq = excluded.seq;
    ELSIF p_partition IS NULL THEN
        DELETE FROM queen.group_starts b WHERE b.group_id = v_group_id AND b.partition_id = ANY (v_ids);
    END IF;
    moved := cardinality(v_ids);
    partition_ids := v_ids;
    next_after := CASE WHEN moved = p_limit AND p_partition IS NULL THEN v_ids[moved] END;
    IF p_partition IS NULL AND next_after IS NULL THEN
        UPDATE queen.groups g
        SET start_mode = CASE p_mode WHEN 'end' THEN 'new' WHEN 'after' THEN 'time' ELSE 'all' END,
            start_time = CASE p_mode WHEN 'after' THEN p_time + interval '1 microsecond' END
        WHERE g.id = v_group_id;
        PERFORM queen.raise_versions(ARRAY[v_queue_id]);
    END IF;
    PERFORM queen.announce(v_ids);
    RETURN NEXT;
END $$;

-- The start of a group by name, on every queue: counts for partitions it has not begun to read.
CREATE OR REPLACE FUNCTION queen.set_subscription(p_group text, p_time timestamptz)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_queues int[];
BEGIN
    WITH changed AS (
        UPDATE queen.groups g SET start_mode = 'time', start_time = p_time WHERE g.name = p_group RETURNING g.queue_id)
    SELECT array_agg(-c.queue_id) INTO v_queues FROM changed c;
    UPDATE queen.families f SET start_mode = 'time', start_time = p_time WHERE f.group_name = p_group;
    PERFORM queen.announce(v_queues);
    PERFORM queen.raise_versions(ARRAY(SELECT -id FROM unnest(v_queues) AS id));
    RETURN coalesce(cardinality(v_queues), 0);
END $$;
