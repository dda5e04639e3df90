// Folding acks: all verdicts on one lane under one lease, from however many callers, become one
// change of it; and judging: from the state before that change each item's own outcome follows.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/verdict_rule.h"
#include "sidecar/requests.h"
#include "state/delivered_index.h"

namespace queen::sidecar {

// How far apart the offsets of one fold may be: as far as a lease reaches.
inline constexpr int64_t kAckSpanMax = 10'000;

// One ack request on its way: answered when no item is `open` any more.
struct AckCall {
  AckRequest request;
  std::vector<state::AckTarget> targets;
  std::vector<AckOutcome> outcomes;
  std::vector<bool> decided;
  std::vector<bool> placed;     // waits for its lane, or is on its way
  std::vector<bool> unfound;    // its target is to be asked of the database
  std::vector<bool> looked_up;  // ... or was
  // Of items that are looked up although they had an outcome: that one, and what it was about.
  struct Doubted {
    state::AckTarget target;  // as it was remembered
    AckOutcome outcome;
  };
  std::unordered_map<uint32_t, Doubted> doubted;
  bool finding = false;  // in the queue of those with unfound items, or asked about
  size_t open = 0;
  Status trouble;  // of items that could not be decided
  int64_t deadline_ms = 0;
  // A call that names several leases of one (partition, group) is applied in several steps, but
  // judged by what was settled before the first: by key, cursor and settled.
  bool several_leases = false;
  std::unordered_map<int64_t, std::pair<std::optional<int64_t>, engine::Bitmap>> before;
};

// The items of one call under one lease of one (partition, group).
struct AckGroup {
  std::shared_ptr<AckCall> call;
  std::optional<Uuid> lease_id;
  std::vector<uint32_t> items;
  bool alone = false;     // a batch with it was refused
  bool doubtful = false;  // a batch with it ended without an answer
};

// The group among those that wait for one (partition, group) that an item of `call` under `lease`
// joins; made when there is none. An item that names no lease travels with one that does, so that
// all are judged by the same state.
AckGroup& Join(std::deque<AckGroup>& groups, const std::shared_ptr<AckCall>& call,
               const std::optional<Uuid>& lease);

// The lease that `refused` names is not the current one: its items that named none still mean that,
// and go on to the next lease of their call in `groups`, which may be it, or in front of them all.
void PassOn(AckGroup& refused, std::deque<AckGroup>& groups);

// Whether doing it twice is the same as doing it once.
bool IsRepeatable(const engine::Verdicts& verdicts);

// The first verdict on a message wins. Items further than kAckSpanMax above the lowest offset are
// taken out of `groups` and returned, to be folded next; no group is left without items.
engine::Verdicts Fold(std::vector<AckGroup>& groups, std::vector<AckGroup>& too_far);

// What became of the verdicts on a lane.
struct AckAnswer {
  enum class State {
    kApplied,
    kRefused,  // no such lease lives; nothing was recorded
    kGone,     // no such partition, queue or group
  };
  State state = State::kGone;
  std::optional<int64_t>
      cursor;              // as it was before; nullopt: the group has nothing on this partition
  engine::Bitmap settled;  // before, from the cursor on
  int64_t lease_end = 0;
  bool released = false;
  std::vector<int64_t> dead;
};

// The outcome of an item that was refused, of the message that it means.
AckOutcome Refusal(const state::AckTarget& target, std::string error);

// Whether the message at `seq` had been settled before.
bool WasSettled(const AckAnswer& answer, int64_t seq);

// The outcome of an ack of the message at `seq`; names are left to the caller.
AckOutcome Judge(const AckAnswer& answer, int64_t seq, bool cumulative);

}  // namespace queen::sidecar
