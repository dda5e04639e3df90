-- Copies messages into the dead letters, by offset. Called only for verdicts that were really
-- recorded. A message that dies again after a seek replaces its older letter. One that was deleted (an empty line)
-- leaves none.
CREATE OR REPLACE FUNCTION queen.dead_letter(p_partitions int[], p_groups int[], p_seqs bigint[],
                                             p_errors text[], p_retry_counts int[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO queen.dead_letters (partition_id, group_id, seq, created_at, txn, payload, meta, error, retry_count)
    SELECT u.partition_id, u.group_id, u.seq,
           s.created_at + (u.seq - s.base_seq) * interval '1 microsecond',
           nullif(split_part(s.txns, E'\n', (u.seq - s.base_seq)::int + 1), ''),
           split_part(s.payloads, E'\n', (u.seq - s.base_seq)::int + 1),
           nullif(split_part(s.meta, E'\n', (u.seq - s.base_seq)::int + 1), ''),
           u.error, u.retry_count
    FROM unnest(p_partitions, p_groups, p_seqs, p_errors, p_retry_counts)
         AS u(partition_id, group_id, seq, error, retry_count)
    CROSS JOIN LATERAL (
        SELECT t.* FROM queen.segments t
        WHERE t.partition_id = u.partition_id AND t.base_seq <= u.seq
        ORDER BY t.base_seq DESC LIMIT 1) s
    WHERE u.seq < s.base_seq + s.count AND s.payloads IS NOT NULL
      AND split_part(s.payloads, E'\n', (u.seq - s.base_seq)::int + 1) <> ''
    ORDER BY 1, 2, 3
    ON CONFLICT (partition_id, group_id, seq)
    DO UPDATE SET error = excluded.error, retry_count = excluded.retry_count, failed_at = excluded.failed_at;
END $$;
