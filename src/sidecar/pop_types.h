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

#include <algorithm>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sidecar/lease_share.h"
#include "sidecar/requests.h"
#include "state/group_backoff.h"
#include "state/id_set.h"
#include "state/ready_ring.h"

namespace queen::sidecar {

enum class PopState {
  kPending,    // just arrived, or woken
  kNaming,     // the ids of its queue, group and partition are being looked up
  kResolving,  // wildcard: PostgreSQL is asked whether the empty ring is right (pop_tail.cc)
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

struct Pop;
using PopPtr = std::shared_ptr<Pop>;
using PopDeadlines = std::multimap<int64_t, PopPtr>;

struct Pop {
  uint64_t ticket = 0;
  PopRequest request;
  PopDone done;
  PopState state = PopState::kPending;
  PopGroup* group = nullptr;
  Uuid lease_id;
  int64_t deadline_ms = 0;  // of the wait, or of the whole pop without one
  std::optional<PopDeadlines::iterator> deadline;
  std::list<PopPtr>::iterator place;    // kWaiting: in the waiters or lookers of its group
  std::vector<PartitionId> candidates;  // kLeasing
  std::vector<Delivery> deliveries;
  std::vector<std::vector<SegmentKey>> segment_keys;  // per delivery
  int64_t resolve_round = 0;  // the first round of its group's resolve that saw all before it came
  int64_t tail_read = 0;      // the first tail read that did; 0: not asked for yet
  int64_t hints_upto = 0;     // of its group, those it waits for to be checked
  int64_t claims_upto = 0;    // of its group, those it waits for to end; 0: for none yet
  int64_t claims_by_ms = 0;   // it waits no longer for them
  int64_t pause_ms = 0;       // the last one before it was tried again
  int misses = 0;             // candidates in a row that had nothing
  ReplyShare share;           // what it may be given
  std::shared_ptr<TakenRoom> room;            // for that; from before its lease is asked for
  std::unique_ptr<RoomPlace> place_for_room;  // while it waits for room for a large segment
  int64_t room_by_ms = 0;         // without a wait: refused when there is no room by then
  int64_t needed_bytes = 0;       // of the first segment of its only candidate; 0: not known
  bool kept_waiting = false;      // once at least, for room for its candidates
  bool confirmed = false;         // the database has said since it came what is ready
  bool again = false;             // the lease said: ask again at once
  bool busy = false;              // ... after a pause: somebody else was changing the lane
  bool asked = false;             // for a lease: PostgreSQL may have given it one
  bool in_flight = false;         // its lease is on its way
  bool overdue = false;           // its deadline has passed: nothing more is begun for it
  bool alone = false;             // a batch with it was refused: it goes by itself
  bool cancelled = false;         // the client has gone, or was answered already
  bool waited = false;            // its wait is over
  bool parked = false;            // once at least
  int32_t doubtful_group_id = 0;  // not 0: it may have a lease on its candidates, for this group
  std::optional<PartitionId> gone_from;  // given back for it: what it had of this one is gone

  bool wildcard() const { return !request.partition.has_value(); }
  bool finished() const { return state >= PopState::kCompleted; }
  // Whether messages are settled for it, or may be at any moment: without a reply they are lost.
  bool MaySettleUnseen() const {
    return request.auto_ack && (in_flight || state == PopState::kFetching);
  }
};

// One group of one queue, by name; made at its first pop.
struct PopGroup {
  explicit PopGroup(const state::BackoffLimits& check) : backoff(check) {}

  std::string queue;
  std::string name;
  uint32_t number = 0;   // of this object: the ids may be forgotten while a lease is in flight
  int64_t changes = 0;   // how often its queue was changed by administration
  int32_t queue_id = 0;  // 0: not known (yet), or the queue does not exist
  int32_t group_id = 0;
  size_t open_pops = 0;
  int pins = 0;
  std::unordered_map<std::string, PartitionId> partitions;  // by name, those asked for by name
  std::unordered_map<std::string, size_t> sought;  // those names of open pops, with their number
  std::vector<PopPtr> unmade;  // wait for the group's record, which is to be made

  // No partition in it is being leased: a claim takes it out, and what is heard of it meanwhile
  // puts it in when the claim ends.
  state::ReadyRing ring;
  int64_t claims_made = 0;  // ever, and how many of them have ended
  int64_t claims_ended = 0;
  std::vector<PopPtr> behind_claims;  // see AwaitClaims; first come, first served
  bool offers_soon = false;           // at the end of the turn its ring is offered to its waiters
  std::list<PopPtr> waiters;          // first come, first served
  size_t waiters_by_name = 0;         // of them, those that want one partition
  std::list<PopPtr> lookers;          // parked looks: told of everything, beside the waiters

  // Resolve: rounds through all partitions. `resolving` pops wait for the end of a round that
  // began after they came.
  std::vector<PopPtr> resolving;
  int64_t rounds_begun = 0;
  int64_t rounds_done = 0;
  bool round_queued = false;   // or in flight
  bool round_waiting = false;  // queued behind the first tail read
  int32_t round_after = 0;
  int64_t page_sent_ms = 0;
  int64_t rests_until_ms = 0;       // see QueuePage
  int64_t round_generation = 0;     // of the tail, when the round began
  int64_t round_forgotten = 0;      // `forgotten` then
  int64_t complete_generation = 0;  // in which a whole round has ended

  // The tail: `asking` pops wait for a read that began after they came, then in `checking` for the
  // answer about the hints it brought.
  std::vector<PopPtr> asking;
  std::vector<PopPtr> checking;
  int64_t hints_checked = 0;  // of ring.hints_total()
  int64_t doubted_upto = 0;   // ... and up to here what was ready and has become doubtful
  bool check_queued = false;
  int checks_in_flight = 0;
  int64_t forgotten = 0;  // how often its names and ring were dropped
  // Hints that are not in the ring yet, each once, and when they enter it (see Postpone).
  std::deque<std::pair<int64_t, PartitionId>> postponed;
  state::IdSet in_postponed;

  // The slow background resolve.
  int64_t used_ms = 0;  // when the last pop came
  int32_t reconcile_after = 0;
  bool reconciling = false;

  // The net under lost hints, while somebody waits (seed: POP_WAIT_*).
  state::GroupBackoff backoff;

  bool named() const { return group_id != 0; }
  bool CheckInFlight() const { return check_queued || checks_in_flight > 0; }
  size_t awaiting() const { return waiters.size() + lookers.size(); }
  bool awaited() const { return awaiting() > 0; }
  // Whether somebody in `behind_claims` need not wait any longer.
  bool AnyPastClaims(int64_t now_ms) const {
    if (behind_claims.empty()) return false;
    const Pop& first = *behind_claims.front();
    return !ring.empty() || first.claims_upto <= claims_ended || first.claims_by_ms <= now_ms;
  }
  // Nobody pops it, and nothing refers to it.
  bool idle() const { return open_pops == 0 && pins == 0; }
  // How many partitions it remembers something of.
  size_t remembered() const {
    return ring.size() + ring.later() + ring.hints() + postponed.size() + partitions.size();
  }
};

// The one that was made first comes first: what happens does not depend on addresses.
struct OlderGroup {
  bool operator()(const PopGroup* a, const PopGroup* b) const { return a->number < b->number; }
};

// One number for a (partition, group). Not made of the group's id, which is forgotten when a
// connection is lost, while leases are still claimed.
inline int64_t KeyOf(PartitionId partition, const PopGroup& group) {
  return int64_t{partition.value} << 32 | group.number;
}

}  // namespace queen::sidecar
