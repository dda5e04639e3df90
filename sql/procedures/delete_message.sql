-- requires: announce, dedup, hidden, ids, letters_of_message, locks, raise_versions, settle_message
-- Deletes one message, named by partition and transactionId: no pop that begins afterwards delivers it, in whatever
-- group; its payload and meta are erased, and its dead letters go with it. Its offset stays taken, and so does its
-- transactionId for as long as its segment is retained. A lease that holds it goes on without it. Answers whether
-- there was anything to delete, and the queue's name.
CREATE OR REPLACE FUNCTION queen.delete_message(p_partition_id int, p_txn text, OUT deleted boolean, OUT queue text)
LANGUAGE plpgsql AS $$
DECLARE
    v_queue_id int;
    v_seq      bigint;
    v_line     int;
    v_segment  queen.segments;
    v_hidden   queen.hidden_messages;
    v_present  boolean;
    v_groups   int[] := '{}';
    v_born     int[];
BEGIN
    deleted := false;
    -- One order of locks everywhere: the partition's row, its lock, progress, dead letters, segments. The row is
    -- locked by whoever hides something, and by nobody else.
    SELECT p.queue_id, q.name INTO v_queue_id, queue
    FROM queen.partitions p JOIN queen.queues q ON q.id = p.queue_id
    WHERE p.id = p_partition_id FOR NO KEY UPDATE OF p;
    IF NOT FOUND THEN RETURN; END IF;
    PERFORM queen.lock_partitions(ARRAY[p_partition_id]);

    SELECT f.seq INTO v_seq FROM queen.find_transactions(p_partition_id, p_txn, 0, 0) f ORDER BY f.seq LIMIT 1;
    SELECT h.* INTO v_hidden FROM queen.hidden_messages h
    WHERE h.partition_id = p_partition_id AND h.from_seq <= v_seq ORDER BY h.from_seq DESC LIMIT 1;
    v_present := v_seq IS NOT NULL AND NOT coalesce(v_hidden.only_group <= 0 AND v_hidden.to_seq > v_seq, false);
    IF v_present THEN
        v_groups := ARRAY(SELECT x.id FROM queen.groups x WHERE x.queue_id = v_queue_id ORDER BY x.id);
        PERFORM queen.settle_message(p_partition_id, g.id, v_seq) FROM unnest(v_groups) AS g(id);
    END IF;
    DELETE FROM queen.dead_letters d USING queen.letters_of_message(p_partition_id, p_txn) l
    WHERE d.partition_id = p_partition_id AND d.group_id = l.group_id AND d.seq = l.seq;
    deleted := FOUND OR v_present;
    IF NOT v_present THEN RETURN; END IF;

    SELECT s.* INTO v_segment FROM queen.segments s
    WHERE s.partition_id = p_partition_id AND s.base_seq <= v_seq ORDER BY s.base_seq DESC LIMIT 1 FOR NO KEY UPDATE;
    IF v_segment.payloads IS NOT NULL AND v_seq < v_segment.base_seq + v_segment.count THEN
        v_line := v_seq - v_segment.base_seq + 1;
        UPDATE queen.segments s SET payloads = queen.without_line(s.payloads, v_line), meta = queen.without_line(s.meta, v_line)
        WHERE s.partition_id = p_partition_id AND s.base_seq = v_segment.base_seq;
    END IF;

    IF v_hidden.to_seq > v_seq THEN  -- one of a range that was redriven for a group
        DELETE FROM queen.hidden_messages h WHERE h.partition_id = p_partition_id AND h.from_seq = v_hidden.from_seq;
        INSERT INTO queen.hidden_messages (partition_id, from_seq, to_seq, only_group)
        SELECT p_partition_id, r.from_seq, r.to_seq, v_hidden.only_group
        FROM (VALUES (v_hidden.from_seq, v_seq), (v_seq + 1, v_hidden.to_seq)) AS r(from_seq, to_seq)
        WHERE r.from_seq < r.to_seq;
    END IF;
    INSERT INTO queen.hidden_messages (partition_id, from_seq, to_seq) VALUES (p_partition_id, v_seq, v_seq + 1);
    UPDATE queen.partitions p SET hides = true WHERE p.id = p_partition_id AND NOT p.hides;

    -- Groups born meanwhile may have leased it.
    v_born := ARRAY(SELECT x.id FROM queen.groups x WHERE x.queue_id = v_queue_id AND NOT x.id = ANY (v_groups) ORDER BY x.id);
    PERFORM queen.settle_message(p_partition_id, g.id, v_seq) FROM unnest(v_born) AS g(id);
    DELETE FROM queen.dead_letters d WHERE d.partition_id = p_partition_id AND d.group_id = ANY (v_born) AND d.seq = v_seq;
    -- What waits behind it may be ready: a lease has ended, or the message that failed is gone.
    PERFORM queen.announce(ARRAY[p_partition_id]);
    PERFORM queen.raise_versions(ARRAY[v_queue_id]);
END $$;

-- The text with line p_line (1 = first) made empty.
CREATE OR REPLACE FUNCTION queen.without_line(p_text text, p_line int)
RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
    v_lines text[] := string_to_array(p_text, E'\n');
BEGIN
    v_lines[p_line] := '';
    RETURN array_to_string(v_lines, E'\n');
END $$;
