// HintBatch: the hints of one turn, for which peers each is, made into as few records as possible:
// one per (kind, queue, group), each partition once.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "cluster/packet.h"

namespace queen::cluster {

// A set of slots of the peer table.
using PeerSet = uint64_t;

class HintBatch {
 public:
  void AddPushed(PeerSet to, std::string_view queue, PartitionId id, std::string_view partition);
  void AddFreed(PeerSet to, std::string_view queue, std::string_view group, PartitionId id,
                std::string_view partition);
  void AddQueueChanged(std::string_view queue) { changed_.emplace(queue); }
  void AddMaintenanceChanged() { maintenance_ = true; }

  bool empty() const { return hints_.empty() && changed_.empty() && !maintenance_; }
  // Partitions in it.
  size_t hints() const { return hints_count_; }

  // What the peer in `slot` is to be told.
  std::vector<Record> RecordsFor(size_t slot) const;

 private:
  // More changes than this in one turn are told as "any queue".
  static constexpr size_t kChangedMax = 50;

  struct Key {
    bool freed = false;
    std::string queue;
    std::string group;

    friend bool operator<(const Key& a, const Key& b) {
      return std::tie(a.freed, a.queue, a.group) < std::tie(b.freed, b.queue, b.group);
    }
  };
  struct Hint {
    PeerSet to = 0;
    std::string partition;
  };

  void Add(const Key& key, PeerSet to, PartitionId id, std::string_view partition);

  std::map<Key, std::map<int32_t, Hint>> hints_;
  size_t hints_count_ = 0;
  std::set<std::string, std::less<>> changed_;
  bool maintenance_ = false;
};

}  // namespace queen::cluster
