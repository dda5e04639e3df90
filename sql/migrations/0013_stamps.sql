-- What brokers compare when they append from memory.
-- stamp: which row of its epoch a row of progress is. A crash forgets what was committed asynchronously, and another
-- row may get the same epoch afterwards, never the same stamp. Rows that stand keep 0, without being rewritten; who
-- gives no stamp gets a random one.
ALTER TABLE queen.progress ADD COLUMN stamp bigint NOT NULL DEFAULT 0;
ALTER TABLE queen.progress ALTER COLUMN stamp SET DEFAULT uuid_hash_extended(gen_random_uuid(), 0);

-- version: rises with whatever makes a belief about a lane of the queue wrong and is not a row of progress or of
-- segments: its options, the deletion of a partition, group or message, a group's start (raise_versions).
ALTER TABLE queen.queues ADD COLUMN version bigint NOT NULL DEFAULT 0;
