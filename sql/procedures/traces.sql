-- Traces: what consumers note about messages (api 3).

-- Stores one and returns its id. QN404 when the partition does not exist.
CREATE OR REPLACE FUNCTION queen.record_trace(p_partition_id int, p_txn text, p_group text, p_event_type text,
                                              p_data text, p_names text[], p_worker text)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    v_id uuid;
    v_at timestamptz := clock_timestamp();
BEGIN
    INSERT INTO queen.traces (partition_id, txn, consumer_group, event_type, data, worker_id, created_at)
    SELECT p.id, p_txn, p_group, p_event_type, p_data, p_worker, v_at
    FROM queen.partitions p JOIN queen.queues q ON q.id = p.queue_id WHERE p.id = p_partition_id
    RETURNING id INTO v_id;
    IF v_id IS NULL THEN
        RAISE EXCEPTION 'no such partition' USING ERRCODE = 'QN404';
    END IF;
    INSERT INTO queen.trace_names (name, created_at, trace_id, partition_id)
    SELECT DISTINCT u.name, v_at, v_id, p_partition_id FROM unnest(p_names) AS u(name);
    RETURN v_id;
END $$;

-- Of one message, oldest first; those behind the first p_bytes of data are left out.
CREATE OR REPLACE FUNCTION queen.list_traces(p_partition_id int, p_txn text, p_bytes bigint DEFAULT 8388608)
RETURNS TABLE (id uuid, event_type text, data text, consumer_group text, worker_id text, created_at timestamptz,
               trace_names text[]) LANGUAGE sql STABLE AS $$
    SELECT t.id, t.event_type, t.data, t.consumer_group, t.worker_id, t.created_at,
           ARRAY(SELECT n.name FROM queen.trace_names n WHERE n.partition_id = t.partition_id AND n.trace_id = t.id ORDER BY 1)
    FROM (SELECT x.*, row_number() OVER w AS number, sum(octet_length(x.data)) OVER w AS bytes
          FROM queen.traces x WHERE x.partition_id = p_partition_id AND x.txn = p_txn
          WINDOW w AS (ORDER BY x.created_at, x.id)) t
    JOIN queen.partitions p ON p.id = t.partition_id   -- what was deleted is gone, swept or not
    JOIN queen.queues q ON q.id = p.queue_id
    WHERE t.number = 1 OR t.bytes <= p_bytes ORDER BY t.created_at, t.id
$$;

-- Of one name, oldest first, with the message each belongs to; total is the number of all. A page ends early where
-- it holds p_bytes of data, behind one trace at least.
CREATE OR REPLACE FUNCTION queen.list_traces_by_name(p_name text, p_limit int, p_offset int, p_bytes bigint DEFAULT 8388608)
RETURNS TABLE (id uuid, event_type text, data text, consumer_group text, worker_id text, created_at timestamptz,
               partition_id int, transaction_id text, queue text, partition text, total bigint) LANGUAGE sql STABLE AS $$
    SELECT l.id, l.event_type, l.data, l.consumer_group, l.worker_id, l.created_at, l.partition_id, l.txn, l.queue, l.partition,
           (SELECT count(*) FROM queen.trace_names x
            JOIN queen.partitions y ON y.id = x.partition_id JOIN queen.queues z ON z.id = y.queue_id
            WHERE x.name = p_name)
    FROM (SELECT o.*, row_number() OVER w AS number, sum(octet_length(o.data)) OVER w AS bytes
          FROM (SELECT t.*, n.created_at AS named_at, q.name AS queue, p.name AS partition
                FROM queen.trace_names n
                JOIN queen.traces t ON t.id = n.trace_id
                JOIN queen.partitions p ON p.id = t.partition_id
                JOIN queen.queues q ON q.id = p.queue_id
                WHERE n.name = p_name ORDER BY n.created_at, n.trace_id LIMIT p_limit OFFSET p_offset) o
          WINDOW w AS (ORDER BY o.named_at, o.id)) l
    WHERE l.number = 1 OR l.bytes <= p_bytes ORDER BY l.number
$$;

-- Every name, the last used first.
CREATE OR REPLACE FUNCTION queen.list_trace_names(p_limit int, p_offset int)
RETURNS TABLE (trace_name text, trace_count bigint, message_count bigint, last_seen timestamptz, total bigint)
LANGUAGE sql STABLE AS $$
    SELECT n.name, count(*), count(DISTINCT (t.partition_id, t.txn)), max(n.created_at), count(*) OVER ()
    FROM queen.trace_names n JOIN queen.traces t ON t.id = n.trace_id
    GROUP BY n.name ORDER BY max(n.created_at) DESC, n.name LIMIT p_limit OFFSET p_offset
$$;
