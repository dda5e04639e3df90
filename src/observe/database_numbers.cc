#include "observe/database_numbers.h"

#include <utility>

#include "base/clock.h"
#include "observe/queue_series.h"

namespace queen::observe {
namespace {

using metrics::Kind;

std::string NameOrOthers(const std::string& name) {
  return name.empty() ? QueueSeries::kOthers : name;
}

}  // namespace

template <typename Read>
void DatabaseNumbers::AddQueues(metrics::Registry& registry, const char* name, const char* help,
                                Read read) {
  registry.AddCollected(Kind::kGauge, name, help, [this, read](const metrics::Emit& emit) {
    const std::lock_guard lock(mutex_);
    for (const QueueDepth& queue : queues_) {
      emit({{"queue", NameOrOthers(queue.queue)}}, static_cast<double>(read(queue)));
    }
  });
}

void DatabaseNumbers::AddTables(metrics::Registry& registry, const char* name, const char* help,
                                const char* kind) {
  registry.AddCollected(Kind::kGauge, name, help, [this, kind](const metrics::Emit& emit) {
    const std::lock_guard lock(mutex_);
    for (const DatabaseValue& value : values_) {
      if (value.kind == kind) emit({{"table", value.subject}}, value.value);
    }
  });
}

void DatabaseNumbers::AddDatabase(metrics::Registry& registry, const char* name, const char* help,
                                  const char* kind) {
  registry.AddCollected(Kind::kGauge, name, help, [this, kind](const metrics::Emit& emit) {
    const std::lock_guard lock(mutex_);
    for (const DatabaseValue& value : values_) {
      if (value.kind == kind) emit({}, value.value);
    }
  });
}

DatabaseNumbers::DatabaseNumbers(metrics::Registry& registry) {
  AddQueues(registry, "queen_queue_depth",
            "Messages that some group of the queue has still to consume.",
            [](const QueueDepth& queue) { return queue.pending; });
  AddQueues(registry, "queen_queue_processing", "Of these, under a lease.",
            [](const QueueDepth& queue) { return queue.processing; });
  AddQueues(registry, "queen_queue_failing", "Of these, failed and to be delivered again.",
            [](const QueueDepth& queue) { return queue.failed; });
  AddQueues(registry, "queen_queue_stored_messages", "Messages stored, consumed ones included.",
            [](const QueueDepth& queue) { return queue.stored; });
  AddQueues(registry, "queen_queue_partitions", "Partitions of the queue.",
            [](const QueueDepth& queue) { return queue.partitions; });
  AddQueues(registry, "queen_queue_dead_letters", "Dead letters of the queue.",
            [](const QueueDepth& queue) { return queue.dead_letters; });
  AddQueues(registry, "queen_queue_oldest_age_seconds",
            "Age of the oldest message that some group has still to consume, 0 for none.",
            [](const QueueDepth& queue) { return queue.oldest_age_seconds; });
  registry.AddCollected(
      Kind::kGauge, "queen_group_lag", "Messages that the group has still to consume.",
      [this](const metrics::Emit& emit) {
        const std::lock_guard lock(mutex_);
        for (const GroupLag& group : groups_) {
          emit({{"queue", NameOrOthers(group.queue)}, {"group", NameOrOthers(group.group)}},
               static_cast<double>(group.lag));
        }
      });
  registry.AddCollected(
      Kind::kGauge, "queen_group_oldest_age_seconds",
      "Age of the oldest message that the group has still to consume.",
      [this](const metrics::Emit& emit) {
        const std::lock_guard lock(mutex_);
        for (const GroupLag& group : groups_) {
          emit({{"queue", NameOrOthers(group.queue)}, {"group", NameOrOthers(group.group)}},
               group.oldest_age_seconds);
        }
      });
  registry.AddCollected(
      Kind::kGauge, "queen_queue_numbers_age_seconds",
      "Seconds since this broker has read depth and lag; grows while the database is away.",
      [this](const metrics::Emit& emit) {
        const std::lock_guard lock(mutex_);
        if (queues_read_ms_ == 0) return;
        emit({}, static_cast<double>(SteadyMillis() - queues_read_ms_) / 1e3);
      });
  AddDatabase(registry, "queen_stats_age_seconds",
              "How old the measurement behind depth and lag was when it was read.",
              "stats_age_seconds");
  AddTables(registry, "queen_table_live_rows", "Rows of our tables, as PostgreSQL estimates them.",
            "live_tuples");
  AddTables(registry, "queen_table_dead_rows",
            "Row versions of our tables that vacuum has still to remove, as PostgreSQL estimates "
            "them.",
            "dead_tuples");
  AddTables(registry, "queen_table_bytes", "Size of our tables with their indexes.", "bytes");
  AddDatabase(registry, "queen_database_xmin_age",
              "Transactions begun since the oldest snapshot that holds back vacuum.", "xmin_age");
  AddDatabase(registry, "queen_database_oldest_transaction_seconds",
              "How long the oldest transaction of the database is open.",
              "oldest_transaction_seconds");
  AddDatabase(registry, "queen_database_connections", "Connections of clients to the server.",
              "connections");
  AddDatabase(registry, "queen_database_connections_limit", "max_connections of the server.",
              "connections_max");
  registry.AddCollected(Kind::kGauge, "queen_admin_pool_connections",
                        "Connections of administration to PostgreSQL: all, and those idle or busy.",
                        [this](const metrics::Emit& emit) {
                          const PoolCounts counts = pool();
                          emit({{"state", "total"}}, static_cast<double>(counts.size));
                          emit({{"state", "idle"}}, static_cast<double>(counts.idle));
                          emit({{"state", "busy"}}, static_cast<double>(counts.busy));
                        });
  registry.AddComputed(Kind::kGauge, "queen_admin_pool_waiting",
                       "Questions of administration that wait for a connection.",
                       [this] { return static_cast<double>(pool().waiting); });
}

void DatabaseNumbers::SetPool(const PoolCounts& pool) {
  const std::lock_guard lock(mutex_);
  pool_ = pool;
}

void DatabaseNumbers::SetQueues(std::vector<QueueDepth> queues) {
  const std::lock_guard lock(mutex_);
  queues_ = std::move(queues);
  queues_read_ms_ = SteadyMillis();
}

void DatabaseNumbers::SetGroups(std::vector<GroupLag> groups) {
  const std::lock_guard lock(mutex_);
  groups_ = std::move(groups);
}

void DatabaseNumbers::SetDatabase(std::vector<DatabaseValue> values) {
  const std::lock_guard lock(mutex_);
  values_ = std::move(values);
}

PoolCounts DatabaseNumbers::pool() const {
  const std::lock_guard lock(mutex_);
  return pool_;
}

}  // namespace queen::observe
