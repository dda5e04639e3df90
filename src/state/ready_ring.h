// ReadyRing: the partitions of one (queue, group) believed to have something to deliver, least
// recently served first, and those that will have at a known time. Only a hint: the database
// confirms each partition when it is leased, so a wrong entry costs one look and a missing one is
// found by the next resolve.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/ids.h"

namespace queen::state {

class ReadyRing {
 public:
  // Puts a partition at the end, unless it is in already or held; whatever was due later for it is
  // now. True when it was put in.
  bool Add(PartitionId partition);
  // As Add, at `at_ms`; an earlier time wins.
  void AddAt(PartitionId partition, int64_t at_ms);
  // Nothing can be taken from it before `until_ms` (a lease, a delay), whatever is pushed: out of
  // the ring until then.
  void Hold(PartitionId partition, int64_t until_ms);
  // Ends a hold.
  void Free(PartitionId partition);
  // Takes the first.
  std::optional<PartitionId> Take();

  // Moves what is due into the ring; the partitions that became ready.
  std::vector<PartitionId> MoveDue(int64_t now_ms);
  // When the next one is due.
  std::optional<int64_t> next_due_ms() const;

  void Clear();
  bool Contains(PartitionId partition) const { return in_ready_.contains(partition.value); }
  size_t size() const { return ready_.size(); }
  bool empty() const { return ready_.empty(); }
  size_t later() const { return due_at_.size(); }

 private:
  void CancelLater(int32_t partition);

  std::deque<int32_t> ready_;
  std::unordered_set<int32_t> in_ready_;
  std::unordered_set<int32_t> held_;  // all of them are in due_
  std::multimap<int64_t, int32_t> due_;
  std::unordered_map<int32_t, std::multimap<int64_t, int32_t>::iterator> due_at_;
};

}  // namespace queen::state
