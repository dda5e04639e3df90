// MessageTraces: the traces of messages that were delivered, for the spans of their acks, which
// name a message by partition and transactionId alone. Shared by all workers: an ack may arrive on
// any connection. Only a cache: an ack of what it has forgotten has a link less.
//
// Bounded by forgetting a generation at a time, as state/delivered_index.h does.
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/ids.h"
#include "observe/span.h"

namespace queen::observe {

// The trace that a message's meta line names (`headers.traceparent`); none where there is none.
TraceContext TraceOfMeta(std::string_view meta);

class MessageTraces {
 public:
  // Remembers `messages_max` at most, and the last half of them for sure.
  explicit MessageTraces(size_t messages_max) : generation_max_(messages_max / kShards / 2 + 1) {}

  void Add(PartitionId partition, std::string_view txn, const SpanLink& link);
  std::optional<SpanLink> Find(PartitionId partition, std::string_view txn) const;

 private:
  static constexpr size_t kShards = 16;
  using Generation = std::unordered_map<std::string, SpanLink>;

  struct Shard {
    mutable std::mutex mutex;
    Generation current;
    Generation previous;
  };

  static std::string KeyOf(PartitionId partition, std::string_view txn);
  static size_t PlaceOf(PartitionId partition) {
    return static_cast<size_t>(partition.value) % kShards;
  }

  const size_t generation_max_;
  std::array<Shard, kShards> shards_;
};

}  // namespace queen::observe
