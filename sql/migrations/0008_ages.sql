-- What is kept for a limited time is found by its age (sweep_aged).
CREATE INDEX traces_created_at ON queen.traces (created_at);
CREATE INDEX trace_names_trace ON queen.trace_names (trace_id);
CREATE INDEX early_groups_created_at ON queen.early_groups (created_at);

-- The ids of queries that were reset: whatever state has one of them is to be removed (sweep_stream_state).
CREATE TABLE queen.retired_queries (
    query_id   uuid PRIMARY KEY,
    retired_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO queen.retired_queries (query_id)
SELECT DISTINCT s.query_id FROM queen.stream_state s
WHERE NOT EXISTS (SELECT FROM queen.stream_queries q WHERE q.id = s.query_id);
