-- push_and_lease: a push that carries leases. What it stores is tested in push_messages, what a lease compares in
-- append_lanes; here is what binds the two.

-- One segment of p_count messages to each of p_partitions, and a lease of the group on the first message of each, decided
-- with the log's end at p_log_ends.
CREATE FUNCTION test.push_and_lease(p_partitions int[], p_groups int[], p_log_ends bigint[], p_counts int[] DEFAULT NULL,
    p_txns text[] DEFAULT NULL, p_not_befores timestamptz[] DEFAULT NULL, p_versions bigint[] DEFAULT NULL, p_n bigint DEFAULT NULL)
RETURNS TABLE (ordinal int, status text, base_seq bigint, lease_end bigint, epoch bigint, is_lane boolean) LANGUAGE sql AS $$
    SELECT r.ordinal, r.status, r.base_seq, r.lease_end, r.epoch, r.now IS NOT NULL
    FROM (SELECT array_agg(coalesce(p_counts[u.i], 1) ORDER BY u.i) AS counts, array_agg(test.lines(coalesce(p_counts[u.i], 1)) ORDER BY u.i) AS payloads,
                 array_agg(p_txns[u.i] ORDER BY u.i) AS txns, array_agg(NULL::text) AS nothing, array_agg(NULL::timestamptz) AS never,
                 array_agg(p_txns[u.i] IS NOT NULL ORDER BY u.i) AS untimed, array_agg(0::bigint) AS zeros, array_agg(u.i::int ORDER BY u.i) AS firsts,
                 array_agg(p.queue_id ORDER BY u.i) AS queues, array_agg(coalesce(p_versions[u.i], q.version) ORDER BY u.i) AS versions,
                 array_agg(coalesce(s.epoch, 0) ORDER BY u.i) AS epochs, array_agg(coalesce(s.stamp, 0) ORDER BY u.i) AS stamps,
                 array_agg((random() * 1e15)::bigint) AS news, array_agg(gen_random_uuid()) AS leases, array_agg(60000::bigint) AS ms,
                 array_agg(p_log_ends[u.i] + 1 ORDER BY u.i) AS ends, array_agg(60) AS seconds, array_agg(1) AS ones
          FROM unnest(p_partitions) WITH ORDINALITY AS u(id, i) LEFT JOIN queen.partitions p ON p.id = u.id
          LEFT JOIN queen.queues q ON q.id = p.queue_id LEFT JOIN LATERAL test.state(u.id, p_groups[u.i]) s ON true) a
    CROSS JOIN LATERAL queen.push_and_lease(1, p_n, false, p_partitions, a.counts, a.payloads, a.txns, a.nothing, a.txns, a.txns, a.never,
        a.never, a.untimed, a.zeros, a.zeros, NULL, false, p_partitions, p_groups, a.queues, a.versions, a.epochs, a.stamps,
        p_not_befores, p_log_ends, a.firsts, a.news, p_log_ends, a.leases, a.ms, a.ends, a.seconds, a.ones) r $$;

-- The segment is stored and leased, on a lane without a row and on one with some
DO $$
DECLARE
    v_id int := test.partition('carry'); v_group int := test.groupid('carry'); v record; s queen.progress;
BEGIN
    ASSERT (SELECT array_agg((c.ordinal, c.status, c.base_seq, c.lease_end, c.is_lane)::text) FROM test.push_and_lease(ARRAY[v_id], ARRAY[v_group], ARRAY[0]) c)
           = ARRAY['(1,queued,0,,f)', '(1,won,,1,t)'];
    s := test.state(v_id, v_group);
    ASSERT (s.epoch, s.cursor, s.lease_end, s.lease_seconds, s.deliveries) = (1, 0, 1, 60, 1) AND s.lease_until > now() + interval '50 s', s::text;
    PERFORM test.append(jsonb_build_array(jsonb_build_object('partition', v_id, 'group', v_group, 'new', 5, 'cursor', 1)));
    ASSERT (SELECT array_agg((c.status, c.lease_end, c.epoch)::text) FROM test.push_and_lease(ARRAY[v_id], ARRAY[v_group], ARRAY[1], ARRAY[3], p_n => 77) c)
           = ARRAY['(queued,,)', '(won,2,3)'];
    -- the ledger has the push, once
    ASSERT (SELECT (b.partitions, b.base_seqs) = (ARRAY[v_id], ARRAY[1::bigint]) FROM queen.batches b WHERE b.broker = 1 AND b.n = 77);
END $$;

-- Segments that are stored elsewhere than was believed are not given out, though the lane has not changed
DO $$
DECLARE
    v_id int := test.partition('carry.moved'); v_group int := test.groupid('carry.moved');
BEGIN
    PERFORM test.push(v_id, 2);
    ASSERT (SELECT array_agg((c.status, c.base_seq)::text) FROM test.push_and_lease(ARRAY[v_id], ARRAY[v_group], ARRAY[0]) c)
           = ARRAY['(queued,2)', '(moved,)'];
    ASSERT NOT EXISTS (SELECT FROM queen.progress WHERE partition_id = v_id);
END $$;

-- Others have stored as many messages in the place of a push that was refused: the log ends where it would have ended
DO $$
DECLARE
    v_id int := test.partition('carry.refused'); v_group int := test.groupid('carry.refused');
BEGIN
    PERFORM test.push_segments(ARRAY[v_id], ARRAY['1'], ARRAY['a']);
    ASSERT (SELECT array_agg((c.status, c.is_lane)::text) FROM test.push_and_lease(ARRAY[v_id], ARRAY[v_group], ARRAY[0], p_txns => ARRAY['a']) c)
           = ARRAY['(duplicate,f)', '(moved,t)'];
    ASSERT NOT EXISTS (SELECT FROM queen.progress WHERE partition_id = v_id);
END $$;

-- Every condition of a lease counts, each for its lane alone, and never for a push
DO $$
DECLARE
    v_ids int[] := ARRAY[test.partition('carry.each', 'a'), test.partition('carry.each', 'b'), test.partition('carry.each', 'c')];
    v_group int := test.groupid('carry.each'); v_version bigint := (SELECT version FROM queen.queues WHERE name = 'carry.each');
BEGIN
    ASSERT (SELECT array_agg(c.status ORDER BY c.is_lane, c.ordinal) FROM test.push_and_lease(v_ids, array_fill(v_group, ARRAY[3]), ARRAY[0, 0, 0],
                p_not_befores => ARRAY[NULL, 'infinity', NULL]::timestamptz[], p_versions => ARRAY[v_version, v_version, v_version - 1]) c)
           = ARRAY['queued', 'queued', 'queued', 'won', 'early', 'stale'];
    ASSERT (SELECT count(*) = 3 FROM queen.segments WHERE partition_id = ANY (v_ids));
    -- a second group of one partition
    ASSERT (SELECT array_agg(c.status ORDER BY c.is_lane, c.ordinal) FROM test.push_and_lease(v_ids[2:2], ARRAY[test.groupid('carry.each', 'h')], ARRAY[1]) c)
           = ARRAY['queued', 'won'];
END $$;
