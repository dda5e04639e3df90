-- requires: api_time, availability, first_seq_at, hidden, ids, lane_numbers
-- What holds up a lane (one partition for one group): the facts of the explain endpoint, to which the broker adds
-- what its own ring believes. One JSON document; `cause` is one word for why nothing is delivered, `summary` says it
-- in a sentence and `next` what to do about it.
--   missing_queue, missing_partition, missing_group   there is no such thing
--   pop_maintenance   pops are paused                  leased    somebody holds it
--   retry, delayed, window                             nothing is due yet
--   empty             everything is consumed           ready     nothing is in the way: somebody has to pop
CREATE OR REPLACE FUNCTION queen.report_lane(p_queue text, p_partition text, p_group text)
RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_now       timestamptz := clock_timestamp();
    v_queue     queen.queues;
    v_partition queen.partitions;
    v_group     queen.groups;
    v_facts     queen.lane_facts;
BEGIN
    SELECT q.* INTO v_queue FROM queen.queues q WHERE q.name = p_queue;
    SELECT p.* INTO v_partition FROM queen.partitions p WHERE p.queue_id = v_queue.id AND p.name = p_partition;
    SELECT g.* INTO v_group FROM queen.groups g WHERE g.queue_id = v_queue.id AND g.name = p_group;
    v_facts := queen.lane_facts(v_queue, v_partition, v_group, v_now);
    RETURN json_build_object(
        'queue', p_queue, 'partition', p_partition, 'consumerGroup', p_group,
        'partitionId', CASE WHEN v_partition.id IS NOT NULL THEN queen.partition_uuid(v_partition.id) END,
        'cause', v_facts.cause, 'summary', s.summary, 'next', s.next,
        'cursor', json_build_object('offset', v_facts.cursor, 'end', v_facts.seq_end, 'first', v_facts.first, 'pending', v_facts.pending,
            'lastChangeAt', queen.api_time(v_facts.changed_at)),
        'head', CASE WHEN v_facts.head_at IS NOT NULL THEN json_build_object(
            'id', queen.message_id(v_facts.head_at, v_partition.id, v_facts.cursor), 'transactionId', v_facts.head_txn,
            'offset', v_facts.cursor, 'createdAt', queen.api_time(v_facts.head_at), 'ageSeconds', round(extract(epoch FROM v_now - v_facts.head_at)),
            'failures', v_facts.head_failures, 'deliveries', v_facts.deliveries, 'expiresAt', queen.api_time(v_facts.expires_at)) END,
        'lease', CASE WHEN v_facts.lease_id IS NOT NULL THEN json_build_object(
            'leaseId', v_facts.lease_id, 'since', queen.api_time(v_facts.lease_since), 'until', queen.api_time(v_facts.lease_until),
            'live', v_facts.lease_until > v_now, 'upToOffset', v_facts.lease_end, 'unsettled', v_facts.processing) END,
        'delay', CASE WHEN v_facts.cause IN ('retry', 'delayed', 'window') THEN json_build_object(
            'reason', CASE v_facts.cause WHEN 'retry' THEN 'retryDelay' WHEN 'delayed' THEN 'delayedProcessing' ELSE 'windowBuffer' END,
            'until', queen.api_time(v_facts.ready_at)) END,
        'failing', coalesce(v_facts.failing, '[]'), 'lastError', v_facts.last_error,
        'deadLetters', json_build_object('count', v_facts.dead_letters, 'lastError', v_facts.dead_error, 'lastAt', queen.api_time(v_facts.dead_at)),
        'expired', v_facts.expired,
        'maintenance', json_build_object('push', v_facts.push_paused, 'pop', v_facts.pop_paused),
        'maxSize', v_queue.max_size)::text
    FROM queen.lane_summary(p_queue, p_partition, p_group, v_queue, v_facts, v_now) s;
END $$;

-- What is known of a lane, read once. Each of the rows may be NULL: there is none.
CREATE OR REPLACE FUNCTION queen.lane_facts(p_queue queen.queues, p_partition queen.partitions, p_group queen.groups, p_now timestamptz)
RETURNS queen.lane_facts LANGUAGE plpgsql STABLE AS $$
DECLARE
    v       queen.lane_facts;
    v_row   queen.progress;
    v_lane  record;
    v_state record;
