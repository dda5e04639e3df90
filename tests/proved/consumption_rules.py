"""The proved rules of consumption (design 4): compare-and-append, leases, acks, starts. Those that live in
SQL; broker_rules has the others."""
from rule import Edit, Rule

ACK = 'sql/procedures/ack_messages.sql'
APPEND = 'sql/procedures/append_lanes.sql'
VERDICTS = 'sql/procedures/apply_verdicts.sql'
ITEMS = 'sql/procedures/item_verdicts.sql'
LEASE = 'sql/procedures/lease_rows.sql'
LANE_STATE = 'sql/procedures/lane_state.sql'
ENSURE_GROUP = 'sql/procedures/ensure_group.sql'
RENEW = 'sql/procedures/renew_lease.sql'
ASYNCHRONOUS = "set_config('synchronous_commit', 'off', true)"

RULES = (
    Rule('stale_winner_loses', 'A winner that is not its key\'s maximum has lost and removes its row.',
         (Edit('sql/procedures/drop_stale_progress.sql', 'WHERE (SELECT true', 'WHERE false AND (SELECT true'),),
         ('isolation/stale_progress', 'isolation/stale_ack'), r'\+\s+2\|(leased|applied)'),
    Rule('stale_lease_reply', 'Replies of leases come only from rows that passed.',
         (Edit(LEASE, 'IF cardinality(v_lost) > 0 THEN', 'IF false THEN'),), ('isolation/stale_progress',), r'\+\s+2\|leased'),
    Rule('stale_ack_reply', 'Replies of acks come only from rows that passed.',
         (Edit(ACK, "CASE WHEN r.ordinal = ANY (v_lost) THEN 'again' ELSE r.state END", 'r.state'),), ('isolation/stale_ack',), r'\+\s+2\|applied'),
    Rule('stale_dead_letter', 'Dead letters are copied only for rows that passed.',
         (Edit(ACK, '        WHERE r.epoch IS NOT NULL AND NOT r.ordinal = ANY (v_lost)\n', '        WHERE r.epoch IS NOT NULL\n'),),
         ('isolation/stale_ack',), r'\+\s+2\|  2'),
    Rule('maximum_is_kept', 'The clean-up of old epochs never deletes the highest.',
         (Edit('sql/procedures/sweep_progress.sql', 'NULL::tid AS place FROM key k',
               '(SELECT r.ctid FROM queen.progress r WHERE r.partition_id = k.partition_id AND r.group_id = k.group_id'
               ' AND r.epoch = k.epoch) AS place FROM key k'),), ('contract/sweeps',), '30 epochs removed'),

    Rule('carried_lease_compares_place', 'A lease that goes with a push is about the segments really stored.',
         (Edit('sql/procedures/push_and_lease.sql', 'CASE WHEN v_bases[p_firsts[i]] = p_log_ends[i] THEN NULL ELSE -1 END', 'NULL'),),
         ('contract/push_and_lease',), 'Assert|assertion failed'),

    Rule('fold_acks', 'One call changes a (partition, group) once; a second row of it is asked to come again.',
         (Edit(ACK, 'a.live AND a.valid AND a.copy = 1, ', 'a.live AND a.valid, '),
          Edit(ACK, "WHEN j.copy > 1 THEN 'again' ", '')),
         ('contract/ack_messages',), '4 applied'),
    Rule('fold_leases', 'The same for leases.',
         (Edit(LEASE, 'WHERE g.copy = 1 AND (', 'WHERE ('), Edit(LEASE, "                      WHEN g.copy > 1 THEN 'again'\n", '')),
         ('contract/pop_sm_lease',), '1 leased, 2 leased'),
    Rule('fold_transaction', 'A transaction\'s acks of one (partition, group) are folded into one row.',
         (Edit('sql/procedures/execute_transaction.sql', 'dense_rank() OVER (ORDER BY u.partition_id, u.group_id)::int AS key',
               'u.ordinal::int AS key'),), ('contract/execute_transaction',), 'another change came between'),
    Rule('fold_renewals', 'Renewals of one lease in a call are folded into the longest.',
         (Edit(RENEW, 'OVER (PARTITION BY s.partition_id, s.group_id) AS new_until', 'OVER (PARTITION BY k.ordinal, s.partition_id, s.group_id) AS new_until'),),
         ('contract/renew_lease',), 'renewed 80'),

    Rule('lock_order_partitions', 'Partitions are locked in the order of their ids.',
         (Edit('sql/procedures/locks.sql', 'ARRAY(SELECT DISTINCT id FROM unnest(p_partitions) AS id ORDER BY id)',
               'p_partitions'),),
         ('isolation/lock_order',), r'\+step push_2: .*<waiting'),
    Rule('lock_order_acks', 'Acks insert progress in the order of its key.',
         (Edit(ACK, '        ORDER BY j.partition_id, j.group_id\n', '        ORDER BY j.ordinal\n'),), ('isolation/lock_order',), 'deadlock detected'),
    Rule('lock_order_leases', 'So do leases.',
         (Edit(LEASE, '        ORDER BY g.partition_id, g.group_id\n', '        ORDER BY g.ordinal\n'),), ('isolation/lock_order',), 'deadlock detected'),
    Rule('lock_order_renewals', 'So do renewals.',
         (Edit(RENEW, 'FROM held h ORDER BY h.partition_id, h.group_id', 'FROM held h ORDER BY h.partition_id DESC, h.group_id'),),
         ('isolation/lock_order',), 'deadlock detected'),
    Rule('lock_order_transaction', 'A transaction locks its partitions before it changes progress.',
         (Edit('sql/procedures/execute_transaction.sql', '        PERFORM queen.lock_partitions(p_partitions);\n', '        NULL;\n'),),
         ('isolation/lock_order',), 'deadlock detected'),
    Rule('lock_order_cycle', 'So does a cycle of a streaming query.',
         (Edit('sql/procedures/streams.sql', '        PERFORM queen.lock_partitions(p_partitions);\n', '        NULL;\n'),),
         ('isolation/lock_order',), 'deadlock detected'),

    Rule('lease_span', 'A lease reaches at most 10,000 offsets past the cursor.',
         (Edit(LEASE, 'v_span_max CONSTANT int := 10000;', 'v_span_max CONSTANT int := 1000000;'),),
         ('contract/pop_sm_lease',), 'the hole is as wide as a lease'),
    Rule('bits_from_cursor', 'Settled marks count from the cursor and move with it.',
         (Edit(VERDICTS, '        new_settled := queen.bits_from(new_settled, v_leading);\n', ''),), ('contract/ack_messages',), r'\(applied,0,,,3,1,f,,\)'),

    Rule('same_lease_again', 'Leasing again with the same id returns the same lease.',
         (Edit(LEASE, "coalesce(a.state = 'held' AND a.lease_id = r.lease, false) AS same_lease", 'false AS same_lease'),),
         ('contract/pop_sm_lease', 'isolation/pop_pop'), r'\(held,.* instead of|\+held'),
    Rule('first_verdict_in_lease', 'One verdict per message and lease: a later one is ignored.',
         (Edit(ITEMS, '''NOT (queen.bits_get(p_settled, i.seq - p_cursor)
                                 OR queen.bits_get(p_failed, i.seq - p_cursor)) THEN i.kind END''',
               '''NOT queen.bits_get(p_settled, i.seq - p_cursor) THEN i.kind END'''),), ('contract/ack_messages',), r'\(applied,2,,1,4,3,f,,\{2\}\)'),
    Rule('first_verdict_in_call', 'Of several verdicts on a message in one call the first counts.',
         (Edit(ITEMS, "(array_agg(e.kind ORDER BY e.ordinal) FILTER", "(array_agg(e.kind ORDER BY e.ordinal DESC) FILTER"),),
         ('contract/ack_messages',), r'\{1,2\}'),
    Rule('failed_is_not_completed', 'What failed in a lease is not completed by a later or cumulative ack under it.',
         (Edit(VERDICTS, 'IF new_failed IS NOT NULL THEN   -- what failed', 'IF false THEN   -- what failed'),), ('contract/ack_messages',), r'\(applied,0,,01,10,5,f,,\)'),
    Rule('lease_index', 'Leases are found by an index on lease_id.', (), ('contract/hot_tables',), 'no index on lease_id',
         sql='DROP INDEX queen.progress_lease'),

    Rule('lease_asynchronous', 'A lease commits asynchronously.',
         (Edit(LEASE, f'        PERFORM {ASYNCHRONOUS};\n', '        NULL;\n'),), ('contract/pop_sm_lease',), 'a lease commits synchronously'),
    Rule('lease_does_not_leak', 'Its setting ends with its transaction.',
         (Edit(LEASE, ASYNCHRONOUS, ASYNCHRONOUS.replace('true', 'false')),), ('contract/pop_sm_lease',), 'leaked'),
    Rule('renewal_does_not_leak', 'So does that of a renewal.',
         (Edit(RENEW, ASYNCHRONOUS, ASYNCHRONOUS.replace('true', 'false')),), ('contract/renew_lease',), 'leaked'),
    Rule('automatic_ack_synchronous', 'A pop that settles at once commits synchronously.',
         (Edit(LEASE, 'IF NOT (true = ANY (p_auto_acks)) THEN', 'IF true THEN'),), ('contract/pop_sm_lease',), 'an automatic ack commits asynchronously'),

    Rule('refused_lease_says_when', 'A refused lease answers ready_in_ms.',
         (Edit(LEASE, 'WHEN g.ready_at IS NOT NULL  -- greatest', 'WHEN false  -- greatest'),), ('contract/pop_sm_lease',), r'\(held,,'),
    Rule('rest_of_a_batch', 'A lease that its batch cut short says that there is more.',
         (Edit(LEASE, "g.state = 'ready' AND g.end_seq < g.avail_end THEN 0", 'false THEN 0'),), ('contract/pop_sm_lease',),
         r'instead of \(leased,,'),
    Rule('rest_of_a_delay', 'So does one that left what is not due yet.',
         (Edit('sql/procedures/availability.sql', 'WHEN o.due_end < l.live_end OR o.window_end < l.live_end THEN p_now', ''),),
         ('contract/pop_sm_lease',), 'some are delayed'),
    Rule('one_predicate_resolve', 'Resolve calls ready what the lease calls ready.',
         (Edit('sql/procedures/pop_sm_resolve.sql', "CASE WHEN a.state = 'ready' THEN 0", 'CASE WHEN a.avail_end > a.cursor THEN 0'),),
         ('contract/pop_sm_resolve',), '3:0 6:0'),
    Rule('one_predicate_pending', 'So does has_pending.',
         (Edit('sql/procedures/has_pending_messages.sql', "a.state = 'ready'", 'coalesce(a.avail_end > a.cursor, false)'),),
         ('contract/pop_sm_resolve',), '2 t'),

    Rule('start_is_positions', 'The start of a `new` group is the ends of the partitions at its first pop, not a time.',
         (Edit(ENSURE_GROUP, 'text := p_mode;', "text := CASE WHEN p_mode = 'new' THEN 'time' ELSE p_mode END;"),
          Edit(ENSURE_GROUP, "CASE WHEN p_mode = 'time' THEN p_time END;", "CASE WHEN p_mode = 'time' THEN p_time ELSE clock_timestamp() END;")),
         ('isolation/group_new',), r'\+empty'),
    Rule('born_later_from_zero', 'Partitions born after the first pop are read from their beginning.',
         (Edit(LANE_STATE, '''WHEN 'new' THEN (SELECT b.seq FROM queen.group_starts b
                                    WHERE b.group_id = g.id AND b.partition_id = p.id)''', '''WHEN 'new' THEN coalesce((SELECT b.seq FROM queen.group_starts b
                                    WHERE b.group_id = g.id AND b.partition_id = p.id), n.seq_end)'''),),
         ('contract/availability',), 'partitions born later are read from their start'),
    Rule('early_group_from_zero', 'A group that popped before its queue existed begins at 0.',
         (Edit(ENSURE_GROUP, "WHEN v_time IS NULL THEN 'all' ELSE 'time' END", "WHEN v_time IS NULL THEN 'new' ELSE 'time' END"),),
         ('contract/ensure_group',), 'pushed after its first pop'),
    Rule('early_group_is_kept', 'Its record is kept by name.',
         (Edit(ENSURE_GROUP, '''        INSERT INTO queen.early_groups (queue_name, group_name, start_time)
        VALUES (p_queue, p_group, v_time)
        ON CONFLICT DO NOTHING;
''', ''),), ('contract/ensure_group',), 'pushed after its first pop'),
    Rule('start_counts_for_retention', 'A group without a row on a partition counts with its start when retention asks who has passed.',
         (Edit('sql/procedures/sweep_segments.sql', '''                LEFT JOIN LATERAL (
                    SELECT r.cursor FROM queen.progress r''', '''                JOIN LATERAL (
                    SELECT r.cursor FROM queen.progress r'''),), ('contract/sweeps',), 'b has not begun'),

    Rule('append_compares_stamps', 'An append builds on the row it was decided from, not on another of the same epoch.',
         (Edit(APPEND, '          AND r.epoch = p_prev_epochs[u.i] AND r.stamp = p_prev_stamps[u.i]\n', '          AND r.epoch = p_prev_epochs[u.i]\n'),),
         ('contract/append_lanes',), r'\(1,won,2,3,7'),
    Rule('append_compares_versions', 'An append is taken only under the version of the queue it was decided with.',
         (Edit(APPEND, 'WHERE q.id = p_queues[u.i] AND q.version = p_versions[u.i] OFFSET 0) q', 'WHERE q.id = p_queues[u.i] OFFSET 0) q'),),
         ('contract/append_lanes', 'isolation/append_version'), r'\(1,won,2|\+won'),
    Rule('append_newest_wins', 'An append has won when its row is the newest, not when it was inserted.',
         (Edit(APPEND, "CASE WHEN r.stamp = p_stamps[u.i] THEN 'won'",
               "CASE WHEN EXISTS (SELECT FROM queen.progress x WHERE x.partition_id = u.partition_id AND x.group_id = u.group_id"
               " AND x.stamp = p_stamps[u.i]) THEN 'won'"),),
         ('contract/append_lanes', 'isolation/append_stale'), r'\(1,won,8,80|\+ +2\|won'),
    Rule('append_loser_leaves', 'A row that was inserted below the newest is removed.',
         (Edit(APPEND, 'IF v_inserted > cardinality(v_won) THEN', 'IF false THEN'),),
         ('contract/append_lanes', 'isolation/append_stale'), r'Assertion|assertion failed|\+ +2\|    1\|   11'),
    Rule('append_dead_letter', 'Dead letters are copied only for rows that won.',
         (Edit(APPEND, '        WHERE d.place = ANY (v_won)\n', ''),), ('isolation/append_stale',), r'\+ +1'),
    Rule('append_waits_for_nobody', 'An append passes over lanes that others are changing.',
         (Edit(APPEND, 'FOR NO KEY UPDATE SKIP LOCKED) s', 'FOR NO KEY UPDATE) s'),), ('isolation/append_append', 'isolation/append_order'),
         r'<waiting \.\.\.>'),
    Rule('append_first_waits_for_nobody', 'Nor does the first append of a lane.',
         (Edit(APPEND, 'AND pg_try_advisory_xact_lock(queen.lane_lock_class(), queen.lane_lock_key(u.partition_id, u.group_id)) END', 'END'),),
         ('isolation/append_append',), r'<waiting \.\.\.>'),
    Rule('changes_lock_the_lane', 'Who changes a lane alone locks what it builds on.',
         (Edit('sql/procedures/locks.sql', 'ORDER BY r.epoch DESC LIMIT 1 FOR NO KEY UPDATE;', 'ORDER BY r.epoch DESC LIMIT 1;'),),
         ('isolation/append_seek', 'isolation/append_settle'), r'\+step c_append: .*<waiting \.\.\.>'),
    Rule('append_takeover_time', 'A lease is taken over only when the database\'s clock says that it is over.',
         (Edit(APPEND, '    WHERE (p_not_befores[u.i] <= now) IS NOT FALSE\n', '    WHERE true\n'),), ('contract/append_lanes',), r'\(1,won,2'),
    Rule('append_under_the_lease', 'What is done under a lease is taken only while it lives.',
         (Edit(APPEND, '      AND (p_held[u.i] IS NOT TRUE OR s.lease_until > now)\n', ''),), ('contract/append_lanes',), r'\(1,won,2'),
    Rule('append_log_end', 'A window is released only while the log ends where it was seen to end.',
         (Edit(APPEND, "      AND (p_log_ends[u.i] IS NULL OR", "      AND (true OR"),), ('contract/append_lanes',), r'\(1,won,2'),
    Rule('sweep_waits_for_nobody', 'The sweep of old epochs passes over lanes whose old rows are held.',
         (Edit('sql/procedures/sweep_progress.sql', '        FOR UPDATE SKIP LOCKED\n', ''),), ('isolation/append_sweep',), r'<waiting \.\.\.>'),
)
