// Ledger: what was sent in a run and what each group received of it, so that lost, duplicated and
// reordered messages can be counted. One thread. Memory is per lane (payload.h), not per message,
// plus a little for each gap that is open.
//
//   duplicated  received by a group that had received it already
//   reordered   received after a later message of its lane
//   lost        confirmed by the broker and never received
//   unexpected  received but never sent in this run
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "bench/payload.h"

namespace queen::bench {

struct Verdict {
  uint64_t lost = 0;
  uint64_t duplicated = 0;
  uint64_t reordered = 0;
  uint64_t unexpected = 0;

  bool clean() const { return lost + duplicated + reordered + unexpected == 0; }
  Verdict& operator+=(const Verdict& other);
  bool operator==(const Verdict&) const = default;
};

class Ledger {
 public:
  Ledger(uint64_t run, uint32_t producers, uint32_t partitions, uint32_t groups);

  // The number of the next message of this lane; from now on it may be received.
  uint32_t Send(uint32_t producer, uint32_t partition);

  // `count` more messages of this lane are known to be stored.
  void Confirm(uint32_t producer, uint32_t partition, uint32_t count);

  // Whether this message is new to the group.
  bool Receive(uint32_t group, const Stamp& stamp);
  // A message without a stamp of ours.
  void ReceiveForeign() { ++unexpected_; }

  uint64_t run() const { return run_; }
  uint32_t groups() const { return groups_; }
  uint64_t confirmed() const { return confirmed_; }
  // Different messages received, over all groups.
  uint64_t received() const { return received_; }
  // Whether every group has every message that was confirmed.
  bool complete() const;
  // Confirmed and not yet received, over all groups.
  uint64_t backlog() const;

  // With `all`, whatever is missing is lost; without (the queue was not drained), only what was
  // passed over in its lane.
  Verdict Judge(bool all) const;

 private:
  struct Lane {
    uint32_t sent = 0;
    uint32_t confirmed = 0;
  };
  // Gaps by where they begin, exclusive end; disjoint.
  using Gaps = std::map<uint32_t, uint32_t>;
  size_t LaneOf(uint32_t producer, uint32_t partition) const {
    return size_t{partition} * producers_ + producer;
  }
  bool FillGap(size_t index, uint32_t seq);
  // How many of the first `limit` messages of the lane are missing below the end that was read.
  uint64_t MissingBelow(size_t index, uint32_t limit) const;

  const uint64_t run_;
  const uint32_t producers_;
  const uint32_t partitions_;
  const uint32_t groups_;
  std::vector<Lane> lanes_;
  // By group, then by lane: the group has everything below this but the open gaps.
  std::vector<uint32_t> ends_;
  std::map<size_t, Gaps> open_gaps_;  // by index in ends_
  uint64_t confirmed_ = 0;
  uint64_t received_ = 0;
  uint64_t duplicated_ = 0;
  uint64_t reordered_ = 0;
  uint64_t unexpected_ = 0;
};

}  // namespace queen::bench
