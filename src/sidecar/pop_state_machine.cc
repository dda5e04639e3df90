// The decisions: what a pop needs next, who is woken, what time brings. The round trips are in
// pop_resolve.cc (names, resolve) and pop_lease.cc (lease, fetch, release).
#include "sidecar/pop_state_machine.h"

#include <algorithm>

namespace queen::sidecar {
namespace {

constexpr int64_t kDeadlineGraceMs = 200;  // for a pop that is on its way when its wait ends
constexpr size_t kStageCount = 5;

}  // namespace

PopStateMachine::PopStateMachine(Loop& loop, Scheduler& scheduler, SegmentCache& cache,
                                 const PopLimits& limits)
    : loop_(loop), scheduler_(scheduler), cache_(cache), limits_(limits), timer_(loop, [this] {
        OnTimer();
      }) {}

PopStateMachine::~PopStateMachine() = default;

// ---- from the callers

void PopStateMachine::Submit(uint64_t ticket, PopRequest request, PopDone done) {
  loop_.AssertOwner();
  auto pop = std::make_shared<Pop>();
  pop->ticket = ticket;
  pop->request = std::move(request);
  pop->done = std::move(done);
  pop->group = &GroupOf(pop->request.queue, pop->request.group);
  pop->resolve_round = pop->group->rounds_begun + 1;
  pop->lease_id = MakeUuidV7();
  const bool waits = pop->request.wait_ms > 0;
  pop->deadline_ms = loop_.NowMillis() + (waits ? pop->request.wait_ms : limits_.deadline_ms);
  pops_.emplace(ticket, pop);
  if (pops_.size() > limits_.pops_max) {
    Fail(pop, Status(Code::kOverloaded, "Too many pops are waiting"));
    return;
  }
  if (!waits && !scheduler_.AnyUp()) {
    Fail(pop, Status(Code::kDatabaseUnavailable));
    return;
  }
  deadlines_.emplace(pop->deadline_ms, pop);
  SetTimer(pop->deadline_ms);
  Advance(pop);
}

void PopStateMachine::Cancel(uint64_t ticket) {
  loop_.AssertOwner();
  const auto known = pops_.find(ticket);
  if (known == pops_.end()) return;
  const PopPtr pop = known->second;
  pop->cancelled = true;
  // One that is on its way to or from PostgreSQL is dropped when it comes back.
  if (pop->state == PopState::kWaiting) Finish(pop, PopState::kEmpty, PopResult{});
}

PopGroup& PopStateMachine::GroupOf(const std::string& queue, const std::string& name) {
  std::string key = queue;
  key += '\0';
  key += name;
  auto& group = groups_[key];
  if (!group) {
    group = std::make_unique<PopGroup>();
    group->queue = queue;
    group->name = name;
    group->check_interval_ms = limits_.check_base_ms;
    by_queue_[queue].push_back(group.get());
  }
  return *group;
}

void PopStateMachine::OnPushed(std::string_view queue, std::string_view partition, PartitionId id) {
  const auto groups = by_queue_.find(std::string(queue));
  if (groups == by_queue_.end()) return;
  for (PopGroup* group : groups->second) {
    // In the ring already, it may still be new to who waits for it by name.
    if (group->ring.Add(id) || group->ring.Contains(id)) Announce(*group, id, partition);
  }
}

void PopStateMachine::OnFreed(std::string_view queue, std::string_view partition, PartitionId id,
                              std::string_view group_name, int64_t ready_in_ms) {
  std::string key(queue);
  key += '\0';
  key += group_name;
  const auto known = groups_.find(key);
  if (known == groups_.end()) return;
  PopGroup& group = *known->second;
  group.ring.Free(id);
  if (ready_in_ms > 0) {
    const int64_t at = loop_.NowMillis() + ready_in_ms;
    group.ring.Hold(id, at);
    SetTimer(at);
  } else {
    group.ring.Add(id);
    Announce(group, id, partition);
  }
}

void PopStateMachine::Forget() {
  for (auto& [key, group] : groups_) {
    ForgetNames(*group);
    group->check_at_ms = loop_.NowMillis();
  }
  SetTimer(loop_.NowMillis());
}

void PopStateMachine::ForgetNames(PopGroup& group) {
  group.ring.Clear();
  group.queue_id = 0;
  group.group_id = 0;
  group.partitions.clear();
}

// ---- what next

void PopStateMachine::Advance(const PopPtr& pop) {
  if (pop->cancelled) {
    Finish(pop, PopState::kEmpty, PopResult{});
    return;
  }
  PopGroup& group = *pop->group;
  if (!group.named()) {
    pop->state = PopState::kNaming;
    naming_.push_back(pop);
    scheduler_.Wake();
    return;
  }
  if (pop->wildcard()) {
    AdvanceWildcard(pop);
    return;
  }
  const auto partition = group.partitions.find(*pop->request.partition);
  if (partition == group.partitions.end()) {
    pop->state = PopState::kNaming;
    naming_.push_back(pop);
    scheduler_.Wake();
    return;
  }
  if (pop->confirmed) {
    Wait(pop);
    return;
  }
  pop->state = PopState::kLeasing;
  pop->candidates = {partition->second};
  pop->claimed_group_id = group.group_id;
  if (const int64_t key = KeyOf(partition->second, group.group_id); leasing_.insert(key).second) {
    lease_.push_back(pop);
    scheduler_.Wake();
  } else {
    blocked_[key].push_back(pop);
  }
}

void PopStateMachine::AdvanceWildcard(const PopPtr& pop) {
  PopGroup& group = *pop->group;
  group.ring.MoveDue(loop_.NowMillis());
  pop->candidates.clear();
  pop->claimed_group_id = group.group_id;
  std::vector<PartitionId> in_flight;
  while (static_cast<int32_t>(pop->candidates.size()) < pop->request.partitions_max) {
    const auto partition = group.ring.Take();
    if (!partition) break;
    if (leasing_.insert(KeyOf(*partition, group.group_id)).second) {
      pop->candidates.push_back(*partition);
    } else {
      in_flight.push_back(*partition);
    }
  }
  for (const PartitionId partition : in_flight) group.ring.Add(partition);
  if (!pop->candidates.empty()) {
    pop->state = PopState::kLeasing;
    lease_.push_back(pop);
    scheduler_.Wake();
    return;
  }
  if (pop->confirmed) {
    Wait(pop);
    return;
  }
  pop->state = PopState::kResolving;
  group.resolving.push_back(pop);
  if (!group.round_queued) {
    group.round_queued = true;
    ++group.rounds_begun;
    group.round_after = 0;
    resolve_.push_back(&group);
  }
  scheduler_.Wake();
}

// Nothing to take now: parks the pop, or answers that there is nothing.
void PopStateMachine::Wait(const PopPtr& pop) {
  if (pop->request.wait_ms <= 0 || loop_.NowMillis() >= pop->deadline_ms) {
    Finish(pop, PopState::kEmpty, PopResult{});
    return;
  }
  PopGroup& group = *pop->group;
  pop->state = PopState::kWaiting;
  group.waiters.push_back(pop);
  ++waiting_;
  if (group.check_at_ms == 0) {
    group.check_at_ms = loop_.NowMillis() + group.check_interval_ms;
  }
  SetTimer(group.check_at_ms);
  if (const auto due = group.ring.next_due_ms()) SetTimer(*due);
}

void PopStateMachine::Announce(PopGroup& group, PartitionId id, std::string_view name) {
  if (const int64_t key = KeyOf(id, group.group_id); leasing_.contains(key)) announced_.insert(key);
  const auto suits = [&](const Pop& pop) {
    if (pop.wildcard() || *pop.request.partition == name) return true;
    const auto known = group.partitions.find(*pop.request.partition);
    return known != group.partitions.end() && known->second == id;
  };
  for (auto waiter = group.waiters.begin(); waiter != group.waiters.end(); ++waiter) {
    if (!suits(**waiter)) continue;
    std::vector<PopPtr> woken{std::move(*waiter)};
    group.waiters.erase(waiter);
    WakeAll(group, std::move(woken));
    return;
  }
}

// Lets up to `count` waiters try, whatever they wait for.
void PopStateMachine::WakeWaiters(PopGroup& group, size_t count) {
  if (count == 0 || group.waiters.empty()) return;
  std::vector<PopPtr> woken;
  while (!group.waiters.empty() && woken.size() < count) {
    woken.push_back(std::move(group.waiters.front()));
    group.waiters.pop_front();
  }
  WakeAll(group, std::move(woken));
}

// REQUIRES: `woken` are no longer among the waiters
void PopStateMachine::WakeAll(PopGroup& group, std::vector<PopPtr> woken) {
  waiting_ -= woken.size();
  group.empty_checks = 0;
  group.check_interval_ms = limits_.check_base_ms;
  for (const PopPtr& pop : woken) {
    pop->state = PopState::kPending;
    if (!pop->wildcard()) pop->confirmed = false;
    Advance(pop);
  }
}

void PopStateMachine::Finish(const PopPtr& pop, PopState state, Result<PopResult> result) {
  if (pop->finished()) return;
  if (pop->state == PopState::kWaiting) {
    pop->group->waiters.remove(pop);
    --waiting_;
  }
  pop->state = state;
  pops_.erase(pop->ticket);
  PopDone done = std::move(pop->done);
  done(std::move(result));
}

// Answers a pop that is still on its way; should a lease come after all, it is given back.
void PopStateMachine::Abandon(const PopPtr& pop, Result<PopResult> result) {
  pop->cancelled = true;
  PopDone done = std::move(pop->done);
  pop->done = [](const Result<PopResult>&) {};
  done(std::move(result));
}

void PopStateMachine::Fail(const PopPtr& pop, const Status& status) {
  Finish(pop, PopState::kFailed, status);
}

// A round trip for `pops` did not succeed: they go again, alone if PostgreSQL refused them
// together, until their deadline.
void PopStateMachine::OnBatchFailed(const std::vector<PopPtr>& pops, std::deque<PopPtr>& stage,
                                    const pg::BatchResult& result) {
  const bool may_repeat = result.outcome == pg::Outcome::kUnknown || result.status.retryable();
  for (const PopPtr& pop : pops) {
    const bool settles_at_once = pop->request.auto_ack && &stage == &lease_;
    if (pop->cancelled) {
      Finish(pop, PopState::kEmpty, PopResult{});
    } else if (settles_at_once && result.outcome == pg::Outcome::kUnknown) {
      Fail(pop, result.status);
    } else if (may_repeat && !scheduler_.AnyUp() && pop->request.wait_ms <= 0) {
      Fail(pop, Status(Code::kDatabaseUnavailable));
    } else if (may_repeat || pops.size() > 1) {
      if (!may_repeat) pop->alone = true;
      stage.push_back(pop);
    } else {
      Fail(pop, result.status);
    }
    // Nobody will read what was leased for it.
    if (pop->finished() && &stage == &fetch_) GiveBack(*pop);
  }
}

// ---- to and from PostgreSQL

bool PopStateMachine::HasWork() const {
  return !naming_.empty() || !resolve_.empty() || !lease_.empty() || !fetch_.empty() ||
         !release_.empty();
}

void PopStateMachine::SendOne() {
  for (size_t tried = 0; tried < kStageCount; ++tried) {
    const size_t stage = next_stage_;
    next_stage_ = (next_stage_ + 1) % kStageCount;
    if (stage == 0 && !naming_.empty()) return SendNaming();
    if (stage == 1 && !resolve_.empty()) return SendResolve();
    if (stage == 2 && !lease_.empty()) return SendLease();
    if (stage == 3 && !fetch_.empty()) return SendFetch();
    if (stage == 4 && !release_.empty()) return SendRelease();
  }
}

std::vector<PopPtr> PopStateMachine::TakeChunk(std::deque<PopPtr>& stage) const {
  const auto free = static_cast<size_t>(scheduler_.FreeSlots());
  const size_t share = std::min((stage.size() + free - 1) / free, limits_.pops_per_batch);
  std::vector<PopPtr> chunk;
  while (!stage.empty() && chunk.size() < share) {
    if (stage.front()->alone && !chunk.empty()) break;
    chunk.push_back(std::move(stage.front()));
    stage.pop_front();
    if (chunk.back()->alone) break;
  }
  return chunk;
}

// ---- time

void PopStateMachine::SetTimer(int64_t at_ms) {
  if (timer_at_ms_ != 0 && timer_at_ms_ <= at_ms) return;
  timer_at_ms_ = std::max<int64_t>(at_ms, 1);
  timer_.Start(at_ms - loop_.NowMillis());
}

void PopStateMachine::OnTimer() {
  timer_at_ms_ = 0;
  const int64_t now = loop_.NowMillis();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const PopPtr pop = deadlines_.begin()->second.lock();
    deadlines_.erase(deadlines_.begin());
    if (!pop || pop->finished()) continue;
    if (pop->state == PopState::kWaiting) {
      Finish(pop, PopState::kEmpty, PopResult{});
    } else if (pop->request.wait_ms > 0) {
      // On its way: it may still bring something, if it comes soon.
      pop->request.wait_ms = 0;
      pop->waited = true;
      deadlines_.emplace(now + kDeadlineGraceMs, pop);
    } else if (pop->waited) {
      Abandon(pop, PopResult{});
    } else {
      Abandon(pop, Status(scheduler_.AnyUp() ? Code::kOverloaded : Code::kDatabaseUnavailable));
    }
  }
  int64_t next = deadlines_.empty() ? now + limits_.check_max_ms : deadlines_.begin()->first;
  for (auto& [key, group] : groups_) {
    for (const PartitionId partition : group->ring.MoveDue(now)) Announce(*group, partition);
    if (group->waiters.empty()) {
      group->check_at_ms = 0;
    } else {
      if (group->check_at_ms <= now) CheckGroup(*group, now);
      next = std::min(next, group->check_at_ms);
      if (const auto due = group->ring.next_due_ms()) next = std::min(next, *due);
    }
  }
  if (!pops_.empty()) SetTimer(std::max(next, now + 1));
}

// The net under lost hints: one waiter of each kind asks the database again.
void PopStateMachine::CheckGroup(PopGroup& group, int64_t now) {
  if (++group.empty_checks >= limits_.check_threshold) {
    group.check_interval_ms =
        std::min(static_cast<int64_t>(static_cast<double>(group.check_interval_ms) *
                                      limits_.check_multiplier),
                 limits_.check_max_ms);
  }
  group.check_at_ms = now + group.check_interval_ms;
  if (!scheduler_.AnyUp()) return;
  std::unordered_set<std::string> asked;  // by partition; "" stands for any
  std::vector<PopPtr> checking;
  for (auto waiter = group.waiters.begin(); waiter != group.waiters.end();) {
    if (asked.insert((*waiter)->request.partition.value_or("")).second) {
      checking.push_back(*waiter);
      waiter = group.waiters.erase(waiter);
      --waiting_;
    } else {
      ++waiter;
    }
  }
  for (const PopPtr& pop : checking) {
    pop->confirmed = false;
    pop->resolve_round = group.rounds_begun + 1;
    pop->state = PopState::kPending;
    Advance(pop);
  }
}

}  // namespace queen::sidecar
