// Waiting: how a pop with `wait` is parked, who is woken, and what time brings. A parked pop is in
// its group's `waiters`, first come, first served, and costs memory only. It leaves when its ring
// has something for it (Offer), when its deadline comes, or when its client has gone; and now and
// then, at growing intervals, the database is asked in its place (CheckGroup).
#include <algorithm>

#include "base/planted.h"
#include "sidecar/pop_state_machine.h"

namespace queen::sidecar {
namespace {

constexpr int64_t kDeadlineGraceMs = 200;  // for a pop that is on its way when its wait ends
constexpr int64_t kHeldBackMs = 50;        // until it is looked again whether replies have left
constexpr int64_t kLightCheckMs = 500;     // from this interval on has_pending_messages is asked

}  // namespace

// A pop of a family has a look in each of its queues: they take no pop's place. Those that wait
// leave room for those that only ask, so that families can still be popped without waiting.
bool PopStateMachine::IsCrowded(const Pop& pop) const {
  if (!pop.request.look) return pops_.size() - looks_ > limits_.pops_max;
  return looks_ > (pop.request.wait_ms > 0 ? limits_.pops_max / 2 : limits_.pops_max);
}

// Nothing to take now: parks the pop, or answers that there is nothing.
void PopStateMachine::Wait(const PopPtr& pop) {
  // A client that left while names were looked up waits for nothing.
  if (pop->cancelled || pop->request.wait_ms <= 0 || !may_wait_ ||
      loop_.NowMillis() >= pop->deadline_ms) {
    Finish(pop, PopState::kEmpty, PopResult{});
    return;
  }
  PopGroup& group = *pop->group;
  pop->state = PopState::kWaiting;
  pop->parked = true;
  pop->pause_ms = 0;
  pop->place_for_room.reset();
  std::list<PopPtr>& parked = pop->request.look ? group.lookers : group.waiters;
  // One that was woken in vain gets its old place again: it is before all, or behind most.
  auto next = parked.end();
  if (!parked.empty() && pop->ticket < parked.front()->ticket) next = parked.begin();
  while (next != parked.begin() && pop->ticket < (*std::prev(next))->ticket) --next;
  pop->place = parked.insert(next, pop);
  if (!pop->wildcard()) ++group.waiters_by_name;
  ++waiting_;
  EndRest(group);
  group.backoff.Arm(loop_.NowMillis());
  SetTimer(group.backoff.at_ms());
  if (const auto due = group.ring.next_due_ms()) SetTimer(*due);
  if (peers_ != nullptr) peers_->Parked(group.queue, group.name);
}

void PopStateMachine::Unpark(const PopPtr& pop) {
  PopGroup& group = *pop->group;
  (pop->request.look ? group.lookers : group.waiters).erase(pop->place);
  if (!pop->wildcard()) --group.waiters_by_name;
  --waiting_;
  pop->state = PopState::kPending;
}

// What is claimed is in no ring, and much of it comes back a moment later: a pop takes fewer of its
// candidates than it claims, and an automatic ack leaves the rest to all. So a pop that would be
// answered that there is nothing waits for the claims that it found, but not long for one that
// hangs. Whether it does.
bool PopStateMachine::AwaitClaims(const PopPtr& pop) {
  PopGroup& group = *pop->group;
  const int64_t now = loop_.NowMillis();
  if (pop->request.wait_ms > 0) return false;  // parked instead
  if (pop->claims_upto == 0) {
    pop->claims_upto = group.claims_made;
    pop->claims_by_ms = now + limits_.claim_patience_ms;
  }
  if (pop->claims_upto <= group.claims_ended || pop->claims_by_ms <= now) return false;
  pop->state = PopState::kResolving;
  group.behind_claims.push_back(pop);
  SetTimer(group.behind_claims.front()->claims_by_ms);
  return true;
}

// Whoever is behind claims tries again. When something came back, those who get none of it wait for
// the claims of those who do: each such turn serves one of them. A newcomer may have taken it
// before this turn; then a claim was made since. Looks come first: they take nothing.
void PopStateMachine::TryBehindClaims(PopGroup& group) {
  const bool came_back = !group.ring.empty();
  std::vector<PopPtr> pops = std::move(group.behind_claims);
  group.behind_claims.clear();
  if (came_back) {
    std::stable_partition(pops.begin(), pops.end(),
                          [](const PopPtr& pop) { return pop->request.look; });
  }
  for (const PopPtr& pop : pops) {
    if (pop->finished()) continue;
    const bool taken =
        pop->claims_upto <= group.claims_ended && pop->claims_upto < group.claims_made;
    if (came_back || taken) pop->claims_upto = 0;
    Advance(pop);
  }
}

// Whether nothing may be taken for the pop now. But a first pop has its group's start recorded.
bool PopStateMachine::MustWait(const Pop& pop) {
  if (!pop.group->named() && scheduler_.AnyUp()) return false;
  if (paused_) return true;
  if (pop.request.wait_ms <= 0 || !RepliesFull()) return false;
  held_back_ = true;
  SetTimer(loop_.NowMillis() + kHeldBackMs);
  return true;
}

// Those that wait have missed what became ready meanwhile.
void PopStateMachine::WakeEverybody() {
  for (auto& [key, group] : groups_) {
    for (const PopPtr& pop : group->waiters) Unconfirm(*pop);
    for (const PopPtr& pop : group->lookers) Unconfirm(*pop);
    WakeAll(*group);
  }
}

// Should a lease on its way say that there is nothing, or nothing more: that was before this.
void PopStateMachine::DoubtLease(const PopGroup& group, PartitionId id) {
  if (const int64_t key = KeyOf(id, group); leasing_.contains(key)) announced_.insert(key);
}

// A partition was put into the ring. One that is being leased comes in when its claim ends.
void PopStateMachine::OnReady(PopGroup& group, PartitionId id) {
  if (const int64_t key = KeyOf(id, group); leasing_.contains(key)) {
    announced_.insert(key);
    group.ring.Remove(id);
  } else {
    OfferSoon(group);
  }
}

bool PopStateMachine::IsServedHere(const PopGroup& group, PartitionId id) const {
  if (group.ring.IsHeld(id) || leasing_.contains(KeyOf(id, group))) return true;
  return !paused_ && group.awaiting() - group.waiters_by_name >= group.ring.size();
}

// At the end of the turn: whoever takes something in this turn has taken it by then.
void PopStateMachine::OfferSoon(PopGroup& group) {
  const bool wanted = group.awaited() && !group.ring.empty() && !QUEEN_PLANTED(kNobodyWoken);
  if (group.offers_soon || !(wanted || group.AnyPastClaims(loop_.NowMillis()))) return;
  group.offers_soon = true;
  Pin(group);
  offers_.push_back(&group);
  scheduler_.Wake();
}

void PopStateMachine::OnEndOfTurn() {
  const std::vector<PopGroup*> groups = std::move(offers_);
  offers_.clear();
  for (PopGroup* group : groups) {
    group->offers_soon = false;
    if (group->AnyPastClaims(loop_.NowMillis())) TryBehindClaims(*group);
    Offer(*group);
    Unpin(*group);
  }
}

// Whether the ring has something for the pop.
bool PopStateMachine::MayTake(const Pop& pop) {
  const PopGroup& group = *pop.group;
  if (pop.wildcard()) return !group.ring.empty();
  const auto known = group.partitions.find(*pop.request.partition);
  return known != group.partitions.end() && group.ring.Contains(known->second);
}

// Lets as many waiters try as the ring can serve, in the order in which they came.
void PopStateMachine::Offer(PopGroup& group) {
  if (paused_ || group.ring.empty()) return;
  std::vector<PopPtr> tried;
  size_t left_for_any = group.ring.size();
  size_t left_by_name = group.waiters_by_name;
  for (const PopPtr& pop : group.waiters) {
    if (left_for_any == 0 && left_by_name == 0) break;
    size_t& left = pop->wildcard() ? left_for_any : left_by_name;
    if (left > 0 && MayTake(*pop)) tried.push_back(pop);
    if (left > 0) --left;
  }
  for (const PopPtr& pop : tried) {
    if (pop->state != PopState::kWaiting || !MayTake(*pop)) continue;
    group.backoff.Release(true);
    Unpark(pop);
    if (!pop->wildcard()) pop->confirmed = false;
    Advance(pop);
    if (pop->state == PopState::kWaiting) return;  // nobody may take anything now, see MustWait
  }
  WakeLookers(group);
}

void PopStateMachine::WakeAll(PopGroup& group) {
  if (paused_) return;
  const std::vector<PopPtr> woken(group.waiters.begin(), group.waiters.end());
  if (!woken.empty()) {
    group.backoff.Release(true);
  }
  for (const PopPtr& pop : woken) {
    if (pop->state != PopState::kWaiting) continue;
    Unpark(pop);
    if (!pop->wildcard()) pop->confirmed = false;
    Advance(pop);
  }
  WakeLookers(group);
}

// A look finds something, or is parked again.
void PopStateMachine::WakeLookers(PopGroup& group) {
  if (paused_) return;
  const std::vector<PopPtr> woken(group.lookers.begin(), group.lookers.end());
  for (const PopPtr& pop : woken) {
    if (pop->state != PopState::kWaiting) continue;
    Unpark(pop);
    Advance(pop);
  }
}

// ---- time

void PopStateMachine::SetDeadline(const PopPtr& pop, int64_t at_ms) {
  pop->deadline = deadlines_.emplace(at_ms, pop);
  SetTimer(at_ms);
}

void PopStateMachine::SetTimer(int64_t at_ms) {
  if (timer_at_ms_ != 0 && timer_at_ms_ <= at_ms) return;
  timer_at_ms_ = std::max<int64_t>(at_ms, 1);
  timer_.Start(at_ms - loop_.NowMillis());
}

void PopStateMachine::OnTimer() {
  timer_at_ms_ = 0;
  ForgetUnused();
  const int64_t now = loop_.NowMillis();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const PopPtr pop = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    pop->deadline.reset();
    if (pop->state == PopState::kWaiting) {
      Finish(pop, PopState::kEmpty, PopResult{});
    } else if (pop->request.wait_ms > 0) {
      // On its way: it may still bring something, if it comes soon.
      pop->request.wait_ms = 0;
      pop->waited = true;
      SetDeadline(pop, now + kDeadlineGraceMs);
    } else {
      OnOverdue(pop);
    }
  }
  while (!retries_.empty() && retries_.begin()->first <= now) {
    const auto [pop, stage] = retries_.begin()->second;
    retries_.erase(retries_.begin());
    if (stage != nullptr) {
      stage->push_back(pop);
    } else if (!pop->finished()) {
      Advance(pop);
    }
    scheduler_.Wake();
  }
  if (tail_due_ms_ != 0 && tail_due_ms_ <= now) {
    tail_due_ms_ = 0;
    AskNews();
  }
  if (held_back_) {
    held_back_ = RepliesFull();
    if (!held_back_) WakeEverybody();
  }
  int64_t next = deadlines_.empty() ? now + limits_.check.max_ms : deadlines_.begin()->first;
  if (!retries_.empty()) next = std::min(next, retries_.begin()->first);
  if (tail_due_ms_ != 0) next = std::min(next, tail_due_ms_);
  bool any_postponed = false;
  for (auto& [key, group] : groups_) {
    group->ring.MoveDue(now);
    if (!group->behind_claims.empty()) {
      OfferSoon(*group);
      next = std::min(next, group->behind_claims.front()->claims_by_ms);
    }
    if (!group->postponed.empty()) {
      HintPostponed(*group, now);
      if (InUse(*group)) QueueCheck(*group);
    }
    if (!group->postponed.empty()) {
      any_postponed = true;
      next = std::min(next, group->postponed.front().first);
    }
    if (!group->awaited()) {
      group->backoff.Disarm();
    } else {
      if (group->backoff.ShouldCheck(now)) CheckGroup(*group, now);
      next = std::min(next, group->backoff.at_ms());
      if (const auto due = group->ring.next_due_ms()) next = std::min(next, *due);
    }
  }
  for (PopGroup* group : std::vector<PopGroup*>(resting_)) {
    if (group->rests_until_ms <= now) {
      EndRest(*group);
    } else {
      next = std::min(next, group->rests_until_ms);
    }
  }
  if (held_back_) next = std::min(next, now + kHeldBackMs);
  if (!pops_.empty() || !resting_.empty() || any_postponed) SetTimer(std::max(next, now + 1));
}

