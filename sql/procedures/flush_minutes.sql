-- Writes down what a broker has counted: arrays of objects by the names of the columns, absolute numbers of
-- their minute. Repeating a call changes nothing, and one that arrives late does not undo a later one. An hour that
-- was added up before (add_up_hour) loses its mark.
-- Answers the database's clock, by which brokers know what minute it is.
CREATE OR REPLACE FUNCTION queen.flush_minutes(p_brokers jsonb, p_queues jsonb)
RETURNS timestamptz LANGUAGE plpgsql AS $$
BEGIN
    -- No hour is added up while its minutes are written.
    PERFORM pg_advisory_xact_lock_shared(queen.hours_lock_class(), 0);
    DELETE FROM queen.hours h WHERE h.hour IN (
        SELECT date_bin('1 hour', (x ->> 'minute')::timestamptz, timestamptz 'epoch') FROM jsonb_array_elements(p_brokers || p_queues) x);
    INSERT INTO queen.broker_minutes AS t
    SELECT b.* FROM jsonb_populate_recordset(NULL::queen.broker_minutes, p_brokers) b
    ORDER BY b.minute
    ON CONFLICT (minute, broker) DO UPDATE SET
        (flush, hostname, port, workers, looks, seen_at, pushed, push_bytes, duplicates, buffered, popped, pops,
         empty_pops, acked, failed, dead_lettered, retried, age_count, age_sum_ms, age_max_ms, push_requests,
         ack_requests, transactions, errors, cpu_user_micros, cpu_system_micros, push_calls, pop_calls, ack_calls,
         transaction_calls, renew_calls, rss_bytes, slots_busy, slots_total, waiting_polls, queued_items,
         groups_backed_off, buffered_messages, loop_lag_ms)
        = (excluded.flush, excluded.hostname, excluded.port, excluded.workers, excluded.looks, excluded.seen_at,
           excluded.pushed, excluded.push_bytes, excluded.duplicates, excluded.buffered, excluded.popped,
           excluded.pops, excluded.empty_pops, excluded.acked, excluded.failed, excluded.dead_lettered,
           excluded.retried, excluded.age_count, excluded.age_sum_ms, excluded.age_max_ms, excluded.push_requests,
           excluded.ack_requests, excluded.transactions, excluded.errors, excluded.cpu_user_micros,
           excluded.cpu_system_micros, excluded.push_calls, excluded.pop_calls, excluded.ack_calls,
           excluded.transaction_calls, excluded.renew_calls, excluded.rss_bytes, excluded.slots_busy,
           excluded.slots_total, excluded.waiting_polls, excluded.queued_items, excluded.groups_backed_off,
           excluded.buffered_messages, excluded.loop_lag_ms)
    WHERE excluded.flush > t.flush;
    INSERT INTO queen.queue_minutes AS t
    SELECT q.* FROM jsonb_populate_recordset(NULL::queen.queue_minutes, p_queues) q
    ORDER BY q.minute, q.queue
    ON CONFLICT (minute, queue, broker) DO UPDATE SET
        (flush, pushed, push_bytes, duplicates, buffered, popped, pops, empty_pops, acked, failed, dead_lettered,
         retried, age_count, age_sum_ms, age_max_ms, parked_sum, parked_max)
        = (excluded.flush, excluded.pushed, excluded.push_bytes, excluded.duplicates, excluded.buffered,
           excluded.popped, excluded.pops, excluded.empty_pops, excluded.acked, excluded.failed,
           excluded.dead_lettered, excluded.retried, excluded.age_count, excluded.age_sum_ms,
           excluded.age_max_ms, excluded.parked_sum, excluded.parked_max)
    WHERE excluded.flush > t.flush;
    RETURN clock_timestamp();
END $$;
