-- Removes what deleted queues, partitions and groups have left behind: one step of at most about p_limit
-- rows, each call its own transaction. A transaction that was under way when its queue was deleted may
-- still leave rows, so each deletion is looked through a second time after p_grace. Returns how much
-- was removed, and whether to call again at once.
CREATE OR REPLACE FUNCTION queen.sweep_orphans(p_limit int, p_grace interval DEFAULT '10 minutes')
RETURNS TABLE (removed int, more boolean) LANGUAGE plpgsql AS $$
DECLARE
    v_job  queen.deletions;
    v_ids  int[];
    v_step int;
BEGIN
    removed := 0;
    SELECT d.* INTO v_job FROM queen.deletions d WHERE d.not_before <= clock_timestamp()
    ORDER BY d.id LIMIT 1 FOR UPDATE SKIP LOCKED;
    more := FOUND;
    IF NOT more THEN RETURN NEXT; RETURN; END IF;

    v_ids := CASE WHEN v_job.kind = 'partition' AND v_job.after_partition = 0 THEN ARRAY[v_job.object_id]
                  WHEN v_job.kind <> 'partition' THEN ARRAY(
                      SELECT p.id FROM queen.partitions p WHERE p.queue_id = v_job.queue_id
                      AND p.id > v_job.after_partition ORDER BY p.id LIMIT 50) ELSE '{}' END;
    IF cardinality(v_ids) > 0 THEN
        removed := queen.empty_partitions(v_ids, CASE WHEN v_job.kind = 'group' THEN v_job.object_id END, p_limit);
        IF removed < p_limit THEN  -- these are empty
            UPDATE queen.deletions d SET after_partition = v_ids[cardinality(v_ids)] WHERE d.id = v_job.id;
        END IF;
    ELSIF v_job.created_at > clock_timestamp() - p_grace THEN
        UPDATE queen.deletions d SET after_partition = 0, not_before = v_job.created_at + p_grace WHERE d.id = v_job.id;
    ELSE
        IF v_job.kind = 'group' THEN
            DELETE FROM queen.group_starts b WHERE b.group_id = v_job.object_id;
        ELSIF v_job.kind = 'queue' THEN
            DELETE FROM queen.group_starts b USING queen.groups g WHERE g.queue_id = v_job.queue_id AND b.group_id = g.id;
            DELETE FROM queen.groups g WHERE g.queue_id = v_job.queue_id;
            DELETE FROM queen.family_queues j WHERE j.queue_id = v_job.queue_id;
            DELETE FROM queen.partitions p WHERE p.id IN (
                SELECT x.id FROM queen.partitions x WHERE x.queue_id = v_job.queue_id LIMIT p_limit);
            GET DIAGNOSTICS removed = ROW_COUNT;
        END IF;
        IF removed < p_limit THEN
            DELETE FROM queen.deletions d WHERE d.id = v_job.id;
        END IF;
    END IF;
    RETURN NEXT;
END $$;

-- Deletes at most about p_limit rows of partitions; with p_group_id only that group's.
CREATE OR REPLACE FUNCTION queen.empty_partitions(p_partitions int[], p_group_id int, p_limit int)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_total int := 0;
    v_step  int;
