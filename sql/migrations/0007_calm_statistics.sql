-- Every vacuum and every ANALYZE of a table makes all sessions plan anew what they have planned for it, some
-- 7 ms in each. Under load the three tables of the hot path would meet both every few seconds, for nothing: their
-- statements are probes of keys, planned the same whatever the statistics say. So they are never analyzed by
-- autovacuum, and vacuumed for what was removed, not for what was added, until that is a million rows.
ALTER TABLE queen.segments SET (autovacuum_analyze_threshold = 2000000000, autovacuum_vacuum_insert_threshold = 1000000);
ALTER TABLE queen.progress SET (autovacuum_analyze_threshold = 2000000000, autovacuum_vacuum_insert_threshold = 1000000);
ALTER TABLE queen.batches SET (autovacuum_analyze_threshold = 2000000000, autovacuum_vacuum_insert_threshold = 1000000);
