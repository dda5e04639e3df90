-- requires: api_time
-- The reply of a refresh of the numbers: what the last complete pass was.
CREATE OR REPLACE FUNCTION queen.report_stats() RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object(
        'success', true, 'measuredAt', queen.api_time(j.measured_at), 'partitions', j.partitions,
        'durationMs', round(extract(epoch FROM j.finished_at - j.measured_at) * 1000), 'busyMs', j.busy_ms)
    FROM queen.stats_job j
$$;
