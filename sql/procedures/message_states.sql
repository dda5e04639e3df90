-- requires: bits, first_seq_at, hidden
-- What became of stored messages, by partition and offset: one row for each message and each group of its queue
-- that is to have it.
--   state          completed, dead_letter, processing (under a lease that lives until lease_until) or pending
--   failures       how often it has failed and is delivered again (a dead letter has its own count)
CREATE OR REPLACE FUNCTION queen.message_states(p_partitions int[], p_seqs bigint[], p_now timestamptz)
RETURNS TABLE (partition_id int, seq bigint, group_id int, group_name text, state text, lease_until timestamptz, failures int)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    WITH lane AS MATERIALIZED (  -- once for all messages of a partition
        SELECT p.id AS partition_id, p.hides, g.id AS group_id, g.name, s.settled, s.attempt_seqs, s.attempt_counts,
               CASE WHEN s.lease_until > p_now THEN s.lease_until END AS lease_until, s.lease_end,
               coalesce(s.cursor, CASE g.start_mode
                   WHEN 'new' THEN (SELECT b.seq FROM queen.group_starts b WHERE b.group_id = g.id AND b.partition_id = p.id)
                   WHEN 'time' THEN queen.first_seq_at(p.id, g.start_time) END, 0) AS cursor
        FROM (SELECT DISTINCT u.id FROM unnest(p_partitions) AS u(id)) u
        JOIN queen.partitions p ON p.id = u.id
        JOIN queen.groups g ON g.queue_id = p.queue_id
        LEFT JOIN LATERAL (SELECT r.* FROM queen.progress r WHERE r.partition_id = p.id AND r.group_id = g.id
                           ORDER BY r.epoch DESC LIMIT 1) s ON true)
    SELECT m.partition_id, m.seq, l.group_id, l.name,
           CASE WHEN d.seq IS NOT NULL THEN 'dead_letter'
                WHEN m.seq < l.cursor OR queen.bits_get(l.settled, m.seq - l.cursor) THEN 'completed'
                WHEN l.lease_until IS NOT NULL AND m.seq < l.lease_end THEN 'processing'
                ELSE 'pending' END,
           CASE WHEN m.seq >= l.cursor AND m.seq < l.lease_end AND NOT queen.bits_get(l.settled, m.seq - l.cursor) THEN l.lease_until END,
           coalesce(d.retry_count, l.attempt_counts[array_position(l.attempt_seqs, m.seq)], 0)
    FROM unnest(p_partitions, p_seqs) AS m(partition_id, seq)
    JOIN lane l ON l.partition_id = m.partition_id
    LEFT JOIN LATERAL (SELECT x.seq, x.retry_count FROM queen.dead_letters x
                       WHERE x.partition_id = m.partition_id AND x.group_id = l.group_id AND x.seq = m.seq) d ON true
    WHERE NOT l.hides OR queen.hidden_bits(m.partition_id, l.group_id, m.seq, m.seq + 1) IS NULL;
END $$;

-- The one word for a message that several groups are to have: the first of these that holds in some group. Nobody
-- reads it: pending.
CREATE OR REPLACE FUNCTION queen.message_status(p_states text[])
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN 'dead_letter' = ANY (p_states) THEN 'dead_letter' WHEN 'processing' = ANY (p_states) THEN 'processing'
                WHEN 'pending' = ANY (p_states) OR coalesce(cardinality(p_states), 0) = 0 THEN 'pending' ELSE 'completed' END
$$;

-- How queues are consumed: as queues (pops without a group), by groups, both or not at all.
CREATE OR REPLACE FUNCTION queen.consumption_mode(p_queues int[])
RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object('hasQueueMode', m.queue_mode, 'busGroupsCount', m.groups,
               'type', CASE WHEN m.queue_mode AND m.groups > 0 THEN 'hybrid' WHEN m.queue_mode THEN 'queue'
                            WHEN m.groups > 0 THEN 'bus' ELSE 'none' END)
    FROM (SELECT coalesce(bool_or(g.name = '__QUEUE_MODE__'), false) AS queue_mode,
                 count(DISTINCT g.name) FILTER (WHERE g.name <> '__QUEUE_MODE__') AS groups
          FROM queen.groups g WHERE g.queue_id = ANY (p_queues)) m
$$;
