-- Messages that groups are not to be given although they stand in the log (docs/decisions/0007): deleted ones, and
-- dead letters that were pushed again for the one group in which they had died. The ranges of a partition do not
-- overlap. A lease looks here only where the partition's row says that there is something.
CREATE TABLE queen.hidden_messages (
    partition_id int NOT NULL,
    from_seq     bigint NOT NULL,
    to_seq       bigint NOT NULL,               -- the first that is not in the range
    only_group   int NOT NULL DEFAULT 0,        -- who is given them all the same; 0: nobody
    PRIMARY KEY (partition_id, from_seq)
);
ALTER TABLE queen.partitions ADD COLUMN hides boolean NOT NULL DEFAULT false;

-- Lists and counts by queue or group (a group is of one queue), and a letter by its message.
CREATE INDEX dead_letters_group ON queen.dead_letters (group_id, failed_at, partition_id, seq);
CREATE INDEX dead_letters_message ON queen.dead_letters (partition_id, txn);

-- What report_lane knows of one lane (partition and group); its columns as in queen.progress and lane_numbers.
CREATE TYPE queen.lane_facts AS (
    cause         text,
    first         bigint,
    seq_end       bigint,
    cursor        bigint,
    pending       bigint,
    processing    bigint,
    expired       bigint,        -- removed by retention before the group had consumed them
    changed_at    timestamptz,
    head_at       timestamptz,   -- of the message at the cursor
    head_txn      text,
    head_failures int,
    deliveries    int,
    expires_at    timestamptz,
    lease_id      uuid,
    lease_since   timestamptz,
    lease_until   timestamptz,
    lease_end     bigint,
    ready_at      timestamptz,
    failing       json,
    last_error    text,
    dead_letters  bigint,
    dead_error    text,
    dead_at       timestamptz,
    push_paused   boolean,
    pop_paused    boolean
);
