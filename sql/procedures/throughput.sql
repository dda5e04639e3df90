-- Messages per second over the newest five full minutes, of all queues: taken in, and settled (completed or dead).
-- A minute is full once its last flush is due, ten seconds after its end. Zero where nothing was counted.
CREATE OR REPLACE FUNCTION queen.throughput(OUT ingested_per_second float8, OUT processed_per_second float8)
LANGUAGE sql STABLE AS $$
    SELECT coalesce(sum(m.pushed + m.buffered), 0)::float8 / 300,
           coalesce(sum(m.acked + m.dead_lettered), 0)::float8 / 300
    FROM (SELECT date_trunc('minute', clock_timestamp() - interval '10 seconds') AS until) t
    JOIN queen.broker_minutes m ON m.minute >= t.until - interval '5 minutes' AND m.minute < t.until
$$;
