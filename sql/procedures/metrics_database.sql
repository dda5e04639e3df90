-- How the database itself fares, for the metrics of a broker: a kind, what it is about ('' = the database), a value.
--   live_tuples, dead_tuples, bytes   of each of our tables, the bytes with indexes and TOAST
--   xmin_age                          how many transactions lie between the oldest row version that somebody may
--                                     still need and now: vacuum removes nothing younger. Of sessions, prepared
--                                     transactions and replication slots, as far as the broker's role may see them
--   oldest_transaction_seconds        of this database
--   connections, connections_max      of the whole server
--   stats_age_seconds                 how old the numbers of the stats job are; no row before its first pass
-- Cost: one row per table and per session.
CREATE OR REPLACE FUNCTION queen.metrics_database()
RETURNS TABLE (kind text, subject text, value float8)
LANGUAGE sql STABLE AS $$
    SELECT v.kind, t.relname::text, v.value
    FROM pg_stat_user_tables t
    CROSS JOIN LATERAL (VALUES ('live_tuples', t.n_live_tup::float8), ('dead_tuples', t.n_dead_tup::float8),
                               ('bytes', pg_total_relation_size(t.relid)::float8)) AS v(kind, value)
    WHERE t.schemaname = 'queen'
    UNION ALL
    SELECT 'xmin_age', '', coalesce(max(x.age), 0)::float8
    FROM (SELECT age(a.backend_xmin) AS age FROM pg_stat_activity a WHERE a.pid <> pg_backend_pid()
          UNION ALL SELECT age(p.transaction) FROM pg_prepared_xacts p
          UNION ALL SELECT greatest(age(r.xmin), age(r.catalog_xmin)) FROM pg_replication_slots r) x
    UNION ALL
    SELECT 'oldest_transaction_seconds', '',
           coalesce(extract(epoch FROM clock_timestamp() - min(a.xact_start)), 0)::float8
    FROM pg_stat_activity a WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
    UNION ALL
    SELECT 'connections', '', count(*)::float8 FROM pg_stat_activity a WHERE a.backend_type = 'client backend'
    UNION ALL
    SELECT 'connections_max', '', current_setting('max_connections')::float8
    UNION ALL
    SELECT 'stats_age_seconds', '', greatest(0, extract(epoch FROM clock_timestamp() - j.measured_at))::float8
    FROM queen.stats_job j WHERE j.measured_at IS NOT NULL
$$;
