-- Streaming queries and their state. A query that is reset gets a new id: a worker of the old one
-- finds its query gone, and the old state is swept.
CREATE TABLE queen.stream_queries (
    id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name         text COLLATE "C" NOT NULL UNIQUE,
    source_queue text NOT NULL,
    sink_queue   text,
    config_hash  text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE queen.stream_state (
    query_id     uuid NOT NULL,
    partition_id int NOT NULL,
    key          text COLLATE "C" NOT NULL,
    value        text NOT NULL,             -- JSON as it came
    window_end   numeric,                   -- value.windowEnd, epoch ms, where it is a number
    updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (query_id, partition_id, key)
);
CREATE INDEX stream_state_partition ON queen.stream_state (partition_id);
