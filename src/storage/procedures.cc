#include "storage/procedures.h"

namespace queen::storage {
namespace {

using namespace pg::oid;  // NOLINT(google-build-using-namespace): the tables below are made of them

}  // namespace

const pg::Statement kFindPartitions{"find_partitions",
                                    "SELECT ordinal, queue_id, partition_id, encrypted"
                                    " FROM queen.find_partitions($1, $2)"
                                    " WHERE partition_id IS NOT NULL",
                                    {kTextArray, kTextArray}};

const pg::Statement kEnsurePartitions{
    "ensure_partitions",
    // find_partitions sees what was there before; a queue made by this very call has the default.
    "SELECT e.ordinal, e.queue_id, e.partition_id, coalesce(f.encrypted, false),"
    " f.queue_id IS NULL FROM queen.ensure_partitions($1, $2) e"
    " JOIN queen.find_partitions($1, $2) f ON f.ordinal = e.ordinal",
    {kTextArray, kTextArray}};

const pg::Statement kFindPopNames{"find_pop_names",
                                  "SELECT ordinal, queue_id, group_id, partition_id, early"
                                  " FROM queen.find_pop_names($1, $2, $3)",
                                  {kTextArray, kTextArray, kTextArray}};

const pg::Statement kEnsureGroups{
    "ensure_groups",
    "SELECT ordinal, queue_id, group_id FROM queen.ensure_groups($1, $2, $3, $4)",
    {kTextArray, kTextArray, kTextArray, kTimestampTzArray}};

const pg::Statement kHeartbeat{
    "heartbeat",
    "INSERT INTO queen.batches (broker, n) VALUES ($1, -nextval('queen.sql_batches'))"
    " RETURNING (SELECT d.id::text FROM queen.database_identity d)",
    {kInt8}};

const pg::Statement kRequireDatabase{
    "require_database", "SELECT queen.require_database($1)", {kUuid}};

const pg::Statement kFindFamily{"find_family",
                                "SELECT queue_id, queue_name, priority"
                                " FROM queen.find_family($1, $2, $3, $4, $5)",
                                {kText, kText, kText, kText, kTimestampTz}};

const pg::Statement kPushMessages{
    "push_messages",
    "SELECT ordinal, status, base_seq, created_at, line FROM queen.push_messages("
    "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
    {kInt8, kInt8, kBool, kInt4Array, kInt4Array, kTextArray, kTextArray, kTextArray, kTextArray,
     kTextArray, kTimestampTzArray, kTimestampTzArray, kBoolArray, kInt8Array, kInt8Array,
     kBoolArray, kBool}};

const pg::Statement kLoadIds{"load_ids",
                             "SELECT base_seq, count, txns FROM queen.load_ids($1, $2, $3)",
                             {kInt4, kInt8, kInt8}};

const pg::Statement kIndexUntimed{"index_untimed", "SELECT queen.index_untimed($1)", {kInt4}};

const pg::Statement kMergeUntimed{"merge_untimed", "SELECT queen.merge_untimed()", {}};

const pg::Statement kResolveBatch{
    "resolve_batch",
    "SELECT committed, partitions, base_seqs, created_ats FROM queen.resolve_batch($1, $2)",
    {kInt8, kInt8}};

const pg::Statement kFetch{"pop_sm_fetch",
                           "SELECT ordinal, count, created_at, payloads, txns, meta"
                           " FROM queen.pop_sm_fetch($1, $2)",
                           {kInt4Array, kInt8Array}};

const pg::Statement kResolve{
    "pop_sm_resolve",
    "SELECT partition_id, ready_in_ms, next_after FROM queen.pop_sm_resolve($1, $2, $3, $4)",
    {kInt4, kInt4, kInt4, kInt4}};

const pg::Statement kTail{"tail_batches",
                          "SELECT t.queue_id, t.partitions, t.next_since::text, t.truncated,"
                          " q.namespace, q.task"
                          " FROM queen.tail_batches($1::pg_snapshot, $2, $3, $4) t"
                          // OFFSET 0: a probe for each queue that has changed, whatever the plan
                          " LEFT JOIN LATERAL (SELECT x.namespace, x.task FROM queen.queues x"
                          " WHERE t.partitions IS NULL AND x.id = t.queue_id OFFSET 0) q ON true",
                          {kText, kInt4, kInt8, kInt8}};

const pg::Statement kHasPending{
    "has_pending_messages",
    "SELECT ordinal, pending, ready_in_ms FROM queen.has_pending_messages($1, $2)",
    {kInt4Array, kInt4Array}};

const pg::Statement kFindAckTargets{"find_ack_targets",
                                    "SELECT ordinal, queue_name, partition_name, group_id, seq"
                                    " FROM queen.find_ack_targets($1, $2, $3)",
                                    {kInt4Array, kTextArray, kTextArray}};

const pg::Statement kFindTransactionTargets{
    "find_transaction_targets",
    "SELECT u.ordinal::int, q.name, p.name, g.id, g.name, f.seq"
    " FROM unnest($1, $2, $3) WITH ORDINALITY AS u(partition_id, group_name, lease, ordinal)"
    " JOIN queen.partitions p ON p.id = u.partition_id"
    " JOIN queen.queues q ON q.id = p.queue_id"
    " LEFT JOIN LATERAL ("
    "SELECT r.group_id FROM queen.progress r"
    " WHERE u.group_name IS NULL AND r.partition_id = u.partition_id"
    " AND (r.lease_id = u.lease OR u.lease IS NULL AND r.lease_id = ANY ($5))"
    " ORDER BY r.epoch DESC LIMIT 1) b ON true"
    " LEFT JOIN queen.groups g ON g.queue_id = q.id AND (g.name = u.group_name OR g.id = "
    "b.group_id)"
    " LEFT JOIN queen.find_messages($1, $4) f ON f.ordinal = u.ordinal",
    {kInt4Array, kTextArray, kUuidArray, kTextArray, kUuidArray}};

const pg::Statement kExecuteTransaction{
    "execute_transaction",
    "SELECT part, ordinal, status, base_seq, created_at, line, dead, released"
    " FROM queen.execute_transaction($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,"
    " $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)",
    {kInt8,      kInt8,      kInt4Array, kInt4Array,        kTextArray,        kTextArray,
     kTextArray, kTextArray, kTextArray, kTimestampTzArray, kTimestampTzArray, kBoolArray,
     kInt4Array, kInt4Array, kInt4Array, kInt4Array,        kUuidArray,        kTextArray,
     kInt8Array, kTextArray, kBoolArray, kTextArray,        kUuidArray,        kBoolArray}};

const pg::Statement kFindDeadLetters{
    "find_dead_letters",
    "SELECT u.ordinal::int FROM unnest($1, $2, $3)"
    " WITH ORDINALITY AS u(partition_id, group_id, seq, ordinal)"
    " JOIN queen.dead_letters d ON d.partition_id = u.partition_id AND d.group_id = u.group_id"
    " AND d.seq = u.seq",
    {kInt4Array, kInt4Array, kInt8Array}};

const pg::Statement kRegisterStreamQuery{
    "register_stream_query",
    "SELECT query_id, fresh, reset FROM queen.register_stream_query($1, $2, $3, $4, $5)",
    {kText, kText, kText, kText, kBool}};

const pg::Statement kGetStreamState{
    "get_stream_state",
    "SELECT bytes, key, value, updated_at"
    " FROM queen.get_stream_state_within($1, $2, $3, $4, $5::numeric, $6)",
    {kUuid, kInt4, kTextArray, kText, kText, kInt8}};

const pg::Statement kStreamCycle{
    "stream_cycle",
    "SELECT part, ordinal, base_seq, created_at, settled, released, dead"
    " FROM queen.stream_cycle($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13::numeric[],"
    " $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)",
    {kInt8,
     kInt8,
     kUuid,
     kInt4,
     kInt4,
     kUuid,
     kInt8,
     kText,
     kText,
     kBool,
     kTextArray,
     kTextArray,
     kTextArray,
     kInt4Array,
     kInt4Array,
     kTextArray,
     kTextArray,
     kTextArray,
     kTextArray,
     kTextArray,
     kTimestampTzArray,
     kTimestampTzArray,
     kBoolArray,
     kBoolArray}};

const pg::Statement kRenewLease{"renew_lease",
                                "SELECT ordinal, state, lease_until FROM queen.renew_lease($1, $2)",
                                {kUuidArray, kInt4Array}};

// ---- administration

const pg::Statement kConfigure{"configure",
                               "SELECT queue_id, partition_id, namespace, task, options,"
                               " (options ->> 'maxSize')::bigint"
                               " FROM queen.configure($1, $2, $3, $4, $5)",
                               {kText, kText, kText, kJsonb, kBool}};

const pg::Statement kDeleteQueue{"delete_queue", "SELECT queen.delete_queue($1)", {kText}};

const pg::Statement kDeletePartition{
    "delete_partition", "SELECT queen.delete_partition($1, $2)", {kText, kText}};

const pg::Statement kDeleteGroup{"delete_group",
                                 "SELECT deleted_partitions FROM queen.delete_group($1, $2, $3)",
                                 {kText, kText, kBool}};

const pg::Statement kSetSubscription{
    "set_subscription", "SELECT queen.set_subscription($1, $2)", {kText, kTimestampTz}};

const pg::Statement kListQueueLimits{"list_queue_limits",
                                     "SELECT q.id, q.name, q.max_size FROM queen.queues q"
                                     " WHERE q.max_size > 0 AND q.id > $1 ORDER BY q.id LIMIT $2",
                                     {kInt4, kInt4}};

const pg::Statement kQueueDepths{
    "queue_depths",
    "SELECT queue_id, group_id, unconsumed, idle_ms, next_queue, next_after"
    " FROM queen.queue_depths($1, $2, $3)",
    {kInt4Array, kInt4, kInt4}};

const pg::Statement kFindQueuesOf{"find_queues_of",
                                  "SELECT p.id, q.name FROM unnest($1) AS u(id)"
                                  " JOIN queen.partitions p ON p.id = u.id"
                                  " JOIN queen.queues q ON q.id = p.queue_id",
                                  {kInt4Array}};

const pg::Statement kFindStreamQueues{"find_stream_queues",
                                      "SELECT s.source_queue, coalesce(s.sink_queue, '')"
                                      " FROM queen.stream_queries s WHERE s.id = $1 OR s.name = $2",
                                      {kUuid, kText}};

const pg::Statement kReadTokenVersion{
    "read_token_version", "SELECT version FROM queen.token_version", {}};

const pg::Statement kReadTokens{
    "read_tokens",
    "SELECT t.id, t.hash, t.subject, t.role, t.queues::text, t.expires_at, v.version"
    " FROM queen.token_version v LEFT JOIN queen.tokens t ON t.revoked_at IS NULL"
    " AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())",
    {}};

const pg::Statement kReadMaintenance{"read_maintenance",
                                     "SELECT EXISTS (SELECT FROM queen.system_state"
                                     "  WHERE name = 'push_maintenance' AND value = 'true'),"
                                     " EXISTS (SELECT FROM queen.system_state"
                                     "  WHERE name = 'pop_maintenance' AND value = 'true')",
                                     {}};

const pg::Statement kSetMaintenance{"set_maintenance",
                                    "INSERT INTO queen.system_state AS s (name, value)"
                                    " VALUES ($1, to_jsonb($2))"
                                    " ON CONFLICT (name) DO UPDATE SET value = excluded.value,"
                                    " changed_at = clock_timestamp() RETURNING s.value = 'true'",
                                    {kText, kBool}};

const pg::Statement kClearQueue{"clear_queue",
                                "SELECT cleared, next_after, next_from, next_upto"
                                " FROM queen.clear_queue($1, $2, $3, $4, $5, $6)",
                                {kText, kText, kInt4, kInt8, kInt8, kInt4}};

const pg::Statement kSeek{
    "seek",
    "SELECT moved, next_after FROM queen.seek($1, $2, $3, $4, $5, $6, $7, $8)",
    {kText, kText, kText, kText, kTimestampTz, kInt8, kInt4, kInt4}};

const pg::Statement kListDeadLetters{
    "list_dead_letters",
    "SELECT id, transaction_id, partition_id, queue, partition, consumer_group, error, retry_count,"
    " payload, meta, created_at, failed_at"
    " FROM queen.list_dead_letters($1, $2, $3, $4, $5, $6, $7)",
    {kText, kText, kText, kTimestampTz, kTimestampTz, kInt4, kInt4}};

const pg::Statement kCountDeadLetters{"count_dead_letters",
                                      "SELECT queen.count_dead_letters($1, $2, $3, $4, $5)",
                                      {kText, kText, kText, kTimestampTz, kTimestampTz}};

const pg::Statement kRedriveDeadLetters{
    "redrive_dead_letters",
    "SELECT redriven, up_to, queues"
    " FROM queen.redrive_dead_letters($1, $2, $3, $4, $5, $6, $7)",
    {kText, kText, kText, kTimestampTz, kTimestampTz, kInt4, kInt8}};

const pg::Statement kPurgeDeadLetters{
    "purge_dead_letters",
    "SELECT purged, up_to FROM queen.purge_dead_letters($1, $2, $3, $4, $5, $6)",
    {kText, kText, kText, kTimestampTz, kTimestampTz, kInt4}};

const pg::Statement kFindMessage{"find_message",
                                 "SELECT document, payload, meta FROM queen.find_message($1, $2)",
                                 {kInt4, kText}};

const pg::Statement kDeleteMessage{
    "delete_message", "SELECT deleted, queue FROM queen.delete_message($1, $2)", {kInt4, kText}};

const pg::Statement kRedriveMessage{
    "redrive_message",
    "SELECT queue, consumer_group, message_id FROM queen.redrive_message($1, $2, $3)",
    {kInt4, kText, kText}};

const pg::Statement kDeadLetterMessage{
    "dead_letter_message",
    "SELECT state, queue FROM queen.dead_letter_message($1, $2, $3, $4)",
    {kInt4, kText, kText, kText}};

const pg::Statement kRecordTrace{"record_trace",
                                 "SELECT queen.record_trace($1, $2, $3, $4, $5, $6, $7)",
                                 {kInt4, kText, kText, kText, kText, kTextArray, kText}};

const pg::Statement kListTraces{
    "list_traces",
    "SELECT id, event_type, data, consumer_group, worker_id, created_at, trace_names"
    " FROM queen.list_traces($1, $2)",
    {kInt4, kText}};

const pg::Statement kListTracesByName{
    "list_traces_by_name",
    "SELECT id, event_type, data, consumer_group, worker_id, created_at, partition_id,"
    " transaction_id, queue, partition FROM queen.list_traces_by_name($1, $2, $3)",
    {kText, kInt4, kInt4}};

const pg::Statement kCountTracesByName{
    "count_traces_by_name",
    "SELECT count(*) FROM queen.trace_names n JOIN queen.traces t ON t.id = n.trace_id"
    " JOIN queen.partitions p ON p.id = t.partition_id JOIN queen.queues q ON q.id = p.queue_id"
    " WHERE n.name = $1",
    {kText}};

const pg::Statement kListTraceNames{"list_trace_names",
                                    "SELECT trace_name, trace_count, message_count, last_seen"
                                    " FROM queen.list_trace_names($1, $2)",
                                    {kInt4, kInt4}};

const pg::Statement kCountTraceNames{
    "count_trace_names", "SELECT count(DISTINCT name) FROM queen.trace_names", {}};

// ---- sweeps

const pg::Statement kSweepProgress{"sweep_progress",
                                   "SELECT removed, next_partition_id, next_group_id"
                                   " FROM queen.sweep_progress($1, $2, $3)",
                                   {kInt4, kInt4, kInt4}};

const pg::Statement kSweepSegments{
    "sweep_segments",
    "SELECT removed, blanked, messages, next_after FROM queen.sweep_segments($1, $2, $3)",
    {kInt4, kInt4, kInt4}};

const pg::Statement kSweepBatches{
    "sweep_batches",
    "SELECT removed, reached FROM queen.sweep_batches($1 * interval '1 second', $2, $3)",
    {kInt4, kInt4, kInt8}};

const pg::Statement kSweepOrphans{
    "sweep_orphans", "SELECT removed, more FROM queen.sweep_orphans($1)", {kInt4}};

const pg::Statement kSweepAged{"sweep_aged",
                               "SELECT removed, more FROM queen.sweep_aged($1, $2, $3, $4)",
                               {kInt4, kInt4, kInt4, kInt4}};

const pg::Statement kSweepStreamState{
    "sweep_stream_state", "SELECT queen.sweep_stream_state($1)", {kInt4}};

const pg::Statement kSweepMinutes{
    "sweep_minutes", "SELECT removed, more FROM queen.sweep_minutes($1, $2)", {kInt4, kInt4}};

const pg::Statement kAddUpHour{"add_up_hour", "SELECT queen.add_up_hour($1)", {kInt4}};

const pg::Statement kSweepCleared{
    "sweep_cleared", "SELECT removed, next_after FROM queen.sweep_cleared($1, $2)", {kInt4, kInt4}};

const pg::Statement kSweepAudit{
    "sweep_audit", "SELECT removed, more FROM queen.sweep_audit($1, $2)", {kInt4, kInt4}};

const pg::Statement kRecordAudit{"record_audit", "SELECT queen.record_audit($1)", {kJsonb}};

const pg::Statement kFlushMinutes{
    "flush_minutes", "SELECT queen.flush_minutes($1, $2)", {kJsonb, kJsonb}};

// ---- the stats job

const pg::Statement kBeginStats{
    "begin_stats",
    "SELECT state, wait_ms, since FROM queen.begin_stats($1, $2, $3, $4)",
    {kUuid, kInt8, kBool, kTimestampTz}};

const pg::Statement kMeasureStats{"measure_stats",
                                  "SELECT state, next_queue, next_after, carry::text"
                                  " FROM queen.measure_stats($1, $2, $3, $4, $5)",
                                  {kUuid, kInt4, kInt4, kJsonb, kInt4}};

const pg::Statement kLeaveStats{"leave_stats", "SELECT queen.leave_stats($1)", {kUuid}};

}  // namespace queen::storage
