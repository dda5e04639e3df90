#include <fmt/format.h>

#include "base/json_reader.h"
#include "simulator/database/procedures/ledger.h"
#include "simulator/database/procedures/names.h"
#include "simulator/database/procedures/procedures.h"

namespace queen::simulator {
namespace {

template <typename T>
void TakeNumber(const JsonValue& options, std::string_view name, T& value) {
  const JsonValue found = options.Find(name);
  if (!found.absent_or_null()) value = static_cast<T>(*found.Int64());
}
template <typename T>
void TakeBool(const JsonValue& options, std::string_view name, T& value) {
  const JsonValue found = options.Find(name);
  if (!found.absent_or_null()) value = *found.Bool();
}

void TakeOptions(const JsonValue& options, QueueRow& row) {
  TakeNumber(options, "leaseTime", row.lease_time);
  if (row.lease_time == 0) row.lease_time = QueueRow().lease_time;
  TakeNumber(options, "retryLimit", row.retry_limit);
  TakeNumber(options, "retryDelay", row.retry_delay);
  TakeNumber(options, "maxDeliveries", row.max_deliveries);
  TakeBool(options, "deadLetterQueue", row.dead_letter_queue);
  TakeBool(options, "dlqAfterMaxRetries", row.dlq_after_max_retries);
  TakeNumber(options, "delayedProcessing", row.delayed_processing);
  TakeNumber(options, "windowBuffer", row.window_buffer);
  TakeBool(options, "retentionEnabled", row.retention_enabled);
  TakeNumber(options, "retentionSeconds", row.retention_seconds);
  TakeNumber(options, "completedRetentionSeconds", row.completed_retention_seconds);
  TakeNumber(options, "maxWaitTimeSeconds", row.max_wait_time_seconds);
  TakeNumber(options, "maxSize", row.max_size);
  TakeNumber(options, "ttl", row.ttl);
  TakeNumber(options, "priority", row.priority);
  TakeBool(options, "encryptionEnabled", row.encryption_enabled);
}

// As json_build_object writes it.
std::string OptionsOf(const QueueRow& row) {
  return fmt::format(
      R"({{"leaseTime" : {}, "retryLimit" : {}, "retryDelay" : {}, "maxDeliveries" : {}, )"
      R"("deadLetterQueue" : {}, "dlqAfterMaxRetries" : {}, "delayedProcessing" : {}, )"
      R"("windowBuffer" : {}, "retentionEnabled" : {}, "retentionSeconds" : {}, )"
      R"("completedRetentionSeconds" : {}, "maxWaitTimeSeconds" : {}, "maxSize" : {}, )"
      R"("ttl" : {}, "priority" : {}, "encryptionEnabled" : {}}})",
      row.lease_time, row.retry_limit, row.retry_delay, row.max_deliveries, row.dead_letter_queue,
      row.dlq_after_max_retries, row.delayed_processing, row.window_buffer,
      row.retention_enabled.value_or(false), row.retention_seconds, row.completed_retention_seconds,
      row.max_wait_time_seconds, row.max_size, row.ttl, row.priority, row.encryption_enabled);
}

// What is ready, and when, may be another.
bool ReadinessDiffers(const QueueRow& a, const QueueRow& b) {
  return a.delayed_processing != b.delayed_processing || a.window_buffer != b.window_buffer ||
         a.retention_enabled != b.retention_enabled || a.retention_seconds != b.retention_seconds ||
         a.max_wait_time_seconds != b.max_wait_time_seconds || a.priority != b.priority;
}

}  // namespace

Task<pg::Rows> Configure(Call& call) {
  Transaction& transaction = call.transaction;
  Catalog& catalog = call.catalog;
  const std::string name(*call.arguments.Text(1));
  const auto queue_namespace = call.arguments.Text(2);
  const auto task = call.arguments.Text(3);
  const std::string options_text(call.arguments.Jsonb(4).value_or("{}"));
  const bool replace = call.arguments.Bool(5).value_or(false);
  const JsonValue options = *ParseJson(options_text);

  co_await transaction.NextStatement();
  std::optional<int32_t> born;
  if (!QueueNamed(transaction, catalog, name)) {
    co_await transaction.NextStatement();
    QueueRow row;
    row.name = name;
    row.queue_namespace = queue_namespace.value_or("");
    row.task = task.value_or("");
    row.created_at = transaction.Now();
    born = co_await InsertQueue(transaction, catalog, std::move(row));
  }
  co_await transaction.NextStatement();
  const int32_t id = QueueNamed(transaction, catalog, name).value();
  const auto locked = co_await catalog.queues.Lock(transaction, id);
  if (!locked) throw SqlError{"23502", "the queue was deleted meanwhile", ""};
  const QueueRow before = *locked;
  QueueRow after = replace ? QueueRow() : before;
  after.name = before.name;
  after.created_at = before.created_at;
  after.version = before.version;
  if (queue_namespace) after.queue_namespace = *queue_namespace;
  if (task) after.task = *task;
  TakeOptions(options, after);
  (void)co_await catalog.queues.Update(transaction, id,
                                       [&after](QueueRow& changed) { changed = after; });
  if (born || before.queue_namespace != after.queue_namespace || before.task != after.task) {
    co_await transaction.NextStatement();
    std::vector<int32_t> queues{id};
    co_await JoinFamilies(transaction, catalog, std::move(queues), born.has_value());
  }
  if (ReadinessDiffers(before, after)) {
    std::vector<int32_t> mark{-id};
    co_await Announce(transaction, catalog, std::move(mark), 0);
  }
  const std::vector<std::pair<std::string, std::string>> names{{name, "Default"}};
  co_await EnsureNames(transaction, catalog, names);
  if (before != after) {
    std::set<int32_t> queues{id};
    co_await RaiseVersions(transaction, catalog, std::move(queues));
  }

  co_await transaction.NextStatement();
  Answer answer({{"queue_id", oid::kInt4},
                 {"partition_id", oid::kInt4},
                 {"namespace", oid::kText},
                 {"task", oid::kText},
                 {"options", oid::kJson},
                 {"int8", oid::kInt8}});
  answer.Int4(id)
      .Int4(PartitionNamed(transaction, catalog, id, "Default"))
      .Text(after.queue_namespace)
      .Text(after.task)
      .Text(OptionsOf(after))
      .Int8(after.max_size);
  co_return std::move(answer).Take();
}

}  // namespace queen::simulator