BEGIN
    v.push_paused := coalesce((SELECT s.value = 'true' FROM queen.system_state s WHERE s.name = 'push_maintenance'), false);
    v.pop_paused := coalesce((SELECT s.value = 'true' FROM queen.system_state s WHERE s.name = 'pop_maintenance'), false);
    v.cause := CASE WHEN p_queue.id IS NULL THEN 'missing_queue' WHEN p_partition.id IS NULL THEN 'missing_partition'
                    WHEN p_group.id IS NULL THEN 'missing_group' END;
    IF p_partition.id IS NULL THEN RETURN v; END IF;
    SELECT l.first, l.seq_end, l.amount INTO v.first, v.seq_end, v.pending
    FROM queen.lane_numbers(ARRAY[p_partition.id], p_group.name, p_now) l WHERE l.group_id IS NULL;
    IF p_group.id IS NULL THEN RETURN v; END IF;

    SELECT l.* INTO v_lane FROM queen.lane_numbers(ARRAY[p_partition.id], p_group.name, p_now) l WHERE l.group_id = p_group.id;
    SELECT a.* INTO v_state FROM queen.availability(p_partition.id, p_group.id, p_now) a;
    SELECT r.* INTO v_row FROM queen.progress r WHERE r.partition_id = p_partition.id AND r.group_id = p_group.id ORDER BY r.epoch DESC LIMIT 1;
    v.cursor := v_lane.cursor;
    v.pending := v_lane.amount;
    v.processing := v_lane.processing;
    v.changed_at := v_row.changed_at;
    v.expired := coalesce(v_lane.first - least(v_row.cursor, v_lane.first), 0);
    v.lease_id := v_row.lease_id;
    v.lease_until := v_row.lease_until;
    v.lease_end := v_row.lease_end;
    v.lease_since := v_row.lease_until - v_row.lease_seconds * interval '1 second';
    v.deliveries := v_row.deliveries;
    v.ready_at := v_state.ready_at;
    v.dead_letters := v_lane.dead_letters;
    SELECT d.error, d.failed_at INTO v.dead_error, v.dead_at FROM queen.dead_letters d
    WHERE d.partition_id = p_partition.id AND d.group_id = p_group.id ORDER BY d.seq DESC LIMIT 1;
    v.failing := (SELECT json_agg(json_build_object('offset', t.seq, 'failures', t.failures) ORDER BY t.seq)
                  FROM (SELECT u.* FROM unnest(v_row.attempt_seqs, v_row.attempt_counts) AS u(seq, failures)
                        WHERE u.seq >= v.cursor ORDER BY u.seq LIMIT 20) t);
    IF v.pending > 0 THEN
        v.head_failures := coalesce(v_row.attempt_counts[array_position(v_row.attempt_seqs, v.cursor)], 0);
        SELECT s.created_at + (v.cursor - s.base_seq) * interval '1 microsecond',
               coalesce(nullif(split_part(s.txns, E'\n', (v.cursor - s.base_seq)::int + 1), ''),
                        queen.message_id(s.created_at + (v.cursor - s.base_seq) * interval '1 microsecond', p_partition.id, v.cursor)::text)
        INTO v.head_at, v.head_txn
        FROM queen.segments s WHERE s.partition_id = p_partition.id AND s.base_seq <= v.cursor ORDER BY s.base_seq DESC LIMIT 1;
        v.expires_at := v.head_at + least(CASE WHEN coalesce(p_queue.retention_enabled, true) THEN nullif(p_queue.retention_seconds, 0) END,
                                          nullif(p_queue.max_wait_time_seconds, 0)) * interval '1 second';
        -- what its consumers have noted about it
        v.last_error := (SELECT left(t.data, 500) FROM queen.traces t WHERE t.partition_id = p_partition.id AND t.txn = v.head_txn
                         AND t.event_type = 'error' ORDER BY t.created_at DESC LIMIT 1);
    END IF;
    v.cause := CASE WHEN v.pop_paused THEN 'pop_maintenance' WHEN v_state.state = 'held' THEN 'leased' ELSE v_state.state END;
    RETURN v;
END $$;

-- A length of time for people.
CREATE OR REPLACE FUNCTION queen.spoken_seconds(p_interval interval)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN s.n < 120 THEN s.n || CASE WHEN s.n = 1 THEN ' second' ELSE ' seconds' END
                WHEN s.n < 7200 THEN s.n / 60 || ' minutes' WHEN s.n < 172800 THEN s.n / 3600 || ' hours'
                ELSE s.n / 86400 || ' days' END
    FROM (SELECT greatest(0, ceil(extract(epoch FROM p_interval)))::bigint AS n) s
$$;

