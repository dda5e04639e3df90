-- requires: api_time
-- The brokers that were there in the last two minutes, as the pages show their workers: one entry per broker,
-- told apart by host and port.
CREATE OR REPLACE FUNCTION queen.broker_workers()
RETURNS json LANGUAGE sql STABLE AS $$
    SELECT coalesce(json_agg(json_build_object(
        'hostname', b.hostname, 'workerId', b.port, 'workers', b.workers,
        'avgEventLoopLagMs', b.lag_avg, 'maxEventLoopLagMs', b.lag_max,
        'freeSlots', b.slots - b.busy, 'dbConnections', b.slots,
        'jobQueueSize', b.queued, 'waitingPolls', b.waiting, 'bufferedMessages', b.buffered,
        'messagesProcessed', b.messages, 'dbErrors', b.errors, 'lastSeen', queen.api_time(b.seen))
        ORDER BY b.hostname, b.port), '[]')
    FROM (
        SELECT m.hostname, m.port, max(m.seen_at) AS seen, sum(m.pushed + m.buffered + m.acked)::bigint AS messages,
               sum(m.errors)::bigint AS errors,
               coalesce(round((sum((m.loop_lag_ms).sum) / nullif(sum(m.looks), 0))::numeric, 2), 0) AS lag_avg,
               coalesce(max((m.loop_lag_ms).max), 0) AS lag_max,
               (array_agg(m.workers ORDER BY m.minute DESC))[1] AS workers,
               coalesce((array_agg((m.slots_total).last ORDER BY m.minute DESC))[1], 0) AS slots,
               coalesce((array_agg((m.slots_busy).last ORDER BY m.minute DESC))[1], 0) AS busy,
               coalesce((array_agg((m.waiting_polls).last ORDER BY m.minute DESC))[1], 0) AS waiting,
               coalesce((array_agg((m.buffered_messages).last ORDER BY m.minute DESC))[1], 0) AS buffered,
               coalesce(max((m.queued_items).max), 0) AS queued
        FROM queen.broker_minutes m
        WHERE m.minute >= date_trunc('minute', clock_timestamp()) - interval '2 minutes'
          AND m.seen_at >= clock_timestamp() - interval '2 minutes'
        GROUP BY m.hostname, m.port) b
$$;
