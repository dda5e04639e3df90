// DeliveredIndex: which message a client means when it acks by partition and transactionId. Filled
// when messages are delivered, shared by all workers of the process because an ack may arrive on
// any connection. Only a cache: what it does not know is looked up in the database, and it knows
// nothing that is not exact.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace queen::state {

struct AckTarget {
  std::string queue_name;
  std::string partition_name;
  std::optional<int32_t> group_id;  // nullopt: the group has never popped
  std::optional<int64_t> seq;       // nullopt: no such message
};

// Messages of one partition as they were delivered to a group.
struct DeliveredRange {
  PartitionId partition;
  std::string queue_name;
  std::string partition_name;
  std::string group;
  int32_t group_id = 0;
  // transactionId (the message's id where none was given) -> offset
  std::vector<std::pair<std::string, int64_t>> messages;
};

class DeliveredIndex {
 public:
  explicit DeliveredIndex(size_t messages_max) : shard_max_(messages_max / kShards + 1) {}

  void Add(DeliveredRange range);
  // Everything about it, or nullopt.
  std::optional<AckTarget> Find(PartitionId partition, std::string_view group,
                                std::string_view txn) const;
  void Clear();
  size_t size() const;

 private:
  static constexpr size_t kShards = 16;

  struct Partition {
    std::string queue_name;
    std::string partition_name;
    std::unordered_map<std::string, int32_t> groups;
    std::unordered_map<std::string, int64_t> messages;
    std::deque<std::string> order;  // of messages, oldest first
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<int32_t, Partition> partitions;
    std::deque<int32_t> order;  // one entry per message: whose turn it is to lose its oldest
    size_t count = 0;
  };

  Shard& ShardOf(PartitionId partition) {
    return shards_[static_cast<size_t>(partition.value) % kShards];
  }
  static void DropOldest(Shard& shard);

  const size_t shard_max_;
  std::array<Shard, kShards> shards_;
};

}  // namespace queen::state
