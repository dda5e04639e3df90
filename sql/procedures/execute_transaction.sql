-- requires: locks, push_messages, ack_messages, find_messages, dedup, bits
-- A group that has settled the message at p_seq, NULL when there is none.
CREATE OR REPLACE FUNCTION queen.group_that_settled(p_partition int, p_seq bigint)
RETURNS int LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT g.id FROM queen.partitions p JOIN queen.groups g ON g.queue_id = p.queue_id
            CROSS JOIN LATERAL (
                SELECT r.cursor, r.settled FROM queen.progress r
                WHERE r.partition_id = p.id AND r.group_id = g.id ORDER BY r.epoch DESC LIMIT 1) s
            WHERE p.id = p_partition AND (p_seq < s.cursor OR queen.bits_get(s.settled, p_seq - s.cursor))
            ORDER BY g.id LIMIT 1);
END $$;

-- Pushes and acks, all or nothing. Locks in the one order: partitions, progress, dead letters, segments.
-- Waits for busy partitions: nobody else's work is in this call.
--   p_broker, p_n       the key in queen.batches; p_n NULL = none is written
--   p_partitions ..     segments as in push_messages; p_push_indexes: for each pushed message, in order
--                       of segments and lines, the number of its operation
--   p_ack_*             one row per ack, in order: number of the operation; partition; group (NULL = that
--                       of the lease, or of a replay any that has settled the message); lease (NULL = one of p_required_leases if there are any, else the
--                       current one); transactionId; offset if the caller knows it, else NULL; `completed`,
--                       `failed`, `dlq` or `retry`; cumulative; error text
-- Answers a row per segment (part `push`: status `queued`, base_seq, created_at) and per ack (part `ack`:
-- status `applied`, partition_id, base_seq = its offset, dead, released). The whole transaction stored
-- already, every push and every ack, is success: then status is `duplicate`, one row per line, and
-- `settled`. Raises, with DETAIL "index=<n> transactionId=<text to the end>":
--   QN101 Message not found   QN102 Invalid or expired lease   QN103 Message already settled
--   QN104 Duplicate transactionId
-- and QN404 when a partition to push to is gone, QN012 when p_encrypted is not as a queue wants it, 40001 when another change came between.
CREATE OR REPLACE FUNCTION queen.execute_transaction(
    p_broker bigint, p_n bigint,
    p_partitions int[], p_counts int[], p_payloads text[], p_txns text[], p_metas text[],
    p_txn_mins text[], p_txn_maxs text[], p_time_mins timestamptz[], p_time_maxs timestamptz[],
    p_untimed boolean[], p_push_indexes int[],
    p_ack_indexes int[], p_ack_partitions int[], p_ack_groups int[], p_ack_leases uuid[], p_ack_txns text[],
    p_ack_seqs bigint[], p_ack_kinds text[], p_ack_cumulatives boolean[], p_ack_errors text[],
    p_required_leases uuid[], p_encrypted boolean[] DEFAULT NULL)
RETURNS TABLE (part text, ordinal int, status text, partition_id int, base_seq bigint, created_at timestamptz,
               line int, dead boolean, released boolean)
