-- requires: locks, ack_messages, push_messages
-- Streaming queries (api 1, Streams).

-- Finds or makes a query. Another config_hash is QN409, or with p_reset a new query of that name whose
-- state is empty; the old state is removed by sweep_stream_state.
CREATE OR REPLACE FUNCTION queen.register_stream_query(p_name text, p_source text, p_sink text, p_hash text, p_reset boolean)
RETURNS TABLE (query_id uuid, fresh boolean, reset boolean) LANGUAGE plpgsql AS $$
DECLARE
    v_query queen.stream_queries;
BEGIN
    INSERT INTO queen.stream_queries (name, source_queue, sink_queue, config_hash)
    VALUES (p_name, p_source, p_sink, p_hash) ON CONFLICT (name) DO NOTHING RETURNING id INTO query_id;
    IF FOUND THEN
        RETURN QUERY SELECT query_id, true, false;
        RETURN;
    END IF;
    SELECT s.* INTO v_query FROM queen.stream_queries s WHERE s.name = p_name FOR UPDATE;
    IF v_query.config_hash = p_hash THEN
        RETURN QUERY SELECT v_query.id, false, false;
        RETURN;
    END IF;
    IF NOT coalesce(p_reset, false) THEN
        RAISE EXCEPTION 'config_hash mismatch' USING ERRCODE = 'QN409', DETAIL = format('stored=%s', v_query.config_hash);
    END IF;
    INSERT INTO queen.retired_queries (query_id) VALUES (v_query.id);
    UPDATE queen.stream_queries s
    SET id = gen_random_uuid(), source_queue = p_source, sink_queue = p_sink, config_hash = p_hash
    WHERE s.name = p_name RETURNING s.id INTO query_id;
    RETURN QUERY SELECT query_id, false, true;
END $$;

-- The state of a query on a partition. Each filter may be NULL; an empty p_keys is all keys.
CREATE OR REPLACE FUNCTION queen.get_stream_state(p_query_id uuid, p_partition_id int, p_keys text[], p_prefix text,
                                                  p_ripe_at numeric)
RETURNS TABLE (key text, value text, updated_at timestamptz) LANGUAGE sql STABLE AS $$
    SELECT s.key, s.value, s.updated_at FROM queen.stream_state s
    WHERE s.query_id = p_query_id AND s.partition_id = p_partition_id
      AND (coalesce(cardinality(p_keys), 0) = 0 OR s.key = ANY (p_keys))
      AND (p_prefix IS NULL OR starts_with(s.key, p_prefix))
      AND (p_ripe_at IS NULL OR s.window_end <= p_ripe_at)
      AND EXISTS (SELECT FROM queen.partitions p JOIN queen.queues q ON q.id = p.queue_id WHERE p.id = p_partition_id)
    ORDER BY s.key
$$;

-- The same as far as it fits p_bytes_max: every row with the bytes of all of them, at least as many as they take
-- as JSON; where these are more, or there are no rows, one row with the bytes alone. Values are not read to count them.
CREATE OR REPLACE FUNCTION queen.get_stream_state_within(p_query_id uuid, p_partition_id int, p_keys text[], p_prefix text,
                                                         p_ripe_at numeric, p_bytes_max bigint)
RETURNS TABLE (bytes bigint, key text, value text, updated_at timestamptz) LANGUAGE sql STABLE AS $$
    WITH found AS MATERIALIZED (SELECT * FROM queen.get_stream_state(p_query_id, p_partition_id, p_keys, p_prefix, p_ripe_at)),
         size AS (SELECT coalesce(sum(6 * octet_length(f.key) + octet_length(f.value) + 80), 0)::bigint AS bytes FROM found f)
    SELECT s.bytes, f.key, f.value, f.updated_at FROM size s LEFT JOIN found f ON s.bytes <= p_bytes_max ORDER BY f.key
$$;

