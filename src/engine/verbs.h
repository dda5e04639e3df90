// What the engine asks of a database about lanes. `load` reads; `append` adds the next state of
// each lane if the one it was decided from still stands, and answers with the state that stands
// then.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "engine/lane_cache.h"
#include "engine/lease_rule.h"

namespace queen::engine {

struct LaneAsk {
  LaneKey key;
  int32_t messages = 0;  // segments are listed so far behind the first message to be delivered
};

struct LaneAppend {
  LaneKey key;
  QueueId queue;
  int64_t version = 0;  // of the queue
  int64_t prev_epoch = 0;
  int64_t prev_stamp = 0;
  // The append counts only
  std::optional<int64_t> not_before_micros;  // ... at this time or later,
  bool held = false;                         // ... while the lease of the state before lives,
  std::optional<int64_t> log_end;            // ... if the log ends here.
  Progress next;                             // with a stamp of its own
  std::optional<int64_t> lease_ms;           // the lease lives so long from the append on
  std::optional<int64_t> ready_ms;  // ready_at of `next` is at least so long after the append
  bool frees = false;  // a lease ends: other brokers are told that the partition may be ready
  std::vector<DeadLetter> dead;
};

// `next`, decided from `lane` as it is believed to be, with a stamp of its own.
inline LaneAppend AppendBehind(const LaneKey& key, const LoadedLane& lane, Progress next) {
  LaneAppend append;
  append.key = key;
  append.queue = lane.rules.queue;
  append.version = lane.rules.version;
  append.prev_epoch = lane.progress.epoch;
  append.prev_stamp = lane.progress.stamp;
  append.next = std::move(next);
  append.next.stamp = static_cast<int64_t>(ThreadRandom()());
  return append;
}

struct AppendRequest {
  std::optional<int64_t> broker;  // who need not be told of freed partitions
  std::optional<int64_t> n;       // with `broker` the key of this transaction in the ledger
  std::vector<LaneAppend> lanes;  // each lane once
  bool sync = true;               // false: a crash may forget it, as it may forget a lease
};

enum class AppendState {
  kWon,
  kLost,     // another change came between
  kBusy,     // another change is being made
  kEarly,    // not_before_micros has not come
  kExpired,  // the lease that it needs is over
  kMoved,    // the log ends elsewhere
  kStale,    // the queue was changed
  kGone,     // partition, queue or group is gone
};

}  // namespace queen::engine
