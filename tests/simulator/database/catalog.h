// The tables of sql/migrations that the broker's message path uses, and their indexes. Rows have
// the columns' names; what is NULL there is empty here. Times are microseconds since 1970.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/uuid.h"
#include "simulator/database/sequence.h"
#include "simulator/database/table.h"

namespace queen::simulator {

inline constexpr int32_t kIdMax = std::numeric_limits<int32_t>::max();
inline constexpr int64_t kSeqEnd = std::numeric_limits<int64_t>::max();

struct QueueRow {
  std::string name;
  std::string queue_namespace;
  std::string task;
  int64_t created_at = 0;
  int32_t lease_time = 300;
  int32_t retry_limit = 3;
  int32_t retry_delay = 0;
  int32_t max_deliveries = 0;
  bool dead_letter_queue = false;
  bool dlq_after_max_retries = false;
  int32_t delayed_processing = 0;
  int32_t window_buffer = 0;
  std::optional<bool> retention_enabled;
  int32_t retention_seconds = 0;
  int32_t completed_retention_seconds = 0;
  int32_t max_wait_time_seconds = 0;
  int64_t max_size = 0;
  int32_t ttl = 3600;
  int32_t priority = 0;
  bool encryption_enabled = false;
  int64_t version = 0;

  bool operator==(const QueueRow&) const = default;
};

struct PartitionRow {
  int32_t queue_id = 0;
  std::string name;
};

enum class StartMode { kAll, kNew, kTime };

struct GroupRow {
  int32_t queue_id = 0;
  std::string name;
  StartMode start_mode = StartMode::kAll;
  std::optional<int64_t> start_time;
};

struct GroupStartKey {
  int32_t group_id = 0;
  int32_t partition_id = 0;
  auto operator<=>(const GroupStartKey&) const = default;
};
struct GroupStartRow {
  int64_t seq = 0;
};

struct EarlyGroupKey {
  std::string queue_name;
  std::string group_name;
  auto operator<=>(const EarlyGroupKey&) const = default;
};
struct EarlyGroupRow {
  std::optional<int64_t> start_time;
};

struct FamilyKey {  // the unique index of queen.families
  std::string group_name;
  std::optional<std::string> queue_namespace;
  std::optional<std::string> task;
  auto operator<=>(const FamilyKey&) const = default;

