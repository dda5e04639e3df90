// ReadyRing: the partitions of one (queue, group) believed to have something to deliver, least
// recently served first, those that will have at a known time, and those somebody else may have
// made ready. Only a hint: the database confirms each partition when it is leased, so a wrong entry
// costs one look and a missing one is found by the next resolve.
//
//   a partition is   ready   in the ring
//                    later   enters the ring at a known time, or earlier if it is heard of
//                    held    nothing can be taken from it before a known time, whatever is heard
//                    hinted  beside any of these or none: to be asked about
//
// Sized for a million partitions: 4 bytes and a few bits for one that is ready, about 90 bytes for
// one that is held or later, nothing for the others.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "state/id_set.h"

namespace queen::state {

class ReadyRing {
 public:
  // `on_added` is told of every partition that is put into the ring, whatever puts it there. It may
  // call Remove.
  using OnAdded = std::function<void(PartitionId)>;
  explicit ReadyRing(OnAdded on_added = nullptr) : on_added_(std::move(on_added)) {}

  // Puts a partition at the end, unless it is in already or held; whatever was due later for it is
  // now. True when it was put in.
  bool Add(PartitionId partition);
  // As Add, at `at_ms`; an earlier time wins.
  void AddAt(PartitionId partition, int64_t at_ms);
  // Something was pushed: as Add, but one that is held remembers it. False when it is held.
  bool Push(PartitionId partition);
  // Nothing can be taken from it before `until_ms` (a lease, a delay), whatever is pushed: out of
  // the ring until then. `whole_end`: a lease that has everything there is, up to here; 0: not so.
  void Hold(PartitionId partition, int64_t until_ms, int64_t whole_end = 0);
  // Ends a hold; whether something was pushed during it.
  bool Free(PartitionId partition);
  // Ends the hold of a lease of which all below `cursor` is settled; whether anything may be left.
  bool EndLease(PartitionId partition, int64_t cursor);
  // Takes the first.
  std::optional<PartitionId> Take();
  // Takes this one out, if it is in.
  void Remove(PartitionId partition) { in_ready_.Erase(partition.value); }

  bool Contains(PartitionId partition) const { return in_ready_.Contains(partition.value); }
  bool IsHeld(PartitionId partition) const { return held_.Contains(partition.value); }

  // Somebody else has done something to it: first in, first out, each once. A lease that had
  // everything may not have it any more.
  void Hint(PartitionId partition);
  std::optional<PartitionId> TakeHint();
  size_t hints() const { return hinted_.size(); }
  // How many hints there have ever been.
  int64_t hints_total() const { return hints_total_; }
  // The first `count_max` of the ring have become doubtful: they are hints now.
  void Doubt(size_t count_max);

  // Moves what is due into the ring; the partitions that became ready.
  std::vector<PartitionId> MoveDue(int64_t now_ms);
  // When the next one is due.
  std::optional<int64_t> next_due_ms() const;

  void Clear();
  size_t size() const { return in_ready_.size(); }
  bool empty() const { return in_ready_.empty(); }
  size_t later() const { return later_.size(); }

 private:
  using Due = std::pair<int64_t, int32_t>;

  struct Later {
    int64_t at_ms = 0;
    int64_t whole_end = 0;  // of a held one, see Hold
    bool pushed = false;    // while it is held
  };

  void SetLater(int32_t partition, int64_t at_ms);
  void CancelLater(int32_t partition);
  bool IsStale(const Due& due) const;
  void DropStale();

  OnAdded on_added_;
  // Entries whose partition has left in another way are stale, and skipped.
  std::deque<int32_t> ready_;
  IdSet in_ready_;
  IdSet held_;            // all of them are in later_
  std::vector<Due> due_;  // a heap, the earliest first; stale ones are never in front
  std::unordered_map<int32_t, Later> later_;
  std::deque<int32_t> hints_;
  IdSet hinted_;
  int64_t hints_total_ = 0;
};

}  // namespace queen::state
