-- requires: hidden, ids, locks, push_messages, raise_versions
-- Pushes dead letters again: each becomes a new message at the end of its partition, with the payload and meta it
-- had and an id of its own, seen by no group but the one in which it died, and is no dead letter any more. All of
-- it is one transaction: a letter is in the list or in the log, never both and never neither, and of two calls at
-- the same time one finds nothing. Letters that are gone, or of a deleted queue, partition or group, are left out.
--   p_wait   wait for partitions that are being written to (in the one lock order); otherwise their letters stay
-- REQUIRES: with p_wait, one partition. Nobody waits for a partition while holding others.
CREATE OR REPLACE FUNCTION queen.redrive(p_partitions int[], p_groups int[], p_seqs bigint[], p_wait boolean)
RETURNS TABLE (partition_id int, group_id int, seq bigint, new_seq bigint, new_created_at timestamptz)
LANGUAGE plpgsql AS $$
DECLARE
    v_segment_bytes CONSTANT int := 1048576;
    v_locked    int[];
    v_letters   queen.dead_letters[];
    v_places    int[] := '{}';    -- of each letter its segment
    v_lines     int[] := '{}';    -- and its line in it, from 0
    v_segments  int := 0;
    v_bytes     bigint;
    v_letter    queen.dead_letters;
    v_last      int;
    v_pushed    bigint[];
    v_times     timestamptz[];
BEGIN
    IF p_wait THEN
        PERFORM FROM queen.partitions p WHERE p.id = ANY (p_partitions) ORDER BY p.id FOR NO KEY UPDATE;
        PERFORM queen.lock_partitions(p_partitions);
        v_locked := p_partitions;
    ELSE
        v_locked := ARRAY(SELECT p.id FROM queen.partitions p WHERE p.id = ANY (p_partitions)
                          ORDER BY p.id FOR NO KEY UPDATE SKIP LOCKED);
        v_locked := ARRAY(SELECT u.id FROM unnest(v_locked) AS u(id)
                          WHERE pg_try_advisory_xact_lock(queen.partition_lock_class(), u.id));
    END IF;

    -- They stay until it is done. Statements of their own: what is read below is as it is then.
    PERFORM FROM queen.queues q
    WHERE q.id IN (SELECT p.queue_id FROM queen.partitions p WHERE p.id = ANY (v_locked)) ORDER BY q.id FOR KEY SHARE;
    PERFORM FROM queen.groups g WHERE g.id = ANY (p_groups) ORDER BY g.id FOR KEY SHARE;

    WITH letter AS MATERIALIZED (
        SELECT d.* FROM unnest(p_partitions, p_groups, p_seqs) AS u(partition_id, group_id, seq)
        CROSS JOIN LATERAL (SELECT x.* FROM queen.dead_letters x WHERE x.partition_id = u.partition_id
                            AND x.group_id = u.group_id AND x.seq = u.seq OFFSET 0) d
        JOIN queen.partitions p ON p.id = d.partition_id
        JOIN queen.groups g ON g.id = d.group_id AND g.queue_id = p.queue_id
        JOIN queen.queues q ON q.id = p.queue_id
        WHERE u.partition_id = ANY (v_locked)
    ), taken AS (
        DELETE FROM queen.dead_letters d USING letter l
        WHERE d.partition_id = l.partition_id AND d.group_id = l.group_id AND d.seq = l.seq RETURNING d.*)
    SELECT array_agg(t::queen.dead_letters ORDER BY t.partition_id, t.group_id, t.seq) INTO v_letters FROM taken t;
    IF v_letters IS NULL THEN RETURN; END IF;

    FOREACH v_letter IN ARRAY v_letters LOOP
        IF v_last IS DISTINCT FROM v_letter.partition_id OR v_bytes + octet_length(v_letter.payload) > v_segment_bytes THEN
            v_segments := v_segments + 1;
            v_bytes := 0;
            v_lines := v_lines || 0;
        ELSE
            v_lines := v_lines || v_lines[cardinality(v_lines)] + 1;
        END IF;
        v_places := v_places || v_segments;
        v_bytes := v_bytes + octet_length(v_letter.payload) + 1;
        v_last := v_letter.partition_id;
    END LOOP;

    SELECT array_agg(r.base_seq ORDER BY r.ordinal), array_agg(r.created_at ORDER BY r.ordinal)
    INTO v_pushed, v_times
    FROM (SELECT array_agg(s.partition_id ORDER BY s.place) AS partitions, array_agg(s.lines ORDER BY s.place) AS counts,
                 array_agg(s.payloads ORDER BY s.place) AS payloads, array_agg(s.meta ORDER BY s.place) AS metas,
                 array_agg(q.encryption_enabled ORDER BY s.place) AS encrypted,
                 array_fill(NULL::text, ARRAY[v_segments]) AS none, array_fill(NULL::timestamptz, ARRAY[v_segments]) AS never,
                 array_fill(0::bigint, ARRAY[v_segments]) AS zeros
          FROM (SELECT u.place, min(l.partition_id) AS partition_id, count(*)::int AS lines,
                       string_agg(l.payload, E'\n' ORDER BY u.line) AS payloads,
                       CASE WHEN bool_or(l.meta IS NOT NULL) THEN string_agg(coalesce(l.meta, ''), E'\n' ORDER BY u.line) END AS meta
                FROM unnest(v_places, v_lines) WITH ORDINALITY AS u(place, line, ordinal)
                CROSS JOIN LATERAL (SELECT (v_letters[u.ordinal]).*) l GROUP BY u.place) s
          JOIN queen.partitions p ON p.id = s.partition_id JOIN queen.queues q ON q.id = p.queue_id) a
    CROSS JOIN LATERAL queen.push_messages(0, nextval('queen.sql_batches'), true, a.partitions, a.counts, a.payloads, a.none,
        a.metas, a.none, a.none, a.never, a.never, array_fill(NULL::boolean, ARRAY[v_segments]), a.zeros, a.zeros, a.encrypted) r
    WHERE r.status = 'queued';
    IF coalesce(cardinality(v_pushed), 0) <> v_segments THEN  -- its encryption was switched at this moment
        RAISE EXCEPTION 'the queue was changed while its dead letters were pushed' USING ERRCODE = '40001';
    END IF;

    INSERT INTO queen.hidden_messages (partition_id, from_seq, to_seq, only_group)
    SELECT l.partition_id, min(v_pushed[u.place] + u.line), max(v_pushed[u.place] + u.line) + 1, l.group_id
    FROM unnest(v_places, v_lines) WITH ORDINALITY AS u(place, line, ordinal)
    CROSS JOIN LATERAL (SELECT (v_letters[u.ordinal]).*) l GROUP BY l.partition_id, l.group_id;
    UPDATE queen.partitions p SET hides = true WHERE p.id = ANY (v_locked) AND NOT p.hides;
    PERFORM queen.raise_versions(ARRAY(SELECT p.queue_id FROM queen.partitions p WHERE p.id = ANY (v_locked)));

    RETURN QUERY
    SELECT l.partition_id, l.group_id, l.seq, v_pushed[u.place] + u.line, v_times[u.place] + u.line * interval '1 microsecond'
    FROM unnest(v_places, v_lines) WITH ORDINALITY AS u(place, line, ordinal)
    CROSS JOIN LATERAL (SELECT (v_letters[u.ordinal]).*) l;
END $$;
