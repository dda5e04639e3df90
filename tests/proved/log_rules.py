"""The proved rules of the log (design 3): offsets, ids, deduplication, unknown outcomes. Those that live in
SQL; broker_rules has the others."""
from rule import Edit, Rule

PUSH = 'sql/procedures/push_messages.sql'
DEDUP = 'sql/procedures/dedup.sql'

LOCK = Edit(PUSH, '        PERFORM queen.lock_partitions(p_partitions);\n', '        NULL;\n')
TRANSACTION_LEVEL = "IF current_setting('transaction_isolation') <> 'read committed' THEN"

RULES = (
    Rule('offsets_under_lock', 'A push holds its partition\'s lock from before it reads the end until it commits.',
         (LOCK,), ('isolation/push_push', 'isolation/push_same_id', 'isolation/late_commit'), 'duplicate key value'),
    Rule('offsets_younger_snapshot', 'The end is read in a statement of its own, younger than the lock.',
         (LOCK, Edit(PUSH, 'ORDER BY i.ordinal) r;\n', 'ORDER BY i.ordinal) r;\n    PERFORM queen.lock_partitions(p_partitions);\n')),
         ('isolation/push_push',), 'duplicate key value'),
    Rule('offsets_rising_clock', 'created_at is raised past the previous segment, whatever the clock does.',
         (Edit(PUSH, 'greatest(v_now, n.created_at + n.count * interval \'1 microsecond\')', 'v_now'),), ('contract/push_messages',), 'time went back with the clock'),

    Rule('read_committed', 'Pushes refuse any isolation level but read committed.',
         (Edit(PUSH, TRANSACTION_LEVEL, 'IF false THEN'),
          Edit('sql/procedures/execute_transaction.sql', TRANSACTION_LEVEL, 'IF false THEN')),
         ('isolation/repeatable_read', 'contract/push_messages', 'contract/push', 'contract/execute_transaction'),
         r'\+queued\||\+push\|queued|expected QN010 but nothing failed'),
    Rule('try_lock', 'A broker\'s batch never waits for a busy partition while it holds others.',
         (Edit(PUSH, '    IF p_wait THEN\n', '    IF true THEN\n'),), ('isolation/push_push',), r'\+.*p_wait => false\); <waiting'),

    Rule('newest_is_blanked', 'Retention never deletes a partition\'s newest segment, only blanks it.',
         (Edit('sql/procedures/sweep_segments.sql', 'array_agg(x.base_seq = x.newest)', 'array_agg(false)'),),
         ('contract/sweeps', 'isolation/sweep_push'), r'the newest segment was not blanked|-      0\|      1\|       3'),

    Rule('new_ids_queue', 'A queue made again has a new id.',
         (Edit('sql/procedures/delete_queue.sql', "VALUES ('queue', v_id, v_id);",
               "VALUES ('queue', v_id, v_id);\n    PERFORM setval('queen.queues_id_seq', v_id, false);"),),
         ('contract/deletions',), 'an id was used again'),
    Rule('new_ids_partition', 'A partition made again has a new id.',
         (Edit('sql/procedures/delete_queue.sql', "VALUES ('partition', v_queue_id, v_id);",
               "VALUES ('partition', v_queue_id, v_id);\n    PERFORM setval('queen.partitions_id_seq', v_id, false);"),),
         ('contract/deletions',), 'the id of a deleted partition was used again'),
    Rule('new_ids_group', 'A group deleted and made again has a new id.',
         (Edit('sql/procedures/delete_group.sql', 'DELETE FROM queen.groups g WHERE g.id = v_old.id;',
               "DELETE FROM queen.groups g WHERE g.id = v_old.id;\n        PERFORM setval('queen.groups_id_seq', v_old.id, false);"),),
         ('contract/deletions',), 'duplicate key value violates unique constraint "group_starts_pkey"'),
    Rule('live_row_push', 'A push joins the live queue and partition.',
         (Edit(PUSH, " WHEN q.id IS NULL THEN 'gone'\n", '\n'),), ('contract/push_messages', 'contract/deletions'), 'pushed to a deleted queue|queued,queued,queued'),
    Rule('live_row_ack', 'An ack joins the live queue and group.',
         (Edit('sql/procedures/ack_messages.sql', 'q.id IS NOT NULL AND g.id IS NOT NULL AS live', 'true AS live'),),
         ('contract/ack_messages', 'contract/deletions'), 'a group that is not there: refused|an ack of a deleted group found something'),
    Rule('live_row_pop', 'A pop joins the live group of the partition\'s own queue.',
         (Edit('sql/procedures/availability.sql', 'ON g.id = p_group_id AND g.queue_id = p.queue_id', 'ON g.id = p_group_id'),),
         ('contract/availability', 'contract/deletions'), 'a group of another queue|popped from a deleted queue'),
    Rule('live_row_renew', 'A renewal joins the live queue.',
         (Edit('sql/procedures/renew_lease.sql', '        JOIN queen.queues q ON q.id = p.queue_id\n', ''),),
         ('contract/renew_lease',), 'a lease on a deleted queue was renewed'),
    Rule('no_foreign_keys', 'No foreign keys on hot tables.', (), ('contract/hot_tables',), 'a foreign key on a hot table',
         sql='ALTER TABLE queen.progress ADD FOREIGN KEY (partition_id) REFERENCES queen.partitions (id)'),
    Rule('select_first_partitions', 'ensure_partitions selects first: what exists burns no id.',
         (Edit('sql/procedures/ensure_partitions.sql',
               '    WHERE p.id IS NULL\n', ''),),
         ('contract/ensure_partitions',), 'one id for each that was made'),
    Rule('select_first_queues', 'The same for queues.',
         (Edit('sql/procedures/ensure_partitions.sql', '''               WHERE NOT EXISTS (SELECT FROM queen.queues q WHERE q.name = u.name)) THEN''', ') THEN'),
          Edit('sql/procedures/ensure_partitions.sql', '''            WHERE NOT EXISTS (SELECT FROM queen.queues q WHERE q.name = u.name)
            ORDER BY 1''', '            ORDER BY 1')),
         ('contract/ensure_partitions',), 'one id for each that was made'),

    Rule('dedup_window_kept', 'An id is left out of the side table only if its time is within W of created_at.',
         (Edit(PUSH, 'inside NOT BETWEEN a.at - v_window AND a.at + v_window',
               'inside NOT BETWEEN a.at - 2 * v_window AND a.at + 2 * v_window'),),
         ('contract/dedup',), '-00:01:00.001'),
    Rule('dedup_untimed', 'Ids without a time are in the side table.',
         (Edit(PUSH, 'AND (inside IS NULL OR inside NOT BETWEEN', 'AND (inside NOT BETWEEN'),), ('contract/dedup',), r'\(1,queued,3,'),
    Rule('dedup_asks_side_table', 'The side table is always asked, whatever time is inside the id.',
         (Edit(DEDUP, 'WHERE k.partition_id = p_partition_id AND k.txn = a.txn', 'WHERE k.partition_id = p_partition_id AND k.txn = a.txn AND a.t IS NULL'),),
         ('contract/dedup',), 'duplicate key value'),
    Rule('dedup_asks_segments', 'The segments around the time inside the id are always asked, not only the newest.',
         (Edit(DEDUP, 'g.base_seq >= span.from_seq',
               'g.base_seq >= (SELECT max(x.base_seq) FROM queen.segments x WHERE x.partition_id = p_partition_id)'),),
         ('contract/dedup',), 'a replay after hours: queued'),
    Rule('dedup_window_ahead', 'The probe for suspects reaches W into the future: the id\'s clock may be ahead.',
         (Edit(PUSH, 'i.known_to AND i.time_min - v_window <= n.created_at', 'i.known_to AND i.time_min <= n.created_at'),),
         ('contract/dedup',), r'3: \(1,queued,6,'),
    Rule('dedup_outside_known', 'What the broker\'s memory does not cover is checked, before and behind it.',
         (Edit(DEDUP, '(g.base_seq < p_known_from OR g.base_seq >= p_known_to)', 'g.base_seq >= p_known_to'),),
         ('contract/dedup',), 'segment 1: .*queued'),
    Rule('dedup_stored_line', 'A duplicate is a stored line: what retention has taken is none.',
         (Edit(DEDUP, 'AND g.payloads IS NOT NULL', ''),), ('contract/dedup',), 'duplicate'),
    Rule('dedup_own_line', 'The id of a message that has a transactionId is not its transactionId: the line is read.',
         (Edit(DEDUP, "          AND coalesce(split_part(g.txns, E'\\n', (o.seq - g.base_seq)::int + 1), '') = ''\n", ''),),
         ('contract/dedup',), 'duplicate'),

    Rule('unknown_push_recorded', 'A push records its key in batches, in its own transaction.',
         (Edit(PUSH, 'HAVING p_n IS NOT NULL AND count(*) > 0', 'HAVING false'),),
         ('contract/batches', 'contract/push_messages', 'isolation/resolve_batch'), r'nothing to tail|no row in batches|\+f'),
    Rule('unknown_ack_recorded', 'An ack that is given a key records it.',
         (Edit('sql/procedures/ack_messages.sql', '    IF p_n IS NOT NULL THEN\n', '    IF false THEN\n'),),
         ('contract/ack_messages', 'contract/execute_transaction'), 'no row in batches|acks alone are recorded too'),
    Rule('unknown_resolved_by_insert', 'What became of a batch is found by inserting its key, not by looking for it.',
         (Edit('sql/procedures/resolve_batch.sql', '''    INSERT INTO queen.batches (broker, n, base_seqs) VALUES (p_broker, p_n, '{-1}') ON CONFLICT DO NOTHING;
    IF FOUND THEN
''', '''    IF NOT EXISTS (SELECT FROM queen.batches b WHERE b.broker = p_broker AND b.n = p_n) THEN
'''),), ('isolation/resolve_batch', 'contract/batches'), r'-step resolve.*<waiting|expected 23505'),
    Rule('unknown_tail_in_flight', 'The tail tells of batches that were in flight at the last read.',
         (Edit('sql/procedures/tail_batches.sql', 'unnest(ARRAY(SELECT pg_snapshot_xip(p_since)))', "unnest('{}'::xid8[])"),),
         ('isolation/tail_batches',), r'-\s+1\|\{1\}'),
)
