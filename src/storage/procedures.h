// The SQL the broker speaks: every statement is a call of a procedure in sql/procedures (or a plain
// look-up), and the names of SQL functions stand nowhere else. Parameters and columns are in the
// order written here; the procedure's file says what they mean.
#pragma once

#include "pg/statement.h"

namespace queen::storage {

// queues text[], partitions text[] -> ordinal, queue_id, partition_id, encrypted; rows only for
// what exists
extern const pg::Statement kFindPartitions;
// queues text[], partitions text[] -> ordinal, queue_id, partition_id, encrypted, and
// whether its queue was made by this call
extern const pg::Statement kEnsurePartitions;
// queues, groups, partitions (names; NULL = any)
//   -> ordinal, queue_id, group_id, partition_id (each or NULL), early; a row for each
extern const pg::Statement kFindPopNames;
// queues, groups, modes, times -> ordinal, queue_id, group_id; rows only where the queue exists
extern const pg::Statement kEnsureGroups;

// broker -> the database's id as text; one row in the ledger of batches, to see that a write
// commits
extern const pg::Statement kHeartbeat;
// id -> nothing; fails its batch, to be tried again, unless the database has this id
extern const pg::Statement kRequireDatabase;
// namespace or NULL, task or NULL, group, mode, time -> queue_id, queue_name, priority
extern const pg::Statement kFindFamily;

// broker, n, wait, partitions, counts, payloads, txns, metas, txn_mins, txn_maxs, time_mins,
// time_maxs, untimed, known_froms, known_tos, encrypted, known_untimed
//   -> ordinal, status, base_seq, created_at, line
extern const pg::Statement kPushMessages;
// partition, from or NULL, to -> base_seq, count, txns of whole segments; txns NULL: no ids without
// a time inside
extern const pg::Statement kLoadIds;
// partition -> whether something was indexed
extern const pg::Statement kIndexUntimed;
// broker, n -> committed, partitions, base_seqs, created_ats; after an unknown end: once it has
// answered "not committed", that batch never will be
extern const pg::Statement kResolveBatch;

// partitions, base_seqs -> ordinal, count, created_at, payloads, txns, meta
extern const pg::Statement kFetch;
// queue_id, group_id, after, page -> partition_id, ready_in_ms, next_after
extern const pg::Statement kResolve;
// since or NULL, limit, own_first, own_last -> queue_id, partitions, next_since, truncated, and
// where partitions is NULL the queue's namespace, task
extern const pg::Statement kTail;
// partitions, groups -> ordinal, pending, ready_in_ms
extern const pg::Statement kHasPending;

// partitions, groups text[], txns -> ordinal, queue_name, partition_name, group_id, seq
extern const pg::Statement kFindAckTargets;
// partitions, groups text[] (NULL = that of the lease), leases (NULL = one of required), txns,
// required leases -> ordinal, queue_name, partition_name, group_id, group_name, seq
extern const pg::Statement kFindTransactionTargets;
// broker, n, partitions, counts, payloads, txns, metas, txn_mins, txn_maxs, time_mins, time_maxs,
// untimed, push_indexes, ack_indexes, ack_partitions, ack_groups, ack_leases, ack_txns, ack_seqs,
// ack_kinds, ack_cumulatives, ack_errors, required_leases, encrypted
//   -> part, ordinal, status, base_seq, created_at, line, dead, released
extern const pg::Statement kExecuteTransaction;
// partitions, groups, seqs -> ordinal of those that are dead letters
extern const pg::Statement kFindDeadLetters;

// name, source_queue, sink_queue, config_hash, reset -> query_id, fresh, reset
extern const pg::Statement kRegisterStreamQuery;
// query_id, partition_id, keys, prefix, ripe_at (a number as text) -> key, value, updated_at
extern const pg::Statement kGetStreamState;
// broker, n, query_id, partition_id, group_id, lease, ack_seq, ack_kind, ack_error, release,
// op_keys, op_values, op_window_ends (numbers as text), partitions, counts, payloads, txns, metas,
// txn_mins, txn_maxs, time_mins, time_maxs, untimed, encrypted
//   -> part, ordinal, base_seq, created_at, settled, released, dead
extern const pg::Statement kStreamCycle;

// leases, seconds -> ordinal, state, lease_until
extern const pg::Statement kRenewLease;

// ---- administration

// queue, namespace, task, options jsonb, replace
//   -> queue_id, partition_id, namespace, task, options, max_size
extern const pg::Statement kConfigure;
// queue -> existed
extern const pg::Statement kDeleteQueue;
// queue, partition -> existed
extern const pg::Statement kDeletePartition;
// group, queue or NULL, metadata -> deleted_partitions
extern const pg::Statement kDeleteGroup;
// group, time -> updated
extern const pg::Statement kSetSubscription;
// after, limit -> id, name, max_size of the queues that have a limit, by id
extern const pg::Statement kListQueueLimits;
// queue ids, after, probes -> queue_id, group_id, unconsumed, idle_ms, next_queue, next_after
extern const pg::Statement kQueueDepths;
// partitions -> partition_id, queue_name; rows only for what exists
extern const pg::Statement kFindQueuesOf;
// id or NULL, name or NULL, of a streaming query -> source_queue, sink_queue or ""; no row for none
extern const pg::Statement kFindStreamQueues;
// -> version: differs after every change of tokens
extern const pg::Statement kReadTokenVersion;
// -> id, hash, subject, role, queues or NULL, expires_at or NULL, version; of those that are valid.
// Without any, one row with a version and NULLs
extern const pg::Statement kReadTokens;
// -> push, pop: whether they are paused by maintenance
extern const pg::Statement kReadMaintenance;
// name of the flag ("push_maintenance", "pop_maintenance"), enabled -> enabled
extern const pg::Statement kSetMaintenance;
// queue, partition or NULL, after, from, upto (each may be NULL), limit
//   -> cleared, next_after, next_from, next_upto
extern const pg::Statement kClearQueue;
// queue, group, partition or NULL, mode, time, offset, after, limit -> moved, next_after
extern const pg::Statement kSeek;
// queue, group, partition, from, to (each may be NULL), limit, offset
//   -> id, transaction_id, partition_id, queue, partition, consumer_group, error, retry_count,
//      payload, meta, created_at, failed_at
extern const pg::Statement kListDeadLetters;
// queue, group, partition, from, to -> count
extern const pg::Statement kCountDeadLetters;
// queue, group, partition, from, to, limit, bytes -> redriven, up_to, queues; one step
extern const pg::Statement kRedriveDeadLetters;
// queue, group, partition, from, to, limit -> purged, up_to; one step
extern const pg::Statement kPurgeDeadLetters;
// partition, txn -> document, payload, meta; a row if there is such a message
extern const pg::Statement kFindMessage;
// partition, txn -> deleted, queue
extern const pg::Statement kDeleteMessage;
// partition, txn, group or NULL -> queue, consumer_group, message_id of each that was pushed again
extern const pg::Statement kRedriveMessage;
// partition, txn, group, error -> state, queue
extern const pg::Statement kDeadLetterMessage;
// partition, txn, group, event_type, data, names, worker -> id
extern const pg::Statement kRecordTrace;
// partition, txn
//   -> id, event_type, data, consumer_group, worker_id, created_at, trace_names
extern const pg::Statement kListTraces;
// name, limit, offset -> as kListTraces without the names, then partition_id, transaction_id,
//   queue, partition
extern const pg::Statement kListTracesByName;
// name -> count
extern const pg::Statement kCountTracesByName;
// limit, offset -> trace_name, trace_count, message_count, last_seen
extern const pg::Statement kListTraceNames;
// -> count
extern const pg::Statement kCountTraceNames;

// ---- sweeps, one short step each

// partition_id, group_id, limit -> removed, next_partition_id, next_group_id
extern const pg::Statement kSweepProgress;
// after, partitions, limit -> removed, blanked, messages, next_after
extern const pg::Statement kSweepSegments;
// -> whether there was anything to do for the runs of ids without a time inside
extern const pg::Statement kMergeUntimed;
// age in seconds, limit -> removed
extern const pg::Statement kSweepBatches;
// limit -> removed, more
extern const pg::Statement kSweepOrphans;
// trace days, dead letter days, early group days, limit -> removed, more
extern const pg::Statement kSweepAged;
// limit -> removed
extern const pg::Statement kSweepStreamState;
// days, limit -> removed, more
extern const pg::Statement kSweepMinutes;
extern const pg::Statement kAddUpHour;
extern const pg::Statement kSweepCleared;
// days, limit -> removed, more
extern const pg::Statement kSweepAudit;
// entries as JSON -> how many are new
extern const pg::Statement kRecordAudit;

// ---- metrics

// rows of queen.broker_minutes, rows of queen.queue_minutes (JSON arrays) -> the database's clock
extern const pg::Statement kFlushMinutes;

// ---- the stats job

// holder, interval in ms, hurry, since or NULL -> state, wait_ms, since
extern const pg::Statement kBeginStats;
// holder, queue, after, carry or NULL, probes -> state, next_queue, next_after, carry
extern const pg::Statement kMeasureStats;
// holder -> whether it was the holder
extern const pg::Statement kLeaveStats;

}  // namespace queen::storage
