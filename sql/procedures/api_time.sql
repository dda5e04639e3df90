-- A time as replies write it: 2026-01-31T23:59:59.123456Z. NULL stays NULL.
-- STABLE as to_char is: PostgreSQL then writes the body into the query instead of calling it.
CREATE OR REPLACE FUNCTION queen.api_time(p_time timestamptz)
RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT to_char(p_time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;
