-- The minutes of 0011 added up by the hour, for pages that show days: what they read does not grow with the number of
-- minutes. add_up_hour makes the rows of an hour once it has ended and marks it in queen.hours; a page reads these for
-- hours that are marked and the minutes for all others, so it shows the same numbers either way. Minutes that come late
-- take the mark away (flush_minutes), and the hour is added up again.
CREATE TABLE queen.hours (
    hour timestamptz PRIMARY KEY        -- full hours of UTC
);

-- One row per queue that was used in the hour, of all brokers.
CREATE TABLE queen.queue_hours (
    hour          timestamptz NOT NULL,
    queue         text COLLATE "C" NOT NULL,
    pushed        bigint NOT NULL,
    push_bytes    bigint NOT NULL,
    duplicates    bigint NOT NULL,
    buffered      bigint NOT NULL,
    popped        bigint NOT NULL,
    pops          bigint NOT NULL,
    empty_pops    bigint NOT NULL,
    acked         bigint NOT NULL,
    failed        bigint NOT NULL,
    dead_lettered bigint NOT NULL,
    age_count     bigint NOT NULL,
    age_sum_ms    bigint NOT NULL,
    age_max_ms    bigint NOT NULL,
    parked        float8 NOT NULL,      -- the sum over its minutes of the pops that waited on average
    PRIMARY KEY (hour, queue)
);
CREATE INDEX queue_hours_queue ON queen.queue_hours (queue, hour);

-- The pops that waited, of each broker on its own.
CREATE TABLE queen.parked_hours (
    hour       timestamptz NOT NULL,
    queue      text COLLATE "C" NOT NULL,
    hostname   text NOT NULL,
    port       int NOT NULL,
    parked     float8 NOT NULL,
    parked_max bigint NOT NULL,
    PRIMARY KEY (queue, hour, hostname, port)
);
CREATE INDEX parked_hours_hour ON queen.parked_hours (hour);

-- One row per broker, told apart by host and port, whatever its processes were.
CREATE TABLE queen.broker_hours (
    hour              timestamptz NOT NULL,
    hostname          text NOT NULL,
    port              int NOT NULL,
    minutes           bigint NOT NULL,      -- added up
    looks             bigint NOT NULL,
    seen_at           timestamptz NOT NULL,
    pushed            bigint NOT NULL,
    push_bytes        bigint NOT NULL,
    duplicates        bigint NOT NULL,
    buffered          bigint NOT NULL,
    popped            bigint NOT NULL,
    pops              bigint NOT NULL,
    empty_pops        bigint NOT NULL,
    acked             bigint NOT NULL,
    failed            bigint NOT NULL,
    dead_lettered     bigint NOT NULL,
    age_count         bigint NOT NULL,
    age_sum_ms        bigint NOT NULL,
    age_max_ms        bigint NOT NULL,
    push_requests     bigint NOT NULL,
    ack_requests      bigint NOT NULL,
    transactions      bigint NOT NULL,
    errors            bigint NOT NULL,
    calls             bigint,               -- of all kinds
    call_micros       bigint,
    cpu_user          queen.gauge,          -- hundredths of a percent of a core, over the minutes
    cpu_system        queen.gauge,
    rss_bytes         queen.gauge,          -- this and the others: over the looks
    slots_busy        queen.gauge,
    slots_total       queen.gauge,
    slots_free        queen.gauge,
    waiting_polls     queen.gauge,
    queued_items      queen.gauge,
    groups_backed_off queen.gauge,
    buffered_messages queen.gauge,
    loop_lag_ms       queen.gauge,
    PRIMARY KEY (hour, hostname, port)
);