BEGIN
    DELETE FROM queen.progress r WHERE (r.partition_id, r.group_id, r.epoch) IN (
        SELECT x.partition_id, x.group_id, x.epoch FROM queen.progress x
        WHERE x.partition_id = ANY (p_partitions) AND (p_group_id IS NULL OR x.group_id = p_group_id) LIMIT p_limit);
    GET DIAGNOSTICS v_step = ROW_COUNT;
    v_total := v_total + v_step;
    IF v_total >= p_limit THEN RETURN v_total; END IF;
    DELETE FROM queen.dead_letters r WHERE (r.partition_id, r.group_id, r.seq) IN (
        SELECT x.partition_id, x.group_id, x.seq FROM queen.dead_letters x
        WHERE x.partition_id = ANY (p_partitions) AND (p_group_id IS NULL OR x.group_id = p_group_id) LIMIT p_limit - v_total);
    GET DIAGNOSTICS v_step = ROW_COUNT;
    v_total := v_total + v_step;
    IF v_total >= p_limit OR p_group_id IS NOT NULL THEN RETURN v_total; END IF;
    DELETE FROM queen.segments r WHERE (r.partition_id, r.base_seq) IN (
        SELECT x.partition_id, x.base_seq FROM queen.segments x WHERE x.partition_id = ANY (p_partitions) LIMIT p_limit - v_total);
    GET DIAGNOSTICS v_step = ROW_COUNT;
    v_total := v_total + v_step;
    IF v_total >= p_limit THEN RETURN v_total; END IF;
    DELETE FROM queen.holes r WHERE r.partition_id = ANY (p_partitions);
    DELETE FROM queen.dedup r WHERE (r.partition_id, r.txn) IN (
        SELECT x.partition_id, x.txn FROM queen.dedup x WHERE x.partition_id = ANY (p_partitions) LIMIT p_limit - v_total);
    GET DIAGNOSTICS v_step = ROW_COUNT;
    v_total := v_total + v_step;
    IF v_total >= p_limit THEN RETURN v_total; END IF;
    DELETE FROM queen.dedup_hashes r WHERE (r.partition_id, r.from_seq, r.level, r.first_hash) IN (
        SELECT x.partition_id, x.from_seq, x.level, x.first_hash FROM queen.dedup_hashes x
        WHERE x.partition_id = ANY (p_partitions) LIMIT p_limit - v_total);
    GET DIAGNOSTICS v_step = ROW_COUNT;
    v_total := v_total + v_step;
    IF v_total >= p_limit THEN RETURN v_total; END IF;
    DELETE FROM queen.dedup_runs r WHERE (r.partition_id, r.from_seq, r.level) IN (
        SELECT x.partition_id, x.from_seq, x.level FROM queen.dedup_runs x WHERE x.partition_id = ANY (p_partitions) LIMIT p_limit - v_total);
    GET DIAGNOSTICS v_step = ROW_COUNT;
    v_total := v_total + v_step;
    IF v_total >= p_limit THEN RETURN v_total; END IF;
    DELETE FROM queen.hidden_messages r WHERE (r.partition_id, r.from_seq) IN (
        SELECT x.partition_id, x.from_seq FROM queen.hidden_messages x WHERE x.partition_id = ANY (p_partitions) LIMIT p_limit - v_total);
    GET DIAGNOSTICS v_step = ROW_COUNT;
    v_total := v_total + v_step;
    IF v_total >= p_limit THEN RETURN v_total; END IF;
    DELETE FROM queen.trace_names r WHERE (r.name, r.created_at, r.trace_id) IN (
        SELECT x.name, x.created_at, x.trace_id FROM queen.trace_names x WHERE x.partition_id = ANY (p_partitions) LIMIT p_limit - v_total);
    GET DIAGNOSTICS v_step = ROW_COUNT;
    v_total := v_total + v_step;
    IF v_total >= p_limit THEN RETURN v_total; END IF;
    DELETE FROM queen.traces r WHERE r.id IN (
        SELECT x.id FROM queen.traces x WHERE x.partition_id = ANY (p_partitions) LIMIT p_limit - v_total);
    GET DIAGNOSTICS v_step = ROW_COUNT;
    v_total := v_total + v_step;
    IF v_total >= p_limit THEN RETURN v_total; END IF;
    DELETE FROM queen.stream_state r WHERE (r.query_id, r.partition_id, r.key) IN (
        SELECT x.query_id, x.partition_id, x.key FROM queen.stream_state x WHERE x.partition_id = ANY (p_partitions) LIMIT p_limit - v_total);
    GET DIAGNOSTICS v_step = ROW_COUNT;
    RETURN v_total + v_step;
END $$;
