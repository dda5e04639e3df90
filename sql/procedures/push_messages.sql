-- requires: dedup, locks
-- Appends segments. One row of the parallel arrays is one segment; several rows may be of one
-- partition and are appended in the order given. All of a partition's rows are stored or none.
--   p_broker, p_n    the key of this transaction in queen.batches; p_n NULL = none is written
--   p_wait           wait for busy partitions (in the one lock order) instead of answering `busy`
--   p_txn_mins ..    of the transactionIds in the segment: least and greatest (bytes), least and
--                    greatest time inside those that are UUIDv7, and whether some are not;
--                    all NULL when the segment has none
--   p_known_froms .. the offsets whose transactionIds the caller has compared already: whole
--                    segments, and for messages without a transactionId their ids
--   p_encrypted      whether the payloads are encrypted (NULL = none is), as the queue's option wants it
-- REQUIRES: a transactionId appears once per partition in a call; p_encrypted is the same for all rows
-- of a partition.
-- Answers one row per segment, and for `duplicate` one row per line that is stored already:
--   queued     stored at base_seq, created_at
--   busy       another transaction is appending to the partition
--   gone       the partition is no longer there
--   stale      the queue's payloads are to be encrypted and these are not, or the other way round: so a
--              push that begins after the option was set never stores a payload in the wrong way
--   duplicate  line `line` is stored already, as base_seq, created_at; nothing of the partition was
--              appended, so the caller tries again without those lines
--   again      another segment of the same partition has a duplicate
CREATE OR REPLACE FUNCTION queen.push_messages(
    p_broker bigint, p_n bigint, p_wait boolean,
    p_partitions int[], p_counts int[], p_payloads text[], p_txns text[], p_metas text[],
    p_txn_mins text[], p_txn_maxs text[], p_time_mins timestamptz[], p_time_maxs timestamptz[],
    p_untimed boolean[], p_known_froms bigint[], p_known_tos bigint[], p_encrypted boolean[] DEFAULT NULL)
RETURNS TABLE (ordinal int, status text, base_seq bigint, created_at timestamptz, line int)
LANGUAGE plpgsql AS $$
DECLARE
    v_window     CONSTANT interval := queen.dedup_window();
    v_ids        int[];
    v_locked     boolean[];
    v_now        timestamptz;
    v_statuses   text[];
    v_base_seqs  bigint[];
    v_times      timestamptz[];
    v_suspects   int[];
    v_dup_rows   int[];
    v_dup_lines  int[];
    v_dup_seqs   bigint[];
    v_dup_times  timestamptz[];
