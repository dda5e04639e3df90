-- How old the measured numbers may be, in seconds (measure_stats); NULL: they have never been measured.
CREATE OR REPLACE FUNCTION queen.stats_age() RETURNS numeric LANGUAGE sql STABLE AS $$
    SELECT greatest(0, round(extract(epoch FROM clock_timestamp() - j.measured_at), 3)) FROM queen.stats_job j
$$;

-- The seconds since a time, for replies; NULL stays NULL.
CREATE OR REPLACE FUNCTION queen.seconds_since(p_time timestamptz, p_now timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT greatest(0, floor(extract(epoch FROM p_now - p_time)))::bigint
$$;
