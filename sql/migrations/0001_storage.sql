-- The tables. Two rules shape them (docs/decisions/0001-append-only.md):
--   * on the push, pop and ack paths rows are only inserted, never updated;
--   * ids of queues, partitions and groups are new on every creation and never used again, so hot
--     tables need no foreign keys: procedures join the live row, sweeps remove what is orphaned.

CREATE TABLE queen.queues (
    id                          int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name                        text COLLATE "C" NOT NULL UNIQUE,
    namespace                   text COLLATE "C" NOT NULL,
    task                        text COLLATE "C" NOT NULL,
    created_at                  timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- options, by the names of the contract; NULL in retention_enabled means "never set"
    lease_time                  int NOT NULL DEFAULT 300,
    retry_limit                 int NOT NULL DEFAULT 3,
    retry_delay                 int NOT NULL DEFAULT 0,
    max_deliveries              int NOT NULL DEFAULT 0,
    dead_letter_queue           boolean NOT NULL DEFAULT false,
    dlq_after_max_retries       boolean NOT NULL DEFAULT false,
    delayed_processing          int NOT NULL DEFAULT 0,
    window_buffer               int NOT NULL DEFAULT 0,
    retention_enabled           boolean,
    retention_seconds           int NOT NULL DEFAULT 0,
    completed_retention_seconds int NOT NULL DEFAULT 0,
    max_wait_time_seconds       int NOT NULL DEFAULT 0,
    max_size                    bigint NOT NULL DEFAULT 0,
    ttl                         int NOT NULL DEFAULT 3600,
    priority                    int NOT NULL DEFAULT 0,
    encryption_enabled          boolean NOT NULL DEFAULT false
);
CREATE INDEX queues_namespace_task ON queen.queues (namespace, task);

CREATE TABLE queen.partitions (
    id         int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue_id   int NOT NULL,
    name       text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (queue_id, name)
);
-- Wildcard resolution pages through a queue's partitions by id.
CREATE INDEX partitions_queue ON queen.partitions (queue_id, id);

-- A consumer group of one queue. Its start is decided once (start_mode):
--   all   from the oldest retained message
--   new   from the offsets in group_starts; partitions without one were born later and start at 0
--   time  from the first message at or after start_time
CREATE TABLE queen.groups (
    id         int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue_id   int NOT NULL,
    name       text COLLATE "C" NOT NULL,
    start_mode text NOT NULL CHECK (start_mode IN ('all', 'new', 'time')),
    start_time timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (queue_id, name)
);

CREATE TABLE queen.group_starts (
    group_id     int NOT NULL,
    partition_id int NOT NULL,
    seq          bigint NOT NULL,
    PRIMARY KEY (group_id, partition_id)
);

-- The start of a group that popped before its queue existed. Such a group missed nothing, so `new`
-- means from offset 0.
CREATE TABLE queen.early_groups (
    queue_name text COLLATE "C" NOT NULL,
    group_name text COLLATE "C" NOT NULL,
    start_time timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (queue_name, group_name)
);

-- The log. One row holds the messages base_seq .. base_seq + count - 1 of a partition, one JSON
-- document per line; message i was created at created_at + i microseconds. payloads is NULL in a
-- blanked segment: its messages are gone, its end and its clock are still needed.
CREATE TABLE queen.segments (
    partition_id int NOT NULL,
    count        int NOT NULL CHECK (count > 0),
    base_seq     bigint NOT NULL,
    created_at   timestamptz NOT NULL,
    payloads     text,
    txns         text,
    meta         text,
    PRIMARY KEY (partition_id, base_seq)
) WITH (vacuum_truncate = off, toast.vacuum_truncate = off,
        autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_scale_factor = 0.05,
        autovacuum_vacuum_insert_scale_factor = 0.2);

-- transactionIds that cannot be found through the time inside them (dedup_window explains).
CREATE TABLE queen.dedup (
    partition_id int NOT NULL,
    txn          text COLLATE "C" NOT NULL,
    seq          bigint NOT NULL,
    PRIMARY KEY (partition_id, txn)
) WITH (vacuum_truncate = off);
CREATE INDEX dedup_seq ON queen.dedup (partition_id, seq);