-- A number with what it counts.
CREATE OR REPLACE FUNCTION queen.spoken_count(p_count bigint, p_one text, p_more text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT p_count || ' ' || CASE p_count WHEN 1 THEN p_one ELSE p_more END
$$;

-- The cause in a sentence, and what to do.
CREATE OR REPLACE FUNCTION queen.lane_summary(p_queue_name text, p_partition_name text, p_group_name text, p_queue queen.queues,
    p_facts queen.lane_facts, p_now timestamptz, OUT summary text, OUT next text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_group text := CASE WHEN p_group_name = '__QUEUE_MODE__' THEN 'the queue itself (pops without a consumerGroup)'
                         ELSE format('group "%s"', p_group_name) END;
    v_left  text := queen.spoken_seconds(p_facts.ready_at - p_now);
BEGIN
    CASE p_facts.cause
    WHEN 'missing_queue' THEN
        summary := format('There is no queue "%s": nothing was ever pushed to it, or it was deleted.', p_queue_name);
        next := 'Push to the queue, or check its name.';
    WHEN 'missing_partition' THEN
        summary := format('Queue "%s" has no partition "%s": nothing was ever pushed to it, or it was deleted.', p_queue_name, p_partition_name);
        next := 'Push to the partition, or check its name.';
    WHEN 'missing_group' THEN
        summary := format('Nobody has ever popped from queue "%s" as %s, so there is no cursor. The partition holds %s.',
                          p_queue_name, v_group, queen.spoken_count(coalesce(p_facts.pending, 0), 'message', 'messages'));
        next := 'Start a consumer with this consumerGroup, or check its name.';
    WHEN 'pop_maintenance' THEN
        summary := format('Pops are paused by maintenance: nothing is delivered to anybody. %s here.',
                          queen.spoken_count(p_facts.pending, 'message waits', 'messages wait'));
        next := 'End it: POST /api/v1/system/maintenance/pop {"enabled":false}.';
    WHEN 'leased' THEN
        summary := format('A consumer of %s holds the lease %s with %s for another %s (until %s). Nobody else of the group gets this partition before.',
                          v_group, p_facts.lease_id, queen.spoken_count(p_facts.processing, 'unsettled message', 'unsettled messages'), v_left, queen.api_time(p_facts.lease_until));
        next := 'Wait for its acks or for the end of the lease. If the consumer is gone, the lease ends by itself; a seek ends it at once.';
    WHEN 'retry' THEN
        summary := format('The message at offset %s has failed %s (retryLimit %s) and waits for its retryDelay, another %s (until %s). It holds up what is behind it.',
                          p_facts.cursor, queen.spoken_count(p_facts.head_failures, 'time', 'times'), p_queue.retry_limit, v_left, queen.api_time(p_facts.ready_at));
        next := 'Wait, repair the consumer, or take the message out: POST /api/v1/messages/:partitionId/:transactionId/dlq.';
    WHEN 'delayed' THEN
        summary := format('The first message is not due yet: delayedProcessing is %s s, and it becomes visible in %s (at %s).',
                          p_queue.delayed_processing, v_left, queen.api_time(p_facts.ready_at));
        next := 'Wait, or lower delayedProcessing.';
    WHEN 'window' THEN
        summary := format('The partition is withheld by windowBuffer (%s s): it was written to a moment ago and is quiet in %s at the earliest (at %s).',
                          p_queue.window_buffer, v_left, queen.api_time(p_facts.ready_at));
        next := 'Wait until nothing is pushed for that long, or lower windowBuffer.';
    WHEN 'empty' THEN
        summary := format('Nothing is left: %s has consumed everything up to the end (offset %s).', v_group, p_facts.seq_end);
        next := 'Nothing to do. To read again, seek the group back.';
    ELSE
        IF p_facts.head_failures > 0 THEN
            summary := format('The message at offset %s has failed %s (retryLimit %s) and is ready to be delivered again, before everything behind it.',
                              p_facts.cursor, queen.spoken_count(p_facts.head_failures, 'time', 'times'), p_queue.retry_limit);
            next := 'Look at the consumer''s error. To go on without the message: POST /api/v1/messages/:partitionId/:transactionId/dlq.';
        ELSIF p_facts.lease_id IS NOT NULL THEN
            summary := format('A lease has expired without a verdict at %s, and nobody has popped since: %s ready for %s.',
                              queen.api_time(p_facts.lease_until),
                              queen.spoken_count(p_facts.pending, 'message of the partition is', 'messages of the partition are'), v_group);
            next := 'Start a consumer, and see why the last one went away or was slower than its lease.';
        ELSE
            summary := format('Nothing is in the way: %s ready for %s, and nobody has popped %s yet.',
                              queen.spoken_count(p_facts.pending, 'message is', 'messages are'), v_group,
                              CASE p_facts.pending WHEN 1 THEN 'it' ELSE 'them' END);
            next := 'Start a consumer, or more of them.';
        END IF;
    END CASE;
    IF p_facts.dead_letters > 0 THEN
        summary := summary || format(' %s (last error: %s).',
            queen.spoken_count(p_facts.dead_letters, 'message of it is a dead letter', 'messages of it are dead letters'),
            coalesce(p_facts.dead_error, 'none given'));
    END IF;
    IF p_facts.expires_at IS NOT NULL AND p_facts.cause NOT IN ('empty') THEN
        summary := summary || format(' The first message expires in %s (at %s), consumed or not.',
                                     queen.spoken_seconds(p_facts.expires_at - p_now), queen.api_time(p_facts.expires_at));
    END IF;
    IF p_facts.expired > 0 THEN
        summary := summary || format(' %s removed by retention before %s had consumed %s.',
            queen.spoken_count(p_facts.expired, 'message was', 'messages were'), v_group, CASE p_facts.expired WHEN 1 THEN 'it' ELSE 'them' END);
    END IF;
    IF p_facts.push_paused THEN
        summary := summary || ' Pushes are in maintenance: new messages wait in the brokers'' file buffers.';
    END IF;
END $$;
