// LeaseChunk: leases that are asked for in one call, each with the pop that it is for.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/verbs.h"
#include "sidecar/lease_answer.h"
#include "sidecar/pop_types.h"

namespace queen::sidecar {

// A candidate of a pop. Where its lane is not known, or is believed to have nothing, it is loaded
// first; what is decided then is appended, and the append that wins is the lease.
struct LeaseRow {
  PopPtr pop;
  engine::LaneKey lane;   // as it was asked with: the group may forget its id meanwhile
  int64_t changes;        // of the group when this was sent
  bool doubtful = false;  // the answer is older than what was announced
  bool load = false;      // to be loaded before it is decided
  bool gone = false;      // ... and it is not there
  LeaseAnswer answer{};
  engine::LeaseOutcome outcome{};
  int append = -1;  // its place in `appends`
};

struct LeaseChunk {
  int64_t bytes_max = 0;  // what each of the pops may be given
  std::vector<PopPtr> pops;
  std::vector<LeaseRow> rows;
  engine::AppendRequest appends;
  int64_t generation = 0;  // of the lanes, when they were decided
  int64_t sent_ms = 0;     // the last round trip began
  bool carried = false;    // by an ack or a push (hand_over.h): it is no call of its own
  // The first partition of each pop whose first segment does not fit, and how many bytes it has.
  std::unordered_map<const Pop*, std::pair<PartitionId, int64_t>> large;
};

}  // namespace queen::sidecar
