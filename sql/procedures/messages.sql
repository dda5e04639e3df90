-- requires: ids
-- For people: one row per message; the line of one that was deleted is empty. json, not jsonb, which refuses valid documents such as "\u0000".
CREATE OR REPLACE VIEW queen.messages AS
    SELECT q.name AS queue, p.name AS partition, s.base_seq + l.line - 1 AS seq, i.id,
           coalesce(nullif(l.txn, ''), i.id::text) AS transaction_id,
           t.at AS created_at, l.payload::json AS payload, nullif(l.meta, '')::json AS meta
    FROM queen.segments s
    JOIN queen.partitions p ON p.id = s.partition_id
    JOIN queen.queues q ON q.id = p.queue_id
    CROSS JOIN LATERAL ROWS FROM (string_to_table(s.payloads, E'\n'), string_to_table(s.txns, E'\n'),
                                  string_to_table(s.meta, E'\n')) WITH ORDINALITY AS l(payload, txn, meta, line)
    CROSS JOIN LATERAL (SELECT s.created_at + (l.line - 1) * interval '1 microsecond') AS t(at)
    CROSS JOIN LATERAL (SELECT queen.message_id(t.at, p.id, s.base_seq + l.line - 1)) AS i(id)
    WHERE s.payloads IS NOT NULL AND l.payload <> '';