-- One cycle: ack, state and pushes, all or nothing, in the one lock order.
--   p_ack_seq     the verdict p_ack_kind (`completed`, `failed`, `dlq`, `retry`) on everything delivered up to
--                 this offset; NULL = no ack
--   p_release     end the lease of the ack, settled or not. A cycle without an ack names no lease and ends none
--                 (docs/decisions/0004). false: the lease expires, and what it still holds does not count
--                 for maxDeliveries
--   p_op_*        state: key, value (NULL = delete) and the value's windowEnd; the last of a key counts
--   p_partitions  the pushes, as in push_messages
-- Answers a row `ack` (settled: how many verdicts counted, released, dead: went to the dead letters) when
-- there was one, and a row `push` per segment. Raises QN105 (no such query), and QN102, QN103, QN012,
-- QN104, QN404, 40001 as execute_transaction does.
CREATE OR REPLACE FUNCTION queen.stream_cycle(
    p_broker bigint, p_n bigint, p_query_id uuid, p_partition_id int, p_group_id int, p_lease uuid,
    p_ack_seq bigint, p_ack_kind text, p_ack_error text, p_release boolean,
    p_op_keys text[], p_op_values text[], p_op_window_ends numeric[],
    p_partitions int[], p_counts int[], p_payloads text[], p_txns text[], p_metas text[],
    p_txn_mins text[], p_txn_maxs text[], p_time_mins timestamptz[], p_time_maxs timestamptz[], p_untimed boolean[],
    p_encrypted boolean[] DEFAULT NULL)
RETURNS TABLE (part text, ordinal int, base_seq bigint, created_at timestamptz, settled int, released boolean, dead boolean)
LANGUAGE plpgsql AS $$
DECLARE
    v_pushes CONSTANT int := cardinality(p_partitions);
    v_now    timestamptz := clock_timestamp();
    v_seqs   bigint[];
    v_ack    record;
    v_bad    record;
    v_key    text;
