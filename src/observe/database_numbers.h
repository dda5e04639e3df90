// DatabaseNumbers: what the database was last heard to say of queues, groups and itself, and how
// the connections of administration fare. DatabaseWatch writes it; metrics are read from it on any
// thread, also while the database is away: then they are the last ones, and the age of the reading
// says so.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "metrics/registry.h"

namespace queen::observe {

struct QueueDepth {
  std::string queue;  // "" = all that are not named
  int64_t partitions = 0;
  int64_t stored = 0;
  int64_t pending = 0;
  int64_t processing = 0;
  int64_t failed = 0;
  int64_t dead_letters = 0;
  double oldest_age_seconds = 0;
};

struct GroupLag {
  std::string queue;  // "" = all that are not named
  std::string group;
  int64_t lag = 0;
  double oldest_age_seconds = 0;
};

struct DatabaseValue {
  std::string kind;
  std::string subject;
  double value = 0;
};

struct PoolCounts {
  int64_t size = 0;
  int64_t idle = 0;  // up, with nothing to do
  int64_t busy = 0;
  int64_t waiting = 0;  // questions without a connection
};

class DatabaseNumbers {
 public:
  // Registers its metrics. `registry` outlives this.
  explicit DatabaseNumbers(metrics::Registry& registry);
  DatabaseNumbers(const DatabaseNumbers&) = delete;
  DatabaseNumbers& operator=(const DatabaseNumbers&) = delete;

  // Any thread.
  void SetPool(const PoolCounts& pool);
  void SetQueues(std::vector<QueueDepth> queues);
  void SetGroups(std::vector<GroupLag> groups);
  void SetDatabase(std::vector<DatabaseValue> values);
  PoolCounts pool() const;

 private:
  template <typename Read>
  void AddQueues(metrics::Registry& registry, const char* name, const char* help, Read read);
  void AddTables(metrics::Registry& registry, const char* name, const char* help, const char* kind);
  void AddDatabase(metrics::Registry& registry, const char* name, const char* help,
                   const char* kind);

  mutable std::mutex mutex_;
  // Guarded by it:
  PoolCounts pool_;
  std::vector<QueueDepth> queues_;
  std::vector<GroupLag> groups_;
  std::vector<DatabaseValue> values_;
  int64_t queues_read_ms_ = 0;  // steady; 0: never
};

}  // namespace queen::observe
