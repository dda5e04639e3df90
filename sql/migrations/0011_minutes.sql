-- What was done, minute by minute, for the pages that show rates and how the brokers feel. Every broker
-- writes rows of its own, by flush_minutes: absolute numbers of its minute, so that a write whose outcome is not
-- known can be repeated, and no row is ever shared. A process has a name of its own (broker), a new one at
-- each start. Rows are updated for a minute and then never again: half of each page is left free, so that those
-- updates stay within it. sweep_minutes removes what is old.

-- Something that was looked at several times in a minute.
CREATE TYPE queen.gauge AS (sum float8, min float8, max float8, last float8);

-- Batches of one kind sent to PostgreSQL.
CREATE TYPE queen.calls AS (count bigint, items bigint, micros bigint);

-- One row per queue that was used in the minute. The queue is kept by name: what happened stays true when
-- the queue is gone. '' stands for all queues beyond those a broker counts one by one.
CREATE TABLE queen.queue_minutes (
    minute        timestamptz NOT NULL,
    queue         text COLLATE "C" NOT NULL,
    broker        bigint NOT NULL,
    flush         bigint NOT NULL,      -- a later one knows more
    pushed        bigint NOT NULL DEFAULT 0,
    push_bytes    bigint NOT NULL DEFAULT 0,
    duplicates    bigint NOT NULL DEFAULT 0,
    buffered      bigint NOT NULL DEFAULT 0,
    popped        bigint NOT NULL DEFAULT 0,
    pops          bigint NOT NULL DEFAULT 0,
    empty_pops    bigint NOT NULL DEFAULT 0,
    acked         bigint NOT NULL DEFAULT 0,
    failed        bigint NOT NULL DEFAULT 0,
    dead_lettered bigint NOT NULL DEFAULT 0,
    retried       bigint NOT NULL DEFAULT 0,
    age_count     bigint NOT NULL DEFAULT 0,  -- of messages when they were delivered
    age_sum_ms    bigint NOT NULL DEFAULT 0,
    age_max_ms    bigint NOT NULL DEFAULT 0,
    parked_sum    bigint NOT NULL DEFAULT 0,  -- waiting pops, over the looks of broker_minutes.looks
    parked_max    bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (minute, queue, broker)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX queue_minutes_queue ON queen.queue_minutes (queue, minute);

-- One row per broker: the sums over all queues, and the broker itself.
CREATE TABLE queen.broker_minutes (
    minute             timestamptz NOT NULL,
    broker             bigint NOT NULL,
    flush              bigint NOT NULL,
    hostname           text NOT NULL,
    port               int NOT NULL,
    workers            int NOT NULL,
    looks              bigint NOT NULL DEFAULT 0,   -- behind the sums of gauges
    seen_at            timestamptz NOT NULL,
    pushed             bigint NOT NULL DEFAULT 0,
    push_bytes         bigint NOT NULL DEFAULT 0,
    duplicates         bigint NOT NULL DEFAULT 0,
    buffered           bigint NOT NULL DEFAULT 0,
    popped             bigint NOT NULL DEFAULT 0,
    pops               bigint NOT NULL DEFAULT 0,
    empty_pops         bigint NOT NULL DEFAULT 0,
    acked              bigint NOT NULL DEFAULT 0,
    failed             bigint NOT NULL DEFAULT 0,
    dead_lettered      bigint NOT NULL DEFAULT 0,
    retried            bigint NOT NULL DEFAULT 0,
    age_count          bigint NOT NULL DEFAULT 0,
    age_sum_ms         bigint NOT NULL DEFAULT 0,
    age_max_ms         bigint NOT NULL DEFAULT 0,
    push_requests      bigint NOT NULL DEFAULT 0,
    ack_requests       bigint NOT NULL DEFAULT 0,
    transactions       bigint NOT NULL DEFAULT 0,
    errors             bigint NOT NULL DEFAULT 0,   -- requests that the engine could not carry out
    cpu_user_micros    bigint NOT NULL DEFAULT 0,
    cpu_system_micros  bigint NOT NULL DEFAULT 0,
    push_calls         queen.calls,
    pop_calls          queen.calls,
    ack_calls          queen.calls,
    transaction_calls  queen.calls,
    renew_calls        queen.calls,
    rss_bytes          queen.gauge,
    slots_busy         queen.gauge,
    slots_total        queen.gauge,
    waiting_polls      queen.gauge,
    queued_items       queen.gauge,     -- that wait for a slot
    groups_backed_off  queen.gauge,
    buffered_messages  queen.gauge,     -- in the file buffer
    loop_lag_ms        queen.gauge,     -- of the slowest worker
    PRIMARY KEY (minute, broker)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- What retention removed: a row per sweep and queue, written by the sweep itself.
CREATE TABLE queen.retention_runs (
    at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    queue     text COLLATE "C" NOT NULL,
    retention bigint NOT NULL,          -- messages past retentionSeconds
    completed bigint NOT NULL,          -- past completedRetentionSeconds, consumed by all groups
    evicted   bigint NOT NULL           -- past maxWaitTimeSeconds
);
CREATE INDEX retention_runs_at ON queen.retention_runs (at);
