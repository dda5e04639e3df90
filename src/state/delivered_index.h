// DeliveredIndex: which message a client means when it acks by partition and transactionId. Filled
// when messages are delivered, shared by all workers of the process because an ack may arrive on
// any connection. Only a cache: what it does not know is looked up in the database. What it knows
// was exact when the message was delivered; a message that is gone from the log may have left its
// transactionId to a newer one, so "settled already" and "not under the lease" are looked up too.
//
// Bounded by forgetting a generation at a time: new messages go to the current one; when that is
// full it becomes the previous one, and what was the previous one is forgotten.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/uuid.h"

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

  void Add(const Uuid& txn, int64_t seq) { uuids.emplace_back(txn, seq); }
  void Add(std::string_view txn, int64_t seq);

  // By offset; most transactionIds, and every message's id, are UUIDs and take 16 bytes.
  std::vector<std::pair<Uuid, int64_t>> uuids;
  std::vector<std::pair<std::string, int64_t>> texts;
};

class DeliveredIndex {
 public:
  // Remembers about `messages_max` (a delivery is taken whole), and the last half of them for sure.
  explicit DeliveredIndex(size_t messages_max) : generation_max_(messages_max / kShards / 2 + 1) {}

  void Add(DeliveredRange range);
  // Everything about it, or nullopt.
  std::optional<AckTarget> Find(PartitionId partition, std::string_view group,
                                std::string_view txn) const;
  // The queue of a partition that something was delivered of; "" when that is not remembered.
  std::string QueueOf(PartitionId partition) const;
  void Clear();
  size_t size() const;
  // How often Find knew, and how often it did not.
  struct Lookups {
    int64_t hits = 0;
    int64_t misses = 0;
  };
  Lookups lookups() const;

 private:
  static constexpr size_t kShards = 16;

  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  template <class Value>
  using ByText = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

  struct Partition {
    std::string queue_name;
    std::string partition_name;
    ByText<int32_t> groups;
    std::unordered_map<Uuid, int64_t, UuidHash> uuids;
    ByText<int64_t> texts;

    std::optional<int64_t> SeqOf(std::string_view txn) const;
  };
  struct Generation {
    std::unordered_map<int32_t, Partition> partitions;
    size_t count = 0;
  };
  struct Shard {
    mutable std::mutex mutex;
    mutable Lookups lookups;
    Generation current;
    Generation previous;
  };

  const Shard& ShardOf(PartitionId partition) const {
    return shards_[static_cast<size_t>(partition.value) % kShards];
  }
  static std::optional<AckTarget> FindIn(const Generation& generation, PartitionId partition,
                                         std::string_view group, std::string_view txn);

  const size_t generation_max_;
  std::array<Shard, kShards> shards_;
};

}  // namespace queen::state