  bool Holds(const QueueRow& queue) const {
    return (!queue_namespace || *queue_namespace == queue.queue_namespace) &&
           (!task || *task == queue.task);
  }
};
struct FamilyRow {
  int32_t id = 0;
  StartMode start_mode = StartMode::kAll;
  std::optional<int64_t> start_time;
  int64_t created_at = 0;
};

struct FamilyQueueKey {
  int32_t queue_id = 0;
  int32_t family_id = 0;
  auto operator<=>(const FamilyQueueKey&) const = default;
};
struct FamilyQueueRow {};

struct SegmentKey {
  int32_t partition_id = 0;
  int64_t base_seq = 0;
  auto operator<=>(const SegmentKey&) const = default;
};
// What a segment holds is shared by its versions, and by whoever reads it.
struct SegmentTexts {
  std::string payloads;
  std::optional<std::string> txns;
  std::optional<std::string> meta;
};
struct SegmentRow {
  int32_t count = 0;
  int64_t created_at = 0;
  std::shared_ptr<const SegmentTexts> texts;  // null: blanked
  std::optional<int64_t> time_min;
  std::optional<int64_t> time_max;
  std::optional<bool> untimed;
};

struct DedupKey {
  int32_t partition_id = 0;
  std::string txn;
  auto operator<=>(const DedupKey&) const = default;
};
struct DedupRow {
  int64_t seq = 0;
};

struct LaneId {
  int32_t partition_id = 0;
  int32_t group_id = 0;
  auto operator<=>(const LaneId&) const = default;
};
struct ProgressKey {
  LaneId lane;
  int64_t epoch = 0;
  auto operator<=>(const ProgressKey&) const = default;
};
struct ProgressRow {
  int64_t stamp = 0;
  int64_t cursor = 0;
  std::optional<std::string> settled;  // as '0' and '1', the cursor's first
  std::optional<std::string> failed;
  std::vector<int64_t> attempt_seqs;  // empty: NULL
  std::vector<int32_t> attempt_counts;
  std::optional<Uuid> lease_id;
  std::optional<int64_t> lease_until;
  std::optional<int64_t> lease_end;
  std::optional<int32_t> lease_seconds;
  int32_t deliveries = 0;
  std::optional<int64_t> ready_at;
  std::optional<int64_t> window_end;
};

struct DeadLetterKey {
  LaneId lane;
  int64_t seq = 0;
  auto operator<=>(const DeadLetterKey&) const = default;
};
struct DeadLetterRow {
  int64_t created_at = 0;
  std::optional<std::string> txn;
  std::string payload;
  std::optional<std::string> error;
  int32_t retry_count = 0;
};

struct BatchKey {
  int64_t broker = 0;
  int64_t n = 0;
  auto operator<=>(const BatchKey&) const = default;
};
struct BatchRow {
  Xid xid = 0;
  std::vector<int32_t> partitions;
  std::vector<int64_t> base_seqs;
  int64_t created_at = 0;
};

// Up to which offset the ids without a time of a partition are indexed: what queen.dedup_runs
// covers. What the runs hold is found in the log itself, so only their ends are kept.
struct RunKey {
  int32_t partition_id = 0;
  int64_t from_seq = 0;
  auto operator<=>(const RunKey&) const = default;
};
struct RunRow {
  int64_t to_seq = 0;
};

// An index: the primary keys of rows with a value. It may name rows that are gone, or have another
// value by now: whoever asks looks at the row.
template <typename Value, typename Key>
class Index {
 public:
  void Add(const Value& value, const Key& key) { keys_[value].insert(key); }
  void Remove(const Value& value, const Key& key) {
    const auto found = keys_.find(value);
    if (found == keys_.end()) return;
    found->second.erase(key);
    if (found->second.empty()) keys_.erase(found);
  }
  const std::set<Key>& Of(const Value& value) const {
    static const std::set<Key> kNone;
    const auto found = keys_.find(value);
    return found == keys_.end() ? kNone : found->second;
  }
  // By rising values, from `from` on.
  auto LowerBound(const Value& from) const { return keys_.lower_bound(from); }
  auto end() const { return keys_.end(); }

 private:
  std::map<Value, std::set<Key>> keys_;
};

class Catalog {
 public:
  Catalog();
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  std::vector<AnyTable*> AllTables();
  std::vector<Sequence*> AllSequences();

  Index<std::string, int32_t> queues_by_name;
  Index<std::pair<int32_t, std::string>, int32_t> partitions_by_name;
  Index<int32_t, int32_t> partitions_by_queue;
  Index<std::pair<int32_t, std::string>, int32_t> groups_by_name;
  Index<int32_t, int32_t> groups_by_queue;
  Index<Uuid, ProgressKey> progress_by_lease;
  Index<Xid, BatchKey> batches_by_xid;

  Table<int32_t, QueueRow> queues;
  Table<int32_t, PartitionRow> partitions;
  Table<int32_t, GroupRow> groups;
  Table<GroupStartKey, GroupStartRow> group_starts;
  Table<EarlyGroupKey, EarlyGroupRow> early_groups;
  Table<FamilyKey, FamilyRow> families;
  Table<FamilyQueueKey, FamilyQueueRow> family_queues;
  Table<SegmentKey, SegmentRow> segments;
  Table<DedupKey, DedupRow> dedup;
  Table<ProgressKey, ProgressRow> progress;
  Table<DeadLetterKey, DeadLetterRow> dead_letters;
  Table<BatchKey, BatchRow> batches;
  Table<RunKey, RunRow> dedup_runs;

  Sequence queue_ids;
  Sequence partition_ids;
  Sequence group_ids;
  Sequence family_ids;
  Sequence sql_batches;

  Uuid identity;  // of the database
};

}  // namespace queen::simulator
