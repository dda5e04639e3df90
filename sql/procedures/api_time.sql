-- A time as replies write it: 2026-01-31T23:59:59.123456Z. NULL stays NULL.
CREATE OR REPLACE FUNCTION queen.api_time(p_time timestamptz)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT to_char(p_time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;
