-- requires: await_standby, dedup, locks
-- Appends segments. One row of the parallel arrays is one segment; several rows may be of one
-- partition and are appended in the order given. All of a partition's rows are stored or none.
--   p_broker, p_n    the key of this transaction in queen.batches; p_n NULL = none is written
--   p_wait           wait for busy partitions (in the one lock order) instead of answering `busy`
--   p_txn_mins ..    of the transactionIds in the segment: least and greatest (bytes), least and
--                    greatest time inside those that are UUIDv7, and whether some are not;
--                    all NULL when the segment has none
--   p_known_froms .. the offsets whose transactionIds the caller has compared already: whole
--                    segments, and for messages without a transactionId their ids
--   p_known_untimed  whether that holds for ids without a time inside, too
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
    p_untimed boolean[], p_known_froms bigint[], p_known_tos bigint[], p_encrypted boolean[] DEFAULT NULL,
    p_known_untimed boolean DEFAULT false)
RETURNS TABLE (ordinal int, status text, base_seq bigint, created_at timestamptz, line int)
LANGUAGE plpgsql AS $$
DECLARE
    v_window     CONSTANT interval := queen.dedup_window();
    v_locked     int[];
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

    IF p_wait THEN
        PERFORM queen.lock_partitions(p_partitions);
    ELSE
        v_locked := ARRAY(SELECT d.id FROM (SELECT DISTINCT u.id FROM unnest(p_partitions) AS u(id)) d
                          WHERE pg_try_advisory_xact_lock(queen.partition_lock_class(), d.id));
    END IF;

    -- A statement of its own: its snapshot must be younger than the locks. A segment is suspect when it
    -- might hold a stored transactionId; a few probes each, and usually none is.
    v_now := clock_timestamp();
    SELECT array_agg(r.status), array_agg(r.seq), array_agg(r.at), array_agg(r.ordinal) FILTER (WHERE r.suspect)
    INTO v_statuses, v_base_seqs, v_times, v_suspects
    FROM (SELECT i.ordinal::int, s.status, coalesce(n.base_seq + n.count, 0) + i.before AS seq,
                 greatest(v_now, n.created_at + n.count * interval '1 microsecond') + i.before * interval '1 microsecond' AS at,
                 s.status = 'queued' AND i.txn_min IS NOT NULL
                 AND (i.untimed AND (i.known_from > 0 OR n.base_seq >= i.known_to OR NOT p_known_untimed)
                      OR i.time_min IS NOT NULL AND EXISTS (
                          SELECT FROM queen.dedup d WHERE d.partition_id = i.partition_id
                          AND d.txn >= i.txn_min AND d.txn <= i.txn_max)
                      OR n.base_seq >= i.known_to AND i.time_min - v_window <= n.created_at
                         AND queen.may_hold(i.partition_id, i.known_to, n.base_seq, i.time_min, i.time_max)
                      OR i.known_from > 0 AND i.time_min - v_window <= (
                          SELECT b.created_at FROM queen.segments b
                          WHERE b.partition_id = i.partition_id AND b.base_seq < i.known_from
                          ORDER BY b.base_seq DESC LIMIT 1)
                         AND queen.may_hold(i.partition_id, 0, i.known_from - 1, i.time_min, i.time_max)) AS suspect
          FROM (SELECT u.*, sum(u.count) OVER (PARTITION BY u.partition_id ORDER BY u.ordinal) - u.count AS before
                FROM unnest(p_partitions, p_counts, p_txn_mins, p_txn_maxs, p_time_mins, p_time_maxs, p_untimed, p_known_froms, p_known_tos)
                     WITH ORDINALITY AS u(partition_id, count, txn_min, txn_max, time_min, time_max, untimed, known_from, known_to, ordinal)) i
          LEFT JOIN queen.partitions p ON p.id = i.partition_id
          LEFT JOIN queen.queues q ON q.id = p.queue_id
          LEFT JOIN LATERAL (
              SELECT e.base_seq, e.count, e.created_at FROM queen.segments e
              WHERE e.partition_id = i.partition_id ORDER BY e.base_seq DESC LIMIT 1) n ON true
          CROSS JOIN LATERAL (
              SELECT CASE WHEN p_wait IS NOT TRUE AND NOT i.partition_id = ANY (v_locked) THEN 'busy' WHEN q.id IS NULL THEN 'gone'
                          WHEN q.encryption_enabled <> coalesce(p_encrypted[i.ordinal], false) THEN 'stale'
                          ELSE 'queued' END AS status OFFSET 0) s
          ORDER BY i.ordinal) r;
    IF v_suspects IS NOT NULL THEN
        SELECT array_agg(u.ordinal), array_agg(f.line), array_agg(f.seq), array_agg(f.created_at)
        INTO v_dup_rows, v_dup_lines, v_dup_seqs, v_dup_times
        FROM unnest(v_suspects) AS u(ordinal)
        CROSS JOIN LATERAL queen.find_transactions(p_partitions[u.ordinal], p_txns[u.ordinal],
                                                   p_known_froms[u.ordinal], p_known_tos[u.ordinal], p_known_untimed) f;
        IF p_wait THEN  -- no broker's memory stands before the search, and nobody else waits in this call
            PERFORM queen.index_untimed(u.id) FROM (SELECT DISTINCT p_partitions[s] AS id FROM unnest(v_suspects) s WHERE p_untimed[s]) u;
        END IF;
        IF v_dup_rows IS NOT NULL THEN
            PERFORM queen.await_standby();
            SELECT array_agg(CASE WHEN u.status <> 'queued' THEN u.status
                                  WHEN u.ordinal = ANY (v_dup_rows) THEN 'duplicate'
                                  WHEN u.partition_id IN (SELECT p_partitions[d] FROM unnest(v_dup_rows) d) THEN 'again'
                                  ELSE u.status END ORDER BY u.ordinal)
            INTO v_statuses
            FROM unnest(p_partitions, v_statuses) WITH ORDINALITY AS u(partition_id, status, ordinal);
        END IF;
    END IF;

    RETURN QUERY
    WITH appended AS (
        SELECT u.*, v_base_seqs[u.ordinal] AS seq, v_times[u.ordinal] AS at
        FROM unnest(p_partitions, p_counts, p_payloads, p_txns, p_metas, p_time_mins, p_time_maxs, p_untimed)
             WITH ORDINALITY AS u(partition_id, count, payloads, txns, meta, time_min, time_max, untimed, ordinal)
        WHERE v_statuses[u.ordinal] = 'queued'
    ), log AS (
        INSERT INTO queen.segments (partition_id, base_seq, count, created_at, payloads, txns, meta, time_min, time_max, untimed)
        SELECT a.partition_id, a.seq, a.count, a.at, a.payloads, a.txns, a.meta,
               CASE WHEN a.txns IS NOT NULL THEN coalesce(a.time_min, 'infinity') END,
               CASE WHEN a.txns IS NOT NULL THEN coalesce(a.time_max, '-infinity') END,
               CASE WHEN a.txns IS NOT NULL THEN coalesce(a.untimed, false) END
        FROM appended a
    ), keyed AS (
        INSERT INTO queen.dedup (partition_id, txn, seq)
        SELECT a.partition_id, t.txn, a.seq + t.line - 1
        FROM appended a
        CROSS JOIN LATERAL string_to_table(a.txns, E'\n') WITH ORDINALITY AS t(txn, line)
        CROSS JOIN LATERAL queen.uuid7_time(t.txn) AS inside
        WHERE (a.time_min < a.at - v_window OR a.time_max > a.at + v_window)
          AND inside NOT BETWEEN a.at - v_window AND a.at + v_window
    ), noted AS (
        INSERT INTO queen.batches (broker, n, partitions, base_seqs)
        SELECT p_broker, p_n, array_agg(a.partition_id), array_agg(a.seq)
        FROM appended a HAVING p_n IS NOT NULL AND count(*) > 0
    )
    SELECT u.ordinal::int, u.status, u.seq, u.at, NULL::int
    FROM unnest(v_statuses, v_base_seqs, v_times) WITH ORDINALITY AS u(status, seq, at, ordinal)
    WHERE u.status <> 'duplicate'
    UNION ALL
    SELECT u.row, 'duplicate', u.seq, u.at, u.line
    FROM unnest(v_dup_rows, v_dup_seqs, v_dup_times, v_dup_lines) AS u(row, seq, at, line);
END $$;
