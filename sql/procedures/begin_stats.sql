-- Takes the stats job for one pass, if it is due and nobody else's. A pass is many short transactions, so a lock that
-- ends with a transaction cannot guard it, and one that ends with a session guards whoever else gets the connection
-- from the pool. Hence a lease in a row: each step of a pass renews it and is refused when it is somebody else's
-- (measure_stats), and the row is locked during a step, so that two never write at once. A broker that died is given
-- up after a few seconds.
--   p_interval_ms  how long after the end of a pass the next one is due
--   p_hurry        somebody waits for numbers from p_since on (NULL: from now on): a pass is due unless there are such;
--                  one that nobody waits for is taken over
-- Answers state yours; fresh (no pass is due for wait_ms); held (ask again after wait_ms). since: p_since of the next call.
CREATE OR REPLACE FUNCTION queen.begin_stats(p_holder uuid, p_interval_ms bigint, p_hurry boolean, p_since timestamptz)
RETURNS TABLE (state text, wait_ms bigint, since timestamptz) LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_job queen.stats_job;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    since := coalesce(p_since, v_now);
    SELECT j.* INTO v_job FROM queen.stats_job j FOR UPDATE SKIP LOCKED;
    IF v_job.one IS NULL THEN   -- a step is under way
        state := 'held';
        wait_ms := 100;
    ELSIF p_hurry AND v_job.measured_at >= since THEN
        state := 'fresh';
        wait_ms := 0;
    -- A time in the future says only that the clock was set back.
    ELSIF NOT p_hurry AND v_job.finished_at > v_now - p_interval_ms * interval '1 millisecond' AND v_job.finished_at <= v_now THEN
        state := 'fresh';
        wait_ms := ceil(extract(epoch FROM v_job.finished_at - v_now) * 1000)::bigint + p_interval_ms;
    ELSIF v_job.holder <> p_holder AND (v_job.hurried OR NOT p_hurry)
          AND v_job.held_until > v_now AND v_job.held_until <= v_now + queen.stats_lease() THEN
        state := 'held';
        wait_ms := CASE WHEN p_hurry THEN 100 ELSE ceil(extract(epoch FROM v_job.held_until - v_now) * 1000)::bigint END;
    ELSE
        UPDATE queen.stats_job j SET holder = p_holder, held_until = v_now + queen.stats_lease(), hurried = p_hurry, started_at = v_now;
        state := 'yours';
        wait_ms := 0;
    END IF;
    RETURN NEXT;
END $$;

-- Longer than the pause between two steps of a pass.
CREATE OR REPLACE FUNCTION queen.stats_lease() RETURNS interval LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT interval '5 seconds'
$$;

-- Gives the job back, if it is the caller's: its pass goes on with nobody.
CREATE OR REPLACE FUNCTION queen.leave_stats(p_holder uuid) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE queen.stats_job j SET holder = NULL, held_until = NULL WHERE j.holder = p_holder;
    RETURN FOUND;
END $$;
