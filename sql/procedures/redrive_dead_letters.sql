-- requires: list_dead_letters, letters_of_message, redrive
-- The next dead letters by the filters of list_dead_letters, those that died first before the others: at most
-- p_limit, and of those behind the first no more than p_bytes.
CREATE OR REPLACE FUNCTION queen.next_dead_letters(p_queue text, p_group text, p_partition text, p_from timestamptz,
    p_to timestamptz, p_limit int, p_bytes bigint)
RETURNS TABLE (partition_id int, group_id int, seq bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY EXECUTE format($sql$
        SELECT l.partition_id, l.group_id, l.seq
        FROM (SELECT o.*, row_number() OVER w AS number, sum(octet_length(d.payload)) OVER w AS bytes
              FROM (SELECT d.partition_id, d.group_id, d.seq, d.failed_at FROM queen.dead_letters d WHERE %s
                    ORDER BY d.failed_at, d.partition_id, d.group_id, d.seq LIMIT $1) o
              CROSS JOIN LATERAL (SELECT x.payload FROM queen.dead_letters x
                                  WHERE x.partition_id = o.partition_id AND x.group_id = o.group_id AND x.seq = o.seq OFFSET 0) d
              WINDOW w AS (ORDER BY o.failed_at, o.partition_id, o.group_id, o.seq)) l
        WHERE l.number = 1 OR l.bytes <= $2
        $sql$, queen.dead_letter_condition(p_queue, p_group, p_partition, p_from, p_to)) USING p_limit, p_bytes;
END $$;

-- One step of pushing dead letters again (redrive), by the filters of list_dead_letters: a transaction of its own,
-- so that a caller who loses the connection may simply go on. Letters whose partition is being written to are left
-- for a later step; where that is all of them, the step waits for the first of these partitions. Answers how many
-- went, whether there may be more, the names of their queues, and p_to or the present time: the next steps pass it, so
-- that a letter which dies again meanwhile is not pushed again for ever.
CREATE OR REPLACE FUNCTION queen.redrive_dead_letters(p_queue text, p_group text, p_partition text, p_from timestamptz,
    p_to timestamptz, p_limit int, p_bytes bigint, OUT redriven int, OUT more boolean, OUT queues text[], OUT up_to timestamptz)
LANGUAGE plpgsql AS $$
DECLARE
    v_partitions int[];
    v_groups     int[];
    v_seqs       bigint[];
    v_moved      int[];
BEGIN
    up_to := coalesce(p_to, clock_timestamp());
    SELECT array_agg(l.partition_id), array_agg(l.group_id), array_agg(l.seq) INTO v_partitions, v_groups, v_seqs
    FROM queen.next_dead_letters(p_queue, p_group, p_partition, p_from, up_to, p_limit, p_bytes) l;
    more := v_partitions IS NOT NULL;
    v_moved := ARRAY(SELECT r.partition_id FROM queen.redrive(v_partitions, v_groups, v_seqs, false) r);
    IF cardinality(v_moved) = 0 AND more THEN
        v_moved := ARRAY(
            SELECT r.partition_id FROM (
                SELECT array_agg(u.partition_id) AS partitions, array_agg(u.group_id) AS groups, array_agg(u.seq) AS seqs
                FROM unnest(v_partitions, v_groups, v_seqs) AS u(partition_id, group_id, seq)
                WHERE u.partition_id = v_partitions[1]) f
            CROSS JOIN LATERAL queen.redrive(f.partitions, f.groups, f.seqs, true) r);
    END IF;
    redriven := cardinality(v_moved);
    queues := ARRAY(SELECT DISTINCT q.name FROM queen.partitions p JOIN queen.queues q ON q.id = p.queue_id
                    WHERE p.id = ANY (v_moved) ORDER BY 1);
END $$;

-- The dead letters of one message, in p_group or (NULL) in every group in which it died, pushed again. A row for each.
CREATE OR REPLACE FUNCTION queen.redrive_message(p_partition_id int, p_txn text, p_group text)
RETURNS TABLE (queue text, consumer_group text, message_id uuid) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY
    SELECT q.name, g.name, queen.message_id(r.new_created_at, r.partition_id, r.new_seq)
    FROM (SELECT array_agg(p_partition_id) AS partitions, array_agg(l.group_id) AS groups, array_agg(l.seq) AS seqs
          FROM queen.letters_of_message(p_partition_id, p_txn) l JOIN queen.groups n ON n.id = l.group_id
          WHERE p_group IS NULL OR n.name = p_group) f
    CROSS JOIN LATERAL queen.redrive(f.partitions, f.groups, f.seqs, true) r
    JOIN queen.groups g ON g.id = r.group_id
    JOIN queen.queues q ON q.id = g.queue_id
    WHERE f.partitions IS NOT NULL;
END $$;

-- One step of removing dead letters for good, by the same filters, in a transaction of its own.
CREATE OR REPLACE FUNCTION queen.purge_dead_letters(p_queue text, p_group text, p_partition text, p_from timestamptz,
    p_to timestamptz, p_limit int, OUT purged int, OUT more boolean, OUT up_to timestamptz)
LANGUAGE plpgsql AS $$
BEGIN
    up_to := coalesce(p_to, clock_timestamp());
    WITH gone AS (
        DELETE FROM queen.dead_letters d
        USING queen.next_dead_letters(p_queue, p_group, p_partition, p_from, up_to, p_limit, 9223372036854775807) n
        WHERE d.partition_id = n.partition_id AND d.group_id = n.group_id AND d.seq = n.seq RETURNING 1)
    SELECT count(*)::int INTO purged FROM gone;
    more := purged > 0;
END $$;

-- Takes one message that a group has still to consume to the dead letters, also while it is leased: the lease goes
-- on without it. state: settled (it is a dead letter now), missing (no such message or group), passed (the group is
-- done with it), far (too far behind the cursor). The group of a queue that nobody has popped from yet is made.
CREATE OR REPLACE FUNCTION queen.dead_letter_message(p_partition_id int, p_txn text, p_group text, p_error text,
                                                     OUT state text, OUT queue text)
LANGUAGE plpgsql AS $$
DECLARE
    v_seq      bigint;
    v_group_id int;
    v_failures int;
BEGIN
    state := 'missing';
    SELECT q.name INTO queue FROM queen.partitions p JOIN queen.queues q ON q.id = p.queue_id WHERE p.id = p_partition_id;
    IF NOT FOUND THEN RETURN; END IF;
    SELECT f.seq INTO v_seq FROM queen.find_transactions(p_partition_id, p_txn, 0, 0) f ORDER BY f.seq LIMIT 1;
    IF NOT FOUND THEN RETURN; END IF;
    SELECT e.group_id INTO v_group_id
    FROM queen.ensure_group(queue, p_group, CASE WHEN p_group = '__QUEUE_MODE__' THEN 'all' END, NULL) e;
    IF v_group_id IS NULL OR queen.hidden_bits(p_partition_id, v_group_id, v_seq, v_seq + 1) IS NOT NULL THEN RETURN; END IF;
    SELECT s.state, s.failures INTO state, v_failures FROM queen.settle_message(p_partition_id, v_group_id, v_seq) s;
    IF state NOT IN ('settled', 'ended') THEN RETURN; END IF;
    state := 'settled';
    PERFORM queen.dead_letter(ARRAY[p_partition_id], ARRAY[v_group_id], ARRAY[v_seq], ARRAY[p_error], ARRAY[v_failures]);
    PERFORM queen.announce(ARRAY[p_partition_id]);
END $$;
