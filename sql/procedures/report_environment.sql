-- requires: api_time
-- GET /api/v1/system/environment: what the broker stands on. PostgreSQL's version, its clock at this moment, and the
-- settings that decide over safety and speed: numbers in the unit of pg_settings, others as their text.
--   p_disks  what the broker knows of its own disks, as JSON
CREATE OR REPLACE FUNCTION queen.report_environment(p_disks text) RETURNS json LANGUAGE sql AS $$
    SELECT json_build_object(
        'databaseTime', queen.api_time(clock_timestamp()),
        'version', current_setting('server_version'),
        'versionNumber', current_setting('server_version_num')::int,
        'disks', p_disks::json,
        'settings', (SELECT json_object_agg(s.name, CASE WHEN s.vartype IN ('integer', 'real') THEN to_json(s.setting::numeric)
                                                        ELSE to_json(s.setting) END ORDER BY s.name)
                     FROM pg_settings s
                     WHERE s.name IN ('autovacuum', 'checkpoint_timeout', 'fsync', 'full_page_writes', 'max_connections',
                                      'max_wal_size', 'shared_buffers', 'synchronous_commit', 'track_counts')))
$$;
