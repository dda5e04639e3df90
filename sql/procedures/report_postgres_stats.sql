-- requires: api_time
-- a / (a + b) in percent; NULL where there was nothing.
CREATE OR REPLACE FUNCTION queen.hit_percent(p_hits bigint, p_reads bigint)
RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
    SELECT round(100.0 * p_hits / nullif(p_hits + p_reads, 0), 2)
$$;

-- GET /api/v1/analytics/postgres-stats: how PostgreSQL fares with our tables, at this moment. Works for a role without
-- any privilege: what others run is then counted but not described, and fullyVisible says so.
CREATE OR REPLACE FUNCTION queen.report_postgres_stats()
RETURNS json LANGUAGE sql AS $$
    WITH tables AS MATERIALIZED (
        SELECT s.relid, s.relname::text AS name, s.n_live_tup AS live, s.n_dead_tup AS dead, s.n_tup_upd AS updates,
               s.n_tup_hot_upd AS hot_updates, s.last_vacuum, s.last_autovacuum, s.autovacuum_count,
               coalesce(io.heap_blks_hit, 0) + coalesce(io.toast_blks_hit, 0) AS hits,
               coalesce(io.heap_blks_read, 0) + coalesce(io.toast_blks_read, 0) AS reads,
               pg_total_relation_size(s.relid) AS total_bytes, pg_table_size(s.relid) AS table_bytes,
               pg_indexes_size(s.relid) AS index_bytes, age(c.relfrozenxid) AS xid_age
        FROM pg_stat_user_tables s
        JOIN pg_statio_user_tables io ON io.relid = s.relid
        JOIN pg_class c ON c.oid = s.relid
        WHERE s.schemaname = 'queen'
    ),
    indexes AS MATERIALIZED (
        SELECT i.indexrelname::text AS name, i.relname::text AS table_name, i.idx_blks_hit AS hits, i.idx_blks_read AS reads
        FROM pg_statio_user_indexes i WHERE i.schemaname = 'queen'
    ),
    sessions AS MATERIALIZED (
        SELECT a.pid, a.state, a.wait_event_type, a.wait_event, left(a.query, 500) AS query, a.xact_start, a.backend_xmin,
               extract(epoch FROM clock_timestamp() - a.query_start) AS query_seconds
        FROM pg_stat_activity a
        WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
    ),
    d AS (SELECT x.* FROM pg_stat_database x WHERE x.datname = current_database())
    SELECT json_build_object(
        'timestamp', queen.api_time(clock_timestamp()),
        'database', current_database(),
        'version', current_setting('server_version'),
        'databaseSizeBytes', pg_database_size(current_database()),
        'fullyVisible', pg_has_role('pg_read_all_stats', 'USAGE'),
        'databaseCache', (SELECT json_build_object('cacheHits', d.blks_hit, 'diskReads', d.blks_read,
            'cacheHitRatio', queen.hit_percent(d.blks_hit, d.blks_read)) FROM d),
        'cacheSummary', json_build_object(
            'tables', (SELECT json_build_object('cacheHits', sum(t.hits), 'diskReads', sum(t.reads),
                'hitRatio', queen.hit_percent(sum(t.hits)::bigint, sum(t.reads)::bigint)) FROM tables t),
            'indexes', (SELECT json_build_object('cacheHits', sum(i.hits), 'diskReads', sum(i.reads),
                'hitRatio', queen.hit_percent(sum(i.hits)::bigint, sum(i.reads)::bigint)) FROM indexes i)),
        'bufferConfig', json_build_object('sharedBuffersSize', current_setting('shared_buffers')),
        'tableCache', (SELECT coalesce(json_agg(json_build_object('table', t.name, 'diskReads', t.reads, 'cacheHits', t.hits,
            'cacheHitRatio', queen.hit_percent(t.hits, t.reads)) ORDER BY t.reads DESC, t.name), '[]') FROM tables t),
        'indexCache', (SELECT coalesce(json_agg(json_build_object('index', i.name, 'table', i.table_name,
            'diskReads', i.reads, 'cacheHits', i.hits, 'cacheHitRatio', queen.hit_percent(i.hits, i.reads))
            ORDER BY i.reads DESC, i.name), '[]') FROM (SELECT * FROM indexes ORDER BY reads DESC, name LIMIT 20) i),
        'tableSizes', (SELECT coalesce(json_agg(json_build_object('table', t.name,
            'totalSize', pg_size_pretty(t.total_bytes), 'tableSize', pg_size_pretty(t.table_bytes),
            'indexSize', pg_size_pretty(t.index_bytes), 'totalBytes', t.total_bytes, 'tableBytes', t.table_bytes,
            'indexBytes', t.index_bytes, 'rowsEstimated', t.live) ORDER BY t.total_bytes DESC, t.name), '[]') FROM tables t),
        'deadTuples', (SELECT coalesce(json_agg(json_build_object('table', t.name, 'deadTuples', t.dead, 'liveTuples', t.live,
            'deadPercentage', round(100.0 * t.dead / nullif(t.dead + t.live, 0), 2),
            'lastVacuum', queen.api_time(t.last_vacuum), 'lastAutovacuum', queen.api_time(t.last_autovacuum))
            ORDER BY t.dead DESC, t.name), '[]') FROM tables t WHERE t.dead > 0),
        'hotUpdates', (SELECT coalesce(json_agg(json_build_object('table', t.name, 'totalUpdates', t.updates,
            'hotUpdates', t.hot_updates, 'hotUpdatePercentage', round(100.0 * t.hot_updates / t.updates, 2))
            ORDER BY t.updates DESC, t.name), '[]') FROM tables t WHERE t.updates > 0),
        'autovacuumStatus', (SELECT coalesce(json_agg(json_build_object('table', t.name, 'deadTuples', t.dead,
            'autovacuumCount', t.autovacuum_count, 'lastAutovacuum', queen.api_time(t.last_autovacuum),
            'xidAge', t.xid_age) ORDER BY t.dead DESC, t.name), '[]') FROM tables t),
        'connections', (SELECT json_build_object('total', count(*) + 1,
            'active', count(*) FILTER (WHERE s.state = 'active') + 1,
            'idle', count(*) FILTER (WHERE s.state = 'idle'),
            'idleInTransaction', count(*) FILTER (WHERE s.state LIKE 'idle in transaction%'),
            'max', current_setting('max_connections')::int) FROM sessions s),
        'activeQueries', (SELECT coalesce(json_agg(json_build_object('pid', s.pid, 'state', s.state,
            'duration', round(s.query_seconds, 1), 'query', s.query, 'waitEventType', s.wait_event_type,
            'waitEvent', s.wait_event) ORDER BY s.query_seconds DESC), '[]')
            FROM (SELECT * FROM sessions x WHERE x.state <> 'idle' AND x.query_seconds > 1
                  ORDER BY x.query_seconds DESC LIMIT 20) s),
        'transactions', (SELECT json_build_object(
            'longestSeconds', coalesce(round(extract(epoch FROM clock_timestamp() - min(s.xact_start)), 1), 0),
            -- by what is visible of snapshots, and by the oldest transaction that writes, which everybody sees
            'xminAge', greatest(coalesce(max(age(s.backend_xmin)), 0),
                (pg_snapshot_xmax(pg_current_snapshot())::text::numeric
                 - pg_snapshot_xmin(pg_current_snapshot())::text::numeric)::bigint)) FROM sessions s),
        'wal', (SELECT json_build_object('position', pg_current_wal_lsn()::text, 'bytesSinceReset', w.wal_bytes,
            'bytesPerSecond', round(w.wal_bytes / greatest(1, extract(epoch FROM clock_timestamp() - w.stats_reset))),
            'statsReset', queen.api_time(w.stats_reset)) FROM pg_stat_wal w),
        'replication', json_build_object(
            'slots', (SELECT coalesce(json_agg(json_build_object('name', r.slot_name, 'type', r.slot_type,
                'active', r.active, 'retainedBytes', pg_current_wal_lsn() - r.restart_lsn) ORDER BY r.slot_name), '[]')
                FROM pg_replication_slots r),
            'standbys', (SELECT coalesce(json_agg(json_build_object('name', r.application_name, 'state', r.state,
                'syncState', r.sync_state, 'lagBytes', pg_current_wal_lsn() - r.replay_lsn) ORDER BY r.application_name), '[]')
                FROM pg_stat_replication r)))
$$;