BEGIN
    IF NOT EXISTS (SELECT FROM queen.stream_queries s WHERE s.id = p_query_id) THEN
        RAISE EXCEPTION 'No such query' USING ERRCODE = 'QN105';
    END IF;
    IF v_pushes > 0 THEN
        PERFORM queen.lock_partitions(p_partitions);
    END IF;

    IF p_ack_seq IS NOT NULL OR NOT p_release THEN
        -- What the verdict is about: delivered under the lease, up to the offset, and without one. No lease
        -- is longer than 10,000 offsets; where there is none, nothing is looked at.
        SELECT ARRAY(SELECT q FROM generate_series(s.cursor, p_ack_seq) q
                     WHERE NOT queen.bits_get(s.settled, q - s.cursor) AND NOT queen.bits_get(s.failed, q - s.cursor))
        INTO v_seqs
        FROM (SELECT r.* FROM queen.progress r WHERE r.partition_id = p_partition_id AND r.group_id = p_group_id
              ORDER BY r.epoch DESC LIMIT 1) s
        WHERE s.lease_until > v_now AND (p_lease IS NULL OR s.lease_id = p_lease) AND p_ack_seq < s.lease_end;
        v_seqs := coalesce(v_seqs, '{}');
        SELECT a.* INTO v_ack
        FROM queen.ack_messages(p_broker, CASE WHEN v_pushes = 0 THEN p_n END, ARRAY[p_partition_id], ARRAY[p_group_id],
            ARRAY[p_lease], ARRAY[0::bigint], ARRAY[NULL::text],
            ARRAY[CASE WHEN p_ack_kind = 'completed' THEN p_ack_seq END],
            ARRAY[CASE WHEN p_ack_kind = 'retry' THEN v_seqs[1] END], ARRAY[CASE WHEN p_release THEN true END],
            CASE WHEN p_ack_kind IN ('failed', 'dlq') THEN array_fill(1, ARRAY[cardinality(v_seqs)]) ELSE '{}' END,
            CASE WHEN p_ack_kind IN ('failed', 'dlq') THEN v_seqs ELSE '{}' END,
            CASE WHEN p_ack_kind IN ('failed', 'dlq') THEN array_fill(p_ack_kind, ARRAY[cardinality(v_seqs)]) ELSE '{}' END,
            CASE WHEN p_ack_kind IN ('failed', 'dlq') THEN array_fill(p_ack_error, ARRAY[cardinality(v_seqs)]) ELSE '{}' END) a;
        IF v_ack.state = 'again' THEN
            RAISE EXCEPTION 'another change came between' USING ERRCODE = '40001';
        ELSIF p_ack_seq < v_ack.cursor OR queen.bits_get(v_ack.settled::bit varying, p_ack_seq - v_ack.cursor) THEN
            RAISE EXCEPTION 'Message already settled' USING ERRCODE = 'QN103';
        ELSIF p_ack_seq IS NOT NULL AND v_ack.state <> 'applied' OR p_ack_seq >= v_ack.lease_end THEN
            RAISE EXCEPTION 'Invalid or expired lease' USING ERRCODE = 'QN102';
        END IF;
        IF p_ack_seq IS NOT NULL THEN
            RETURN QUERY SELECT 'ack', NULL::int, NULL::bigint, NULL::timestamptz, cardinality(v_seqs), v_ack.released,
                v_ack.dead_seqs IS NOT NULL;
        END IF;
    ELSIF v_pushes = 0 AND p_n IS NOT NULL THEN
        INSERT INTO queen.batches (broker, n, partitions) VALUES (p_broker, p_n, '{}');
    END IF;

    -- One probe per key: as a join it may be planned as a walk over all keys for each.
    FOR v_key IN SELECT o.key FROM (SELECT DISTINCT ON (u.key) u.key, u.value FROM unnest(p_op_keys, p_op_values)
                     WITH ORDINALITY AS u(key, value, ordinal) ORDER BY u.key, u.ordinal DESC) o
                 WHERE o.value IS NULL ORDER BY o.key LOOP
        DELETE FROM queen.stream_state s
        WHERE s.query_id = p_query_id AND s.partition_id = p_partition_id AND s.key = v_key;
    END LOOP;
    INSERT INTO queen.stream_state (query_id, partition_id, key, value, window_end, updated_at)
    SELECT p_query_id, p_partition_id, o.key, o.value, o.window_end, v_now
    FROM (SELECT DISTINCT ON (u.key) u.* FROM unnest(p_op_keys, p_op_values, p_op_window_ends)
          WITH ORDINALITY AS u(key, value, window_end, ordinal) ORDER BY u.key, u.ordinal DESC) o
    WHERE o.value IS NOT NULL ORDER BY o.key
    ON CONFLICT (query_id, partition_id, key)
    DO UPDATE SET value = excluded.value, window_end = excluded.window_end, updated_at = excluded.updated_at;

    IF v_pushes > 0 THEN
        FOR v_bad IN SELECT r.* FROM queen.push_messages(p_broker, p_n, true, p_partitions, p_counts, p_payloads, p_txns,
                p_metas, p_txn_mins, p_txn_maxs, p_time_mins, p_time_maxs, p_untimed, array_fill(0::bigint, ARRAY[v_pushes]),
                array_fill(0::bigint, ARRAY[v_pushes]), p_encrypted) r ORDER BY r.ordinal LOOP
            IF v_bad.status = 'stale' THEN
                RAISE EXCEPTION 'the encryption of a queue was switched' USING ERRCODE = 'QN012';
            ELSIF v_bad.status = 'gone' THEN
                RAISE EXCEPTION 'a partition to push to is gone' USING ERRCODE = 'QN404';
            ELSIF v_bad.status = 'duplicate' THEN
                RAISE EXCEPTION 'Duplicate transactionId' USING ERRCODE = 'QN104',
                    DETAIL = format('transactionId=%s', split_part(p_txns[v_bad.ordinal], E'\n', v_bad.line + 1));
            ELSIF v_bad.status = 'queued' THEN
                RETURN QUERY SELECT 'push', v_bad.ordinal, v_bad.base_seq, v_bad.created_at, NULL::int, NULL::boolean, NULL::boolean;
            END IF;
        END LOOP;
    END IF;
END $$;