BEGIN
    -- At a stricter level the end would be read from a snapshot taken before the lock, and a push
    -- could land behind a cursor that has passed its place.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'pushing needs the isolation level read committed' USING ERRCODE = 'QN010';
    END IF;
    IF EXISTS (SELECT FROM unnest(p_counts, p_payloads, p_txns, p_metas) AS u(count, payloads, txns, meta)
               WHERE payloads IS NULL OR octet_length(payloads) - octet_length(replace(payloads, E'\n', '')) <> count - 1
                  OR octet_length(txns) - octet_length(replace(txns, E'\n', '')) <> count - 1
                  OR octet_length(meta) - octet_length(replace(meta, E'\n', '')) <> count - 1) THEN
        RAISE EXCEPTION 'the number of lines differs from the number of messages' USING ERRCODE = 'QN011';
    END IF;

    SELECT array_agg(s.id ORDER BY s.id) INTO v_ids FROM (SELECT DISTINCT unnest(p_partitions) AS id) s;
    IF p_wait THEN
        PERFORM queen.lock_partitions(v_ids);
        v_locked := array_fill(true, ARRAY[cardinality(v_ids)]);
    ELSE
        SELECT array_agg(t.got ORDER BY t.id) INTO v_locked
        FROM (SELECT u.id, pg_try_advisory_xact_lock(queen.partition_lock_class(), u.id) AS got
              FROM unnest(v_ids) AS u(id) OFFSET 0) t;
    END IF;

    -- A statement of its own: its snapshot must be younger than the locks.
    v_now := clock_timestamp();
    SELECT array_agg(CASE WHEN NOT h.locked THEN 'busy' WHEN NOT h.live THEN 'gone'
                          WHEN h.encrypted <> coalesce(p_encrypted[i.ordinal], false) THEN 'stale' ELSE 'queued' END
                     ORDER BY i.ordinal),
           array_agg(h.seq_end + i.before ORDER BY i.ordinal),
           array_agg(greatest(v_now, h.clock) + i.before * interval '1 microsecond' ORDER BY i.ordinal)
    INTO v_statuses, v_base_seqs, v_times
    FROM (SELECT u.partition_id, u.ordinal,
                 sum(u.count) OVER (PARTITION BY u.partition_id ORDER BY u.ordinal) - u.count AS before
          FROM unnest(p_partitions, p_counts) WITH ORDINALITY AS u(partition_id, count, ordinal)) i
    JOIN (SELECT l.id, l.locked, q.id IS NOT NULL AS live, q.encryption_enabled AS encrypted, coalesce(n.seq_end, 0) AS seq_end, n.clock
          FROM unnest(v_ids, v_locked) AS l(id, locked)
          LEFT JOIN queen.partitions p ON p.id = l.id
          LEFT JOIN queen.queues q ON q.id = p.queue_id
          LEFT JOIN LATERAL (
              SELECT s.base_seq + s.count AS seq_end,
                     s.created_at + s.count * interval '1 microsecond' AS clock
              FROM queen.segments s WHERE s.partition_id = l.id AND l.locked
              ORDER BY s.base_seq DESC LIMIT 1) n ON true) h ON h.id = i.partition_id;

    -- Which segments might hold a stored transactionId? A few probes each; usually the answer is none.
    SELECT array_agg(u.ordinal::int) INTO v_suspects
    FROM unnest(p_partitions, v_statuses, p_txn_mins, p_txn_maxs, p_time_mins, p_known_froms, p_known_tos)
         WITH ORDINALITY AS u(partition_id, status, txn_min, txn_max, time_min, known_from, known_to, ordinal)
    WHERE u.txn_min IS NOT NULL AND u.status = 'queued'
      AND (EXISTS (SELECT FROM queen.dedup d WHERE d.partition_id = u.partition_id
                   AND d.txn >= u.txn_min AND d.txn <= u.txn_max)
           OR u.time_min - v_window <= (
               SELECT s.created_at FROM queen.segments s
               WHERE s.partition_id = u.partition_id AND s.base_seq >= u.known_to
               ORDER BY s.base_seq DESC LIMIT 1)
           OR u.time_min - v_window <= (
               SELECT s.created_at FROM queen.segments s
               WHERE s.partition_id = u.partition_id AND s.base_seq < u.known_from
               ORDER BY s.base_seq DESC LIMIT 1));
    IF v_suspects IS NOT NULL THEN
        SELECT array_agg(u.ordinal), array_agg(f.line), array_agg(f.seq), array_agg(f.created_at)
        INTO v_dup_rows, v_dup_lines, v_dup_seqs, v_dup_times
        FROM unnest(v_suspects) AS u(ordinal)
        CROSS JOIN LATERAL queen.find_transactions(p_partitions[u.ordinal], p_txns[u.ordinal],
                                                   p_known_froms[u.ordinal], p_known_tos[u.ordinal]) f;
        IF v_dup_rows IS NOT NULL THEN
            SELECT array_agg(CASE WHEN u.status <> 'queued' THEN u.status
                                  WHEN u.ordinal = ANY (v_dup_rows) THEN 'duplicate'
                                  WHEN u.partition_id IN (SELECT p_partitions[d] FROM unnest(v_dup_rows) d) THEN 'again'
                                  ELSE u.status END ORDER BY u.ordinal)
            INTO v_statuses
            FROM unnest(p_partitions, v_statuses) WITH ORDINALITY AS u(partition_id, status, ordinal);
        END IF;
    END IF;

    WITH appended AS (
        SELECT u.*, v_statuses[u.ordinal] AS status, v_base_seqs[u.ordinal] AS seq, v_times[u.ordinal] AS at
        FROM unnest(p_partitions, p_counts, p_payloads, p_txns, p_metas, p_time_mins, p_time_maxs, p_untimed)
             WITH ORDINALITY AS u(partition_id, count, payloads, txns, meta, time_min, time_max, untimed, ordinal)
        WHERE v_statuses[u.ordinal] = 'queued'
    ), log AS (
        INSERT INTO queen.segments (partition_id, base_seq, count, created_at, payloads, txns, meta, time_min, time_max)
        SELECT a.partition_id, a.seq, a.count, a.at, a.payloads, a.txns, a.meta,
               CASE WHEN a.txns IS NOT NULL THEN coalesce(a.time_min, 'infinity') END,
               CASE WHEN a.txns IS NOT NULL THEN coalesce(a.time_max, '-infinity') END
        FROM appended a ORDER BY a.partition_id, a.seq
    ), keyed AS (
        INSERT INTO queen.dedup (partition_id, txn, seq)
        SELECT a.partition_id, t.txn, a.seq + t.line - 1
        FROM appended a
        CROSS JOIN LATERAL string_to_table(a.txns, E'\n') WITH ORDINALITY AS t(txn, line)
        CROSS JOIN LATERAL queen.uuid7_time(t.txn) AS inside
        WHERE (a.untimed OR a.time_min < a.at - v_window OR a.time_max > a.at + v_window)
          AND t.txn <> ''
          AND (inside IS NULL OR inside NOT BETWEEN a.at - v_window AND a.at + v_window)
        ORDER BY 1, 2
    )
    INSERT INTO queen.batches (broker, n, partitions, base_seqs)
    SELECT p_broker, p_n, array_agg(a.partition_id ORDER BY a.ordinal), array_agg(a.seq ORDER BY a.ordinal)
    FROM appended a HAVING p_n IS NOT NULL AND count(*) > 0;

    RETURN QUERY
    SELECT u.ordinal::int, u.status, u.seq, u.at, NULL::int
    FROM unnest(v_statuses, v_base_seqs, v_times) WITH ORDINALITY AS u(status, seq, at, ordinal)
    WHERE u.status <> 'duplicate'
    UNION ALL
    SELECT u.row, 'duplicate', u.seq, u.at, u.line
    FROM unnest(v_dup_rows, v_dup_seqs, v_dup_times, v_dup_lines) AS u(row, seq, at, line);
END $$;
