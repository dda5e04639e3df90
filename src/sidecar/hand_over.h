// Hand-over: an ack or a push carries the lease of a pop that waits for its lane (docs/decisions/
// 0010-hand-over.md). The pop is answered with the commit that it waited for anyway, and PostgreSQL
// is called once instead of twice.
//
// What carries a lease goes on as without it, whatever becomes of the lease.
// The lease is decided from the lane as it will be. It counts if its append wins; if that loses,
// the pop goes back to where it stood and asks by itself. If no answer comes, the pop waits again
// under another lease id. The lease is given back when it is known whether what carried it was
// stored.
//
// An automatic ack is never carried: what it settles must have been given out.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/verbs.h"
#include "storage/calls/append_lanes.h"

namespace queen::sidecar {

struct LeaseChunk;

// A lease that may have been stored with nobody told.
struct DoubtfulLease {
  std::string queue;
  std::string group;
  engine::LaneKey lane;
  Uuid id;
};

class HandOver {
 public:
  using Leases = std::shared_ptr<LeaseChunk>;

  // An append begins; no lease is in it yet.
  virtual Leases BeginCarried() = 0;

  // `append` ends a lease of the group. When a pop waits for what it leaves, the row becomes the
  // lease of that pop as well: the next of `leases`. Whether it did.
  virtual bool CarryWithAck(LeaseChunk& leases, std::string_view queue, std::string_view group,
                            engine::LaneAppend& append) = 0;

  // `segments` of `bytes` and counts are about to be pushed to a partition. For each group with a
  // pop that waits for them and a lane that is free as far as known, the row of its lease: the next
  // of `leases`. It counts only if the first of the segments is stored at `log_end` of the row.
  virtual std::vector<engine::LaneAppend> CarryWithPush(
      LeaseChunk& leases, std::string_view queue, PartitionId partition,
      const std::vector<engine::SegmentSpan>& segments) = 0;

  // What became of lease number `place`. `stored`: where the segments of its push are, which are
  // told of before.
  virtual void OnCarried(LeaseChunk& leases, size_t place,
                         const storage::append_lanes::Row& answer) = 0;
  virtual void OnCarried(LeaseChunk& leases, size_t place, const storage::append_lanes::Row& answer,
                         const std::vector<engine::SegmentSpan>& stored) = 0;

  // The append has ended: each pop is answered, or goes on by itself.
  virtual void EndCarried(const Leases& leases) = 0;
  // ... and it is not known how.
  virtual std::vector<DoubtfulLease> DoubtCarried(const Leases& leases) = 0;
  // What carried it may have been stored: nobody has it.
  virtual void GiveBack(const DoubtfulLease& lease) = 0;

 protected:
  ~HandOver() = default;
};

}  // namespace queen::sidecar
