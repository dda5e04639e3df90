-- What consumers note about messages. A trace names its message by partition and transactionId, like
-- an ack does, and may outlive it.
CREATE TABLE queen.traces (
    id             uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    partition_id   int NOT NULL,
    txn            text COLLATE "C" NOT NULL,
    consumer_group text,
    event_type     text NOT NULL,
    data           text NOT NULL,           -- JSON as it came
    worker_id      text,
    created_at     timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX traces_message ON queen.traces (partition_id, txn, created_at);

CREATE TABLE queen.trace_names (
    name         text COLLATE "C" NOT NULL,
    created_at   timestamptz NOT NULL,
    trace_id     uuid NOT NULL,
    partition_id int NOT NULL,
    PRIMARY KEY (name, created_at, trace_id)
);
CREATE INDEX trace_names_partition ON queen.trace_names (partition_id);
