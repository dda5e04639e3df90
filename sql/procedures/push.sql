-- requires: push_messages, ensure_partitions, ids
-- For applications: push one message inside a transaction of their own. The message becomes
-- visible when that transaction commits, and not at all if it rolls back: an outbox without a relay
-- (docs/sql.md). The partition stays locked to other pushes until then. Returns the message's id;
-- a transaction_id that is stored already returns the id of the stored message.
CREATE OR REPLACE FUNCTION queen.push(queue text, payload json, partition text DEFAULT 'Default',
                                      transaction_id text DEFAULT NULL)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    v_partition_id int;
    v_line         text := regexp_replace(payload::text, '[\n\r]', ' ', 'g');
    v_txn          text := nullif(transaction_id, '');
    v_time         timestamptz := queen.uuid7_time(v_txn);
    v_row          record;
BEGIN
    IF payload IS NULL THEN v_line := 'null'; END IF;
    IF coalesce(queue, '') = '' OR octet_length(queue) > 255 OR queue ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION 'queue must be a name of 1 to 255 bytes without control characters' USING ERRCODE = 'QN400';
    END IF;
    IF partition IS NULL OR octet_length(partition) > 255 OR partition ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION 'partition must be a name of up to 255 bytes without control characters' USING ERRCODE = 'QN400';
    END IF;
    IF length(v_txn) > 255 OR v_txn ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION 'transaction_id must be up to 255 characters without control characters' USING ERRCODE = 'QN400';
    END IF;

    SELECT e.partition_id INTO STRICT v_partition_id
    FROM queen.ensure_partitions(ARRAY[queue], ARRAY[partition]) e;
    SELECT r.* INTO STRICT v_row
    FROM queen.push_messages(0, nextval('queen.sql_batches'), true,
        ARRAY[v_partition_id], ARRAY[1], ARRAY[v_line], ARRAY[v_txn], ARRAY[NULL::text],
        ARRAY[v_txn], ARRAY[v_txn], ARRAY[v_time], ARRAY[v_time],
        ARRAY[v_txn IS NOT NULL AND v_time IS NULL], ARRAY[0::bigint], ARRAY[0::bigint]) r;
    IF v_row.status = 'stale' THEN
        RAISE EXCEPTION 'the queue is encrypted: push to it through a broker, which has the key' USING ERRCODE = 'QN400';
    END IF;
    IF v_row.status NOT IN ('queued', 'duplicate') THEN
        RAISE EXCEPTION 'the queue was deleted while it was pushed to' USING ERRCODE = 'QN404';
    END IF;
    RETURN queen.message_id(v_row.created_at, v_partition_id, v_row.base_seq);
END $$;
