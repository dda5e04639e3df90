-- requires: ids
-- For people: one row per message. json, not jsonb, which refuses valid documents such as "\u0000".
CREATE OR REPLACE VIEW queen.messages AS
    SELECT q.name AS queue, p.name AS partition, s.base_seq + l.line - 1 AS seq,
           queen.message_id(t.at, p.id, s.base_seq + l.line - 1) AS id,
           coalesce(nullif(split_part(s.txns, E'\n', l.line::int), ''),
                    queen.message_id(t.at, p.id, s.base_seq + l.line - 1)::text) AS transaction_id,
           t.at AS created_at, l.payload::json AS payload,
           nullif(split_part(s.meta, E'\n', l.line::int), '')::json AS meta
    FROM queen.segments s
    JOIN queen.partitions p ON p.id = s.partition_id
    JOIN queen.queues q ON q.id = p.queue_id
    CROSS JOIN LATERAL string_to_table(s.payloads, E'\n') WITH ORDINALITY AS l(payload, line)
    CROSS JOIN LATERAL (SELECT s.created_at + (l.line - 1) * interval '1 microsecond') AS t(at);