-- What each group has done on each partition. The row with the highest epoch is the state; every
-- change inserts epoch + 1 and a loser of the race reads again. Bits in settled and failed count
-- from cursor; bit 0 of settled is never set, since cursor is the first unsettled message.
CREATE TABLE queen.progress (
    partition_id   int NOT NULL,
    group_id       int NOT NULL,
    epoch          bigint NOT NULL,
    cursor         bigint NOT NULL,
    settled        bit varying,
    failed         bit varying,             -- failed in the present lease, to be delivered again
    attempt_seqs   bigint[],                -- messages that have failed, and how often
    attempt_counts int[],
    lease_id       uuid,
    lease_until    timestamptz,
    lease_end      bigint,                  -- the lease covers what is unsettled below this offset
    lease_seconds  int,
    deliveries     int NOT NULL DEFAULT 0,  -- of the message at cursor, without a verdict
    ready_at       timestamptz,             -- retryDelay: nothing is delivered before
    window_end     bigint,                  -- windowBuffer: released up to this offset
    changed_at     timestamptz NOT NULL,
    PRIMARY KEY (partition_id, group_id, epoch)
) WITH (vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.05,
        autovacuum_vacuum_insert_scale_factor = 0.2);
CREATE INDEX progress_lease ON queen.progress (lease_id) WHERE lease_id IS NOT NULL;

-- Copies, not references: a dead letter outlives its message.
CREATE TABLE queen.dead_letters (
    partition_id int NOT NULL,
    group_id     int NOT NULL,
    seq          bigint NOT NULL,
    created_at   timestamptz NOT NULL,      -- of the message
    txn          text,
    payload      text NOT NULL,
    meta         text,
    error        text,
    retry_count  int NOT NULL,
    failed_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (partition_id, group_id, seq)
);
CREATE INDEX dead_letters_failed_at ON queen.dead_letters (failed_at);

-- One row per write transaction of a broker, inserted in that transaction. After a connection is
-- lost the broker inserts the same key again: a conflict means "it committed, and here is where",
-- success means "it never will" (resolve_batch). Read in order of xid it also tells every broker what
-- the others have written (tail_batches): partitions[i] got a segment at base_seqs[i], or, without
-- base_seqs, may have become ready in another way.
CREATE TABLE queen.batches (
    broker     bigint NOT NULL,
    n          bigint NOT NULL,
    xid        xid8 NOT NULL DEFAULT pg_current_xact_id(),
    partitions int[] NOT NULL DEFAULT '{}',
    base_seqs  bigint[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (broker, n)
) WITH (vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX batches_xid ON queen.batches (xid);
CREATE SEQUENCE queen.sql_batches;   -- n of pushes made from SQL, whose broker is 0

-- Deleted queues, partitions and groups whose rows sweep_orphans has still to remove. The object itself
-- is gone at once; after_partition and not_before are the sweep's notes.
CREATE TABLE queen.deletions (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind            text NOT NULL CHECK (kind IN ('queue', 'partition', 'group')),
    queue_id        int NOT NULL,
    object_id       int NOT NULL,
    after_partition int NOT NULL DEFAULT 0,
    not_before      timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE queen.system_state (
    name       text PRIMARY KEY,
    value      jsonb NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- lz4 costs a third of pglz's time; a server built without it keeps its default.
DO $$
BEGIN
    ALTER TABLE queen.segments ALTER COLUMN payloads SET COMPRESSION lz4,
                               ALTER COLUMN txns SET COMPRESSION lz4,
                               ALTER COLUMN meta SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    RAISE NOTICE 'this server has no lz4; segments use its default compression';
END $$;

-- What pop_sm_lease carries from the statement that leases to the one that checks and answers.
CREATE TYPE queen.lease_row AS (
    ordinal         int,
    partition_id    int,
    group_id        int,
    epoch           bigint,     -- of the row inserted, NULL when none was
    state           text,
    ready_in_ms     bigint,
    cursor          bigint,
    lease_end       bigint,
    lease_until     timestamptz,
    settled         bit varying,
    attempt_seqs    bigint[],
    attempt_counts  int[],
    segment_bases   bigint[],
    segment_counts  int[],
    segment_times   timestamptz[]
);

-- The same for ack_messages.
CREATE TYPE queen.ack_row AS (
    ordinal      int,
    partition_id int,
    group_id     int,
    epoch        bigint,        -- of the row inserted, NULL when none was
    state        text,
    cursor       bigint,        -- this and the next three as they were before
    settled      bit varying,
    failed       bit varying,
    lease_end    bigint,
    new_cursor   bigint,
    released     boolean,
    ready_at     timestamptz,
    dead_seqs    bigint[],
    dead_errors  text[],
    dead_counts  int[]
);