LANGUAGE plpgsql AS $$
DECLARE
    v_pushes    CONSTANT int := cardinality(p_partitions);
    v_acks      CONSTANT int := cardinality(p_ack_partitions);
    v_firsts    int[];       -- place in p_push_indexes of each segment's first message
    v_seqs      bigint[] := p_ack_seqs;
    v_groups    int[] := p_ack_groups;
    v_leases    uuid[] := p_ack_leases;
    v_problems  text[];
    v_dead      boolean[];
    v_released  boolean[];
    v_settled   int := 0;
    v_rows      int[];
    v_statuses  text[];
    v_base_seqs bigint[];
    v_times     timestamptz[];
    v_lines     int[];
    v_bad       record;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'pushing needs the isolation level read committed' USING ERRCODE = 'QN010';
    END IF;
    SELECT array_agg(c.before ORDER BY c.ordinal) INTO v_firsts
    FROM (SELECT u.ordinal, sum(u.count) OVER (ORDER BY u.ordinal) - u.count AS before
          FROM unnest(p_counts) WITH ORDINALITY AS u(count, ordinal)) c;
    SELECT p_push_indexes[v_firsts[d.ordinal] + d.line] AS index, d.txn INTO v_bad
    FROM (SELECT u.ordinal, t.txn, t.line,
                 row_number() OVER (PARTITION BY u.partition_id, t.txn COLLATE "C" ORDER BY u.ordinal, t.line) AS copy
          FROM unnest(p_partitions, p_txns) WITH ORDINALITY AS u(partition_id, txns, ordinal)
          CROSS JOIN LATERAL string_to_table(u.txns, E'\n') WITH ORDINALITY AS t(txn, line)
          WHERE t.txn <> '') d
    WHERE d.copy > 1 ORDER BY d.ordinal, d.line LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Duplicate transactionId' USING ERRCODE = 'QN104',
            DETAIL = format('index=%s transactionId=%s', v_bad.index, v_bad.txn);
    END IF;
    IF v_pushes > 0 THEN
        PERFORM queen.lock_partitions(p_partitions);
    END IF;

    IF v_acks > 0 THEN
        SELECT array_agg(coalesce(u.seq, f.seq) ORDER BY u.ordinal) INTO v_seqs
        FROM unnest(p_ack_seqs) WITH ORDINALITY AS u(seq, ordinal)
        LEFT JOIN queen.find_messages(
            ARRAY(SELECT CASE WHEN p_ack_seqs[i] IS NULL THEN p_ack_partitions[i] END FROM generate_series(1, v_acks) i),
            p_ack_txns) f ON f.ordinal = u.ordinal;
        -- a group not named is that of the lease; a lease not named is the required one that is current
        SELECT array_agg(coalesce(u.group_id, b.group_id) ORDER BY u.ordinal) INTO v_groups
        FROM unnest(p_ack_partitions, p_ack_groups, p_ack_leases) WITH ORDINALITY AS u(partition_id, group_id, lease, ordinal)
        LEFT JOIN LATERAL (
            SELECT r.group_id FROM queen.progress r
            WHERE u.group_id IS NULL AND r.partition_id = u.partition_id
              AND (r.lease_id = u.lease OR u.lease IS NULL AND r.lease_id = ANY (p_required_leases))
            ORDER BY r.epoch DESC LIMIT 1) b ON true;
        -- The lease is swept. With every push stored this can only be a replay: what it acked is settled, and which
        -- group that was under is found by it.
        IF array_position(v_groups, NULL) IS NOT NULL AND v_pushes > 0 AND NOT EXISTS (
            SELECT FROM generate_series(1, v_pushes) i
            WHERE (SELECT count(*) FROM queen.find_transactions(p_partitions[i], p_txns[i], 0, 0)) <> p_counts[i]) THEN
            SELECT array_agg(coalesce(u.group_id, queen.group_that_settled(u.partition_id, u.seq)) ORDER BY u.ordinal) INTO v_groups
            FROM unnest(p_ack_partitions, v_groups, v_seqs) WITH ORDINALITY AS u(partition_id, group_id, seq, ordinal);
        END IF;
        IF cardinality(p_required_leases) > 0 THEN
            SELECT array_agg(coalesce(u.lease, b.lease_id, p_required_leases[1]) ORDER BY u.ordinal) INTO v_leases
            FROM unnest(p_ack_partitions, v_groups, p_ack_leases) WITH ORDINALITY AS u(partition_id, group_id, lease, ordinal)
            LEFT JOIN LATERAL (
                SELECT s.lease_id FROM (
                    SELECT r.lease_id FROM queen.progress r
                    WHERE r.partition_id = u.partition_id AND r.group_id = u.group_id ORDER BY r.epoch DESC LIMIT 1) s
                WHERE s.lease_id = ANY (p_required_leases)) b ON true;
        END IF;

        WITH ack AS MATERIALIZED (
            SELECT u.*, dense_rank() OVER (ORDER BY u.partition_id, u.group_id)::int AS key
            FROM unnest(p_ack_partitions, v_groups, v_leases, v_seqs, p_ack_kinds, p_ack_cumulatives, p_ack_errors)
                 WITH ORDINALITY AS u(partition_id, group_id, lease, seq, kind, cumulative, error, ordinal)
        ), key AS MATERIALIZED (
            SELECT a.key, min(a.partition_id) AS partition_id, min(a.group_id) AS group_id,
                   (array_agg(a.lease ORDER BY a.ordinal) FILTER (WHERE a.lease IS NOT NULL))[1] AS lease,
                   coalesce(min(a.seq), 0) AS base,
                   array_agg(a.seq) FILTER (WHERE a.kind = 'completed' AND a.seq IS NOT NULL) AS done
            FROM ack a GROUP BY a.key
        ), single AS MATERIALIZED (
            SELECT a.key, a.seq, k.kind, a.error, row_number() OVER (ORDER BY a.ordinal, k.place) AS place
            FROM ack a CROSS JOIN LATERAL (VALUES
                (CASE WHEN a.kind <> 'completed' THEN a.kind END, 1),
                (CASE WHEN a.cumulative THEN CASE a.kind WHEN 'retry' THEN 'before' ELSE 'cumulative' END END, 2)) AS k(kind, place)
            WHERE k.kind IS NOT NULL
        ), reply AS MATERIALIZED (
            SELECT r.* FROM (
                SELECT array_agg(k.partition_id ORDER BY k.key) AS partitions, array_agg(k.group_id ORDER BY k.key) AS groups,
                       array_agg(k.lease ORDER BY k.key) AS leases, array_agg(k.base ORDER BY k.key) AS bases,
                       array_agg(queen.bits_of(ARRAY(SELECT s - k.base FROM unnest(k.done) s))::text ORDER BY k.key) AS dones
                FROM key k) f
            CROSS JOIN LATERAL queen.ack_messages(
                p_broker, CASE WHEN v_pushes = 0 THEN p_n END, f.partitions, f.groups, f.leases, f.bases, f.dones,
                array_fill(NULL::bigint, ARRAY[cardinality(f.groups)]), array_fill(NULL::bigint, ARRAY[cardinality(f.groups)]),
                array_fill(false, ARRAY[cardinality(f.groups)]),
                ARRAY(SELECT s.key FROM single s ORDER BY s.place), ARRAY(SELECT s.seq FROM single s ORDER BY s.place),
                ARRAY(SELECT s.kind FROM single s ORDER BY s.place), ARRAY(SELECT s.error FROM single s ORDER BY s.place)) r
        )
        SELECT array_agg(CASE
                   WHEN a.seq IS NULL THEN 'not found'
                   WHEN r.state = 'gone' THEN 'no lease'
                   WHEN a.seq < r.cursor OR queen.bits_get(r.settled::bit varying, a.seq - r.cursor) THEN 'settled'
                   WHEN r.state = 'again' THEN 'again'
                   WHEN r.state = 'refused' OR a.lease <> k.lease OR a.seq >= r.lease_end THEN 'no lease'
                   WHEN queen.bits_get(r.failed::bit varying, a.seq - r.cursor)  -- has its verdict in this lease
                        THEN CASE WHEN a.kind = 'failed' THEN 'settled' ELSE 'judged' END
                   END ORDER BY a.ordinal),
               array_agg(coalesce(a.seq = ANY (r.dead_seqs), false) ORDER BY a.ordinal),
               array_agg(coalesce(r.released, false) ORDER BY a.ordinal)
        INTO v_problems, v_dead, v_released
        FROM ack a JOIN key k ON k.key = a.key JOIN reply r ON r.ordinal = a.key;

        SELECT count(*) INTO v_settled FROM unnest(v_problems) p WHERE p = 'settled';
        SELECT u.problem, p_ack_indexes[u.ordinal] AS index, p_ack_txns[u.ordinal] AS txn INTO v_bad
        FROM unnest(v_problems) WITH ORDINALITY AS u(problem, ordinal)
        WHERE u.problem <> 'settled' OR v_settled < v_acks OR EXISTS (
            -- every ack is settled: a replay if every push is stored as well
            SELECT FROM generate_series(1, v_pushes) i
            WHERE (SELECT count(*) FROM queen.find_transactions(p_partitions[i], p_txns[i], 0, 0)) <> p_counts[i])
        ORDER BY u.problem <> 'again', u.problem = 'settled', u.ordinal LIMIT 1;
        IF v_bad.problem IS NOT NULL THEN
            RAISE EXCEPTION USING
                ERRCODE = CASE v_bad.problem WHEN 'not found' THEN 'QN101' WHEN 'no lease' THEN 'QN102'
                               WHEN 'again' THEN '40001' ELSE 'QN103' END,
                MESSAGE = CASE v_bad.problem WHEN 'not found' THEN 'Message not found'
                               WHEN 'no lease' THEN 'Invalid or expired lease'
                               WHEN 'again' THEN 'another change came between' ELSE 'Message already settled' END,
                DETAIL = format('index=%s transactionId=%s', v_bad.index, v_bad.txn);
        END IF;
    END IF;

    IF v_pushes > 0 AND v_settled > 0 THEN
        RETURN QUERY
        SELECT 'push', i, 'duplicate', p_partitions[i], f.seq, f.created_at, f.line, NULL::boolean, NULL::boolean
        FROM generate_series(1, v_pushes) i
        CROSS JOIN LATERAL queen.find_transactions(p_partitions[i], p_txns[i], 0, 0) f ORDER BY i, f.line;
    ELSIF v_pushes > 0 THEN
        SELECT array_agg(r.ordinal), array_agg(r.status), array_agg(r.base_seq), array_agg(r.created_at), array_agg(r.line)
        INTO v_rows, v_statuses, v_base_seqs, v_times, v_lines
        FROM queen.push_messages(p_broker, p_n, true, p_partitions, p_counts, p_payloads, p_txns, p_metas, p_txn_mins,
            p_txn_maxs, p_time_mins, p_time_maxs, p_untimed, array_fill(0::bigint, ARRAY[v_pushes]),
            array_fill(0::bigint, ARRAY[v_pushes]), p_encrypted) r;
        IF 'stale' = ANY (v_statuses) THEN
            RAISE EXCEPTION 'the encryption of a queue was switched' USING ERRCODE = 'QN012';
        ELSIF 'gone' = ANY (v_statuses) THEN
            RAISE EXCEPTION 'a partition to push to is gone' USING ERRCODE = 'QN404';
        END IF;
        SELECT p_push_indexes[v_firsts[u.row] + u.line + 1] AS index,
               split_part(p_txns[u.row], E'\n', u.line + 1) AS txn, count(*) OVER () AS stored
        INTO v_bad
        FROM unnest(v_rows, v_statuses, v_lines) AS u(row, status, line)
        WHERE u.status = 'duplicate' ORDER BY u.row, u.line LIMIT 1;
        IF FOUND AND (v_acks > 0 OR v_bad.stored < (SELECT sum(c) FROM unnest(p_counts) c)) THEN
            RAISE EXCEPTION 'Duplicate transactionId' USING ERRCODE = 'QN104',
                DETAIL = format('index=%s transactionId=%s', v_bad.index, v_bad.txn);
        END IF;
        RETURN QUERY
        SELECT 'push', u.row, u.status, p_partitions[u.row], u.base_seq, u.at, u.line, NULL::boolean, NULL::boolean
        FROM unnest(v_rows, v_statuses, v_base_seqs, v_times, v_lines) AS u(row, status, base_seq, at, line)
        ORDER BY u.row, u.line;
    END IF;
    RETURN QUERY
    SELECT 'ack', i, CASE WHEN v_settled > 0 THEN 'settled' ELSE 'applied' END, p_ack_partitions[i], v_seqs[i],
           NULL::timestamptz, NULL::int, v_dead[i], v_released[i]
    FROM generate_series(1, v_acks) i;
END $$;
