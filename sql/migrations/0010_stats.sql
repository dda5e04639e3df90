-- What the stats job has measured (measure_stats): one pass after the other over all partitions, by one broker at a
-- time. Rows are written only when a number has changed; how old the numbers are stands in stats_job. Reports join
-- the live queue, partition and group, so what was deleted is gone at once; its rows go with the next pass.

-- One row per queue. Messages are stored ones, each counted once, whatever the number of groups:
--   pending     some group has still to consume it; without groups: all
--   processing  of these, under a lease that lives
--   failed      of these, has failed and is to be delivered again
--   completed   every group has consumed it: stored = pending + completed
CREATE TABLE queen.queue_stats (
    queue_id             int PRIMARY KEY,
    partitions           bigint NOT NULL,
    stored               bigint NOT NULL,
    pending              bigint NOT NULL,
    processing           bigint NOT NULL,
    completed            bigint NOT NULL,
    failed               bigint NOT NULL,
    dead_letters         bigint NOT NULL,
    oldest_unconsumed_at timestamptz,       -- when the oldest pending message was pushed; NULL: none is pending
    newest_at            timestamptz        -- when the newest message was pushed, also if it is gone; NULL: none ever
) WITH (fillfactor = 50);

-- One row per group of a queue.
CREATE TABLE queen.group_stats (
    queue_id             int NOT NULL,
    group_id             int NOT NULL,
    pending              bigint NOT NULL,   -- its lag
    processing           bigint NOT NULL,
    failed               bigint NOT NULL,
    dead_letters         bigint NOT NULL,
    leased_partitions    bigint NOT NULL,
    lagging_partitions   bigint NOT NULL,   -- with something pending
    oldest_unconsumed_at timestamptz,
    last_change_at       timestamptz,       -- when it last took or settled something; NULL: never
    PRIMARY KEY (queue_id, group_id)
) WITH (fillfactor = 50);

-- A lane is one partition as one group sees it. One row per lane with something pending.
CREATE TABLE queen.lane_lags (
    queue_id             int NOT NULL,
    partition_id         int NOT NULL,
    group_id             int NOT NULL,
    pending              bigint NOT NULL,
    oldest_unconsumed_at timestamptz NOT NULL,
    PRIMARY KEY (queue_id, partition_id, group_id)
);
-- The most stuck first: of all, of a queue, of a group.
CREATE INDEX lane_lags_age ON queen.lane_lags (oldest_unconsumed_at);
CREATE INDEX lane_lags_queue_age ON queen.lane_lags (queue_id, oldest_unconsumed_at);
CREATE INDEX lane_lags_group_age ON queen.lane_lags (group_id, oldest_unconsumed_at);

-- Who measures, and what the last complete pass was.
CREATE TABLE queen.stats_job (
    one         boolean PRIMARY KEY DEFAULT true CHECK (one),  -- there is one row
    holder      uuid,                       -- the broker whose pass is under way
    held_until  timestamptz,                -- it is given up when it does not come back until then
    hurried     boolean NOT NULL DEFAULT false,  -- somebody waits for this pass
    started_at  timestamptz,                -- of the pass under way
    measured_at timestamptz,                -- when the last complete pass began: every number is at least as new
    finished_at timestamptz,                -- when it ended
    passes      bigint NOT NULL DEFAULT 0,
    partitions  bigint NOT NULL DEFAULT 0,  -- of the last complete pass
    busy_ms     bigint NOT NULL DEFAULT 0   -- time PostgreSQL spent on it
) WITH (fillfactor = 10);
INSERT INTO queen.stats_job DEFAULT VALUES;

-- Offsets whose messages were cleared while older ones of the partition are kept (clear_queue). Counts by
-- arithmetic leave them out; a lease never reaches across one.
CREATE TABLE queen.holes (
    partition_id int NOT NULL,
    base_seq     bigint NOT NULL,
    count        bigint NOT NULL CHECK (count > 0),
    PRIMARY KEY (partition_id, base_seq)
);
