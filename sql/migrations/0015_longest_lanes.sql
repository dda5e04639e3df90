-- The page of partitions by lag has one row per partition, and an index that is in its order: however far down the
-- list a page begins, nothing is compared and nothing sorted.

-- longest: of the partition's lanes the one whose message waits longest.
ALTER TABLE queen.lane_lags ADD COLUMN longest boolean NOT NULL DEFAULT false;
UPDATE queen.lane_lags l SET longest = true
FROM (SELECT DISTINCT ON (x.queue_id, x.partition_id) x.queue_id, x.partition_id, x.group_id FROM queen.lane_lags x
      ORDER BY x.queue_id, x.partition_id, x.oldest_unconsumed_at, x.group_id) f
WHERE l.queue_id = f.queue_id AND l.partition_id = f.partition_id AND l.group_id = f.group_id;

-- The page reads nothing but the index where vacuum has been; so it comes before the rest is dead.
CREATE INDEX lane_lags_longest ON queen.lane_lags (oldest_unconsumed_at, partition_id) WHERE longest;
CREATE INDEX lane_lags_queue_longest ON queen.lane_lags (queue_id, oldest_unconsumed_at, partition_id) WHERE longest;
DROP INDEX queen.lane_lags_queue_age;
ALTER TABLE queen.lane_lags SET (autovacuum_vacuum_scale_factor = 0.05);
