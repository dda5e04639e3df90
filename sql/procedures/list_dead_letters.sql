-- requires: ids
-- Dead letters, newest first; each filter may be NULL. from and to are about when they died. Only of
-- queues, partitions and groups that still exist.
CREATE OR REPLACE FUNCTION queen.list_dead_letters(p_queue text, p_group text, p_partition text,
    p_from timestamptz, p_to timestamptz, p_limit int, p_offset int)
RETURNS TABLE (id uuid, transaction_id text, partition_id int, queue text, partition text, consumer_group text, seq bigint,
               error text, retry_count int, payload text, meta text, created_at timestamptz, failed_at timestamptz)
LANGUAGE sql STABLE AS $$
    SELECT queen.message_id(d.created_at, d.partition_id, d.seq),
           coalesce(d.txn, queen.message_id(d.created_at, d.partition_id, d.seq)::text), d.partition_id, q.name, p.name,
           g.name, d.seq, d.error, d.retry_count, d.payload, d.meta, d.created_at, d.failed_at
    FROM queen.dead_letters d
    JOIN queen.partitions p ON p.id = d.partition_id
    JOIN queen.queues q ON q.id = p.queue_id
    JOIN queen.groups g ON g.id = d.group_id
    WHERE (p_queue IS NULL OR q.name = p_queue) AND (p_group IS NULL OR g.name = p_group)
      AND (p_partition IS NULL OR p.name = p_partition)
      AND (p_from IS NULL OR d.failed_at >= p_from) AND (p_to IS NULL OR d.failed_at <= p_to)
    ORDER BY d.failed_at DESC, d.partition_id, d.group_id, d.seq LIMIT p_limit OFFSET p_offset
$$;

-- How many there are, by the same filters.
CREATE OR REPLACE FUNCTION queen.count_dead_letters(p_queue text, p_group text, p_partition text,
    p_from timestamptz, p_to timestamptz)
RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT count(*)
    FROM queen.dead_letters d
    JOIN queen.partitions p ON p.id = d.partition_id
    JOIN queen.queues q ON q.id = p.queue_id
    JOIN queen.groups g ON g.id = d.group_id
    WHERE (p_queue IS NULL OR q.name = p_queue) AND (p_group IS NULL OR g.name = p_group)
      AND (p_partition IS NULL OR p.name = p_partition)
      AND (p_from IS NULL OR d.failed_at >= p_from) AND (p_to IS NULL OR d.failed_at <= p_to)
$$;