// The net under lost hints. Whoever waits for any partition is served by a read of the tail, and
// for one partition by has_pending_messages, all of a tick in one call; while the interval is
// short, and while names are not known, one waiter of each kind tries instead.
void PopStateMachine::CheckGroup(PopGroup& group, int64_t now) {
  const int64_t waited_ms = group.backoff.interval_ms();
  const bool may_ask = group.backoff.TryAcquire(now, group.CheckInFlight());
  if (paused_ || !scheduler_.AnyUp()) return;
  const bool light = group.backoff.interval_ms() >= kLightCheckMs;
  bool any_wildcard = group.named() && !group.lookers.empty();
  std::unordered_set<std::string> asked;  // by partition; "" stands for any
  std::vector<PopPtr> checking;
  OfferSoon(group);
  for (const PopPtr& pop : group.waiters) {
    if (group.named() && pop->wildcard()) {
      any_wildcard = true;
      continue;
    }
    if (group.named() && light) {
      const auto known = group.partitions.find(*pop->request.partition);
      if (known != group.partitions.end()) {
        if (may_ask) group.ring.Hint(known->second);
        continue;
      }
    }
    if (asked.insert(pop->request.partition.value_or("")).second) checking.push_back(pop);
  }
  if (!group.named()) {
    checking.insert(checking.end(), group.lookers.begin(), group.lookers.end());
  }
  if (any_wildcard && IsComplete(group)) {
    // One read serves all groups of this worker: that of another is as good.
    if (!WasReadWithin(waited_ms / 2)) AskNews();
  } else if (any_wildcard) {
    StartRound(group);
  }
  QueueCheck(group);
  for (const PopPtr& pop : checking) {
    if (pop->state != PopState::kWaiting) continue;
    Unpark(pop);
    Unconfirm(*pop);
    Advance(pop);
  }
}

state::BackoffStats PopStateMachine::backoff() const {
  state::BackoffStats stats;
  for (const auto& [key, group] : groups_) {
    if (!group->awaited()) continue;
    ++stats.groups_tracked;
    if (group->CheckInFlight() || group->round_queued || tail_waiters_.contains(group.get())) {
      ++stats.groups_in_flight;
    }
    if (group->backoff.backed_off()) ++stats.groups_backed_off;
  }
  return stats;
}

}  // namespace queen::sidecar
