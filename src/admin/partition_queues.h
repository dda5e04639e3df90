// PartitionQueues: which queue a partition belongs to, remembered for a while by one worker. A
// partition never moves; the time is for a database that was put back to an earlier state, in which
// the same number may mean another partition.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/ids.h"

namespace queen::admin {

class PartitionQueues {
 public:
  static constexpr int64_t kKeepMs = 10'000;
  static constexpr size_t kPartitionsMax = 20'000;

  // Null when it is not known, or not any more. Valid until the next call of Learn.
  const std::string* Find(PartitionId partition, int64_t now_ms) const {
    const auto found = queues_.find(partition.value);
    const bool known = found != queues_.end() && now_ms - found->second.since_ms < kKeepMs;
    return known ? &found->second.queue : nullptr;
  }

  void Learn(PartitionId partition, std::string queue, int64_t now_ms) {
    if (queues_.size() >= kPartitionsMax) queues_.clear();
    queues_[partition.value] = {std::move(queue), now_ms};
  }

 private:
  struct Entry {
    std::string queue;
    int64_t since_ms = 0;
  };
  std::unordered_map<int32_t, Entry> queues_;
};

}  // namespace queen::admin
