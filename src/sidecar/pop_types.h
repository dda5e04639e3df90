// The objects of the POP state machine: a pop and its states, and what is kept per (queue, group).
//
//   kPending ---> kNaming ---> kResolving (wildcard, ring empty) ---> kLeasing ---> kFetching
//      |             |              |                                    |              |
//      |             v              v                                    v              v
//      |          kEmpty <----------+------------ nothing to take <------+         kCompleted
//      |             ^                                                   |
//      v             | deadline                                          v
//   kWaiting <-------+---- with `wait`, until something becomes ready  kFailed
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sidecar/requests.h"
#include "state/ready_ring.h"

namespace queen::sidecar {

enum class PopState {
  kPending,    // just arrived, or woken
  kNaming,     // the ids of its queue, group and partition are being looked up
  kResolving,  // wildcard: the database is asked which partitions are ready
  kLeasing,    // wants or awaits a lease on its candidates
  kFetching,   // leased; segments that are not in the cache are being read
  kWaiting,    // long poll: in the waiters of its group
  kCompleted,  // answered with messages
  kEmpty,      // answered without
  kFailed,     // answered with an error
};

struct PopGroup;

// A segment a delivery needs, as the lease named it.
struct SegmentKey {
  PartitionId partition;
  int64_t base_seq = 0;
  int32_t count = 0;
  int64_t created_micros = 0;
};

struct Pop {
  uint64_t ticket = 0;
  PopRequest request;
  PopDone done;
  PopState state = PopState::kPending;
  PopGroup* group = nullptr;
  Uuid lease_id;
  int64_t deadline_ms = 0;              // of the wait, or of the whole pop without one
  std::vector<PartitionId> candidates;  // kLeasing
  int32_t claimed_group_id = 0;         // what the candidates are claimed for; outlives Forget
  std::vector<Delivery> deliveries;
  std::vector<std::vector<SegmentKey>> segment_keys;  // per delivery
  int64_t resolve_round = 0;  // the first round of its group's resolve that saw all before it came
  bool confirmed = false;     // the database has said since then what is ready
  bool alone = false;         // a batch with it was refused: it goes by itself
  bool cancelled = false;     // the client has gone, or was answered already
  bool waited = false;        // its wait is over

  bool wildcard() const { return !request.partition.has_value(); }
  bool finished() const { return state >= PopState::kCompleted; }
};

using PopPtr = std::shared_ptr<Pop>;

// One group of one queue, by name; made at its first pop.
struct PopGroup {
  std::string queue;
  std::string name;
  int32_t queue_id = 0;  // 0: not known (yet), or the queue does not exist
  int32_t group_id = 0;
  std::unordered_map<std::string, PartitionId> partitions;  // by name, those asked for by name

  state::ReadyRing ring;
  std::list<PopPtr> waiters;  // first come, first served

  // Resolve: rounds through all partitions. `resolving` pops wait for the end of a round that
  // began after they came.
  std::vector<PopPtr> resolving;
  int64_t rounds_begun = 0;
  int64_t rounds_done = 0;
  bool round_queued = false;  // or in flight
  int32_t round_after = 0;

  // The net under lost hints, while somebody waits (seed: POP_WAIT_*).
  int64_t check_at_ms = 0;
  int64_t check_interval_ms = 0;
  int empty_checks = 0;

  bool named() const { return group_id != 0; }
};

// One number for a (partition, group).
inline int64_t KeyOf(PartitionId partition, int32_t group_id) {
  return int64_t{partition.value} << 32 | static_cast<uint32_t>(group_id);
}

}  // namespace queen::sidecar
