-- requires: ids
-- Which dead letters d are meant, as a condition in SQL: each filter may be NULL. from and to are about when they
-- died. Only of queues, partitions and groups that still exist: those whose letters are still to be swept are in
-- queen.deletions, usually none. The names become ids first (a group is of one queue), so that each filter is a range
-- of an index, and the condition is planned with them.
CREATE OR REPLACE FUNCTION queen.dead_letter_condition(p_queue text, p_group text, p_partition text,
                                                       p_from timestamptz, p_to timestamptz)
RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_groups     int[];
    v_partitions int[];
    v_gone       int[] := ARRAY(SELECT x.object_id FROM queen.deletions x WHERE x.kind = 'partition');
    v_ended      int[] := ARRAY(SELECT x.object_id FROM queen.deletions x WHERE x.kind = 'group'
                                UNION ALL SELECT g.id FROM queen.deletions x JOIN queen.groups g ON g.queue_id = x.queue_id WHERE x.kind = 'queue');
BEGIN
    IF p_queue IS NOT NULL OR p_group IS NOT NULL THEN
        v_groups := ARRAY(SELECT g.id FROM queen.queues q JOIN queen.groups g ON g.queue_id = q.id
                          WHERE (p_queue IS NULL OR q.name = p_queue) AND (p_group IS NULL OR g.name = p_group));
    END IF;
    IF p_partition IS NOT NULL THEN
        v_partitions := ARRAY(SELECT p.id FROM queen.partitions p JOIN queen.queues q ON q.id = p.queue_id
                              WHERE p.name = p_partition AND (p_queue IS NULL OR q.name = p_queue));
    END IF;
    RETURN concat_ws(' AND ',
        'true',
        CASE WHEN v_groups IS NULL THEN CASE WHEN v_ended <> '{}' THEN format('d.group_id <> ALL (%L)', v_ended) END
             WHEN cardinality(v_groups) = 1 THEN format('d.group_id = %s', v_groups[1])
             ELSE format('d.group_id = ANY (%L)', v_groups) END,
        CASE WHEN v_partitions IS NULL THEN CASE WHEN v_gone <> '{}' THEN format('d.partition_id <> ALL (%L)', v_gone) END
             WHEN cardinality(v_partitions) = 1 THEN format('d.partition_id = %s', v_partitions[1])
             ELSE format('d.partition_id = ANY (%L)', v_partitions) END,
        'd.failed_at >= ' || quote_literal(p_from), 'd.failed_at <= ' || quote_literal(p_to));
END $$;

-- Newest first. A page ends early where it holds p_bytes of payloads, behind one letter at least.
CREATE OR REPLACE FUNCTION queen.list_dead_letters(p_queue text, p_group text, p_partition text,
    p_from timestamptz, p_to timestamptz, p_limit int, p_offset int, p_bytes bigint DEFAULT 8388608)
RETURNS TABLE (id uuid, transaction_id text, partition_id int, queue text, partition text, consumer_group text, seq bigint,
               error text, retry_count int, payload text, meta text, created_at timestamptz, failed_at timestamptz)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY EXECUTE format($sql$
        WITH place AS MATERIALIZED (
            SELECT d.partition_id, d.group_id, d.seq, d.failed_at FROM queen.dead_letters d WHERE %s
            ORDER BY d.failed_at DESC, d.partition_id, d.group_id, d.seq LIMIT $1 OFFSET $2)
        SELECT i.id, coalesce(l.txn, i.id::text), l.partition_id, q.name, p.name, g.name, l.seq, l.error, l.retry_count,
               l.payload, l.meta, l.created_at, l.failed_at
        FROM (SELECT d.*, row_number() OVER w AS number, sum(octet_length(d.payload) + coalesce(octet_length(d.meta), 0)) OVER w AS bytes
              FROM place o
              CROSS JOIN LATERAL (SELECT x.* FROM queen.dead_letters x
                                  WHERE x.partition_id = o.partition_id AND x.group_id = o.group_id AND x.seq = o.seq OFFSET 0) d
              WINDOW w AS (ORDER BY d.failed_at DESC, d.partition_id, d.group_id, d.seq)) l
        JOIN queen.partitions p ON p.id = l.partition_id
        JOIN queen.queues q ON q.id = p.queue_id
        JOIN queen.groups g ON g.id = l.group_id
        CROSS JOIN LATERAL (SELECT queen.message_id(l.created_at, l.partition_id, l.seq) AS id) i
        WHERE l.number = 1 OR l.bytes <= $3
        ORDER BY l.number
        $sql$, queen.dead_letter_condition(p_queue, p_group, p_partition, p_from, p_to)) USING p_limit, p_offset, p_bytes;
END $$;

-- How many there are, by the same filters.
CREATE OR REPLACE FUNCTION queen.count_dead_letters(p_queue text, p_group text, p_partition text,
    p_from timestamptz, p_to timestamptz)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_count bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM queen.dead_letters d WHERE %s',
                   queen.dead_letter_condition(p_queue, p_group, p_partition, p_from, p_to)) INTO v_count;
    RETURN v_count;
END $$;
