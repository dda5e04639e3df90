// The decisions: what a pop needs next, and what becomes of it. Waiting is in pop_wait.cc; the
// round trips are in pop_resolve.cc (names, resolve), pop_tail.cc (what others did) and
// pop_lease.cc and pop_fetch.cc (lease, fetch).
#include "sidecar/pop_state_machine.h"

#include <algorithm>

#include "base/log.h"
#include "base/planted.h"
#include "sidecar/growing_pause.h"

namespace queen::sidecar {
namespace {

constexpr size_t kStageCount = 9;
constexpr int64_t kBackgroundMs = 1'000;
constexpr int kMissesMax = 2;  // candidates with nothing before the ring is doubted
constexpr size_t kDoubtMax = 1'000;
// Who waits so long is parked before the tail is read for it.
constexpr int64_t kParkedFromMs = 100;

}  // namespace

PopStateMachine::PopStateMachine(Loop& loop, Scheduler& scheduler, Lookups& names,
                                 SegmentCache& cache, engine::LaneCache& lanes,
                                 engine::DatabaseClock& clock, const PopLimits& limits,
                                 int64_t broker, OwnBrokers own, ReplyRoom* replies,
                                 PeerHints* peers)
    : loop_(loop),
      scheduler_(scheduler),
      names_(names),
      cache_(cache),
      lanes_(lanes),
      clock_(clock),
      broker_(broker),
      limits_(limits),
      replies_(replies),
      peers_(peers),
      tail_(own),
      returns_(loop, scheduler, *this, lanes, clock,
               {.waiting_max = limits.releases_max, .per_call_max = limits.lease_rows_max}, broker),
      timer_(loop, [this] { OnTimer(); }),
      background_(loop, [this] { OnBackground(); }) {}

PopStateMachine::~PopStateMachine() = default;

// ---- from the callers

void PopStateMachine::Submit(uint64_t ticket, PopRequest request, PopDone done) {
  loop_.AssertOwner();
  ForgetUnused();
  auto pop = std::make_shared<Pop>();
  pop->ticket = ticket;
  pop->request = std::move(request);
  pop->done = std::move(done);
  pop->group = &GroupOf(pop->request.queue, pop->request.group);
  ++pop->group->open_pops;
  if (!pop->wildcard()) ++pop->group->sought[*pop->request.partition];
  pop->group->used_ms = loop_.NowMillis();
  if (!background_.IsActive()) background_.Start(kBackgroundMs, kBackgroundMs);
  pop->resolve_round = pop->group->rounds_begun + 1;
  pop->lease_id = MakeUuidV7();
  const bool waits = pop->request.wait_ms > 0;
  const int64_t within_ms =
      pop->request.within_ms > 0 ? pop->request.within_ms : limits_.deadline_ms;
  pop->deadline_ms = loop_.NowMillis() + (waits ? pop->request.wait_ms : within_ms);
  pops_.emplace(ticket, pop);
  if (pop->request.look) ++looks_;
  if (IsCrowded(*pop)) {
    PopResult crowded;
    crowded.crowded = true;
    pop->request.look ? Finish(pop, PopState::kEmpty, std::move(crowded))
                      : Fail(pop, Status(Code::kOverloaded, "Too many pops are waiting"));
    return;
  }
  if (!waits && !paused_ && RepliesFull()) {
    Fail(pop, Status(Code::kOverloaded, "Too many replies wait to be taken"));
    return;
  }
  if (!waits && !paused_ && !scheduler_.AnyUp()) {
    Fail(pop, Status(Code::kDatabaseUnavailable));
    return;
  }
  SetDeadline(pop, pop->deadline_ms);
  Advance(pop);
}

void PopStateMachine::Cancel(uint64_t ticket) {
  loop_.AssertOwner();
  const auto known = pops_.find(ticket);
  if (known == pops_.end()) return;
  const PopPtr pop = known->second;
  pop->cancelled = true;
  pop->place_for_room.reset();
  // One that is on its way to or from PostgreSQL is dropped when it comes back.
  if (pop->state == PopState::kWaiting) Finish(pop, PopState::kEmpty, PopResult{});
}

LaneBelief PopStateMachine::BeliefOf(const std::string& queue, const std::string& group,
                                     std::optional<PartitionId> partition) const {
  loop_.AssertOwner();
  LaneBelief belief{.paused = paused_};
  const auto found = groups_.find(queue + '\0' + group);
  if (found == groups_.end()) return belief;
  const PopGroup& known = *found->second;
  belief.known = true;
  belief.ready_partitions = static_cast<int64_t>(known.ring.size());
  belief.waiting_pops = static_cast<int64_t>(known.awaiting());
  belief.last_pop_ms_ago = loop_.NowMillis() - known.used_ms;
  if (!partition) return belief;
  belief.ready = known.ring.Contains(*partition);
  belief.held = known.ring.IsHeld(*partition);
  belief.leasing = leasing_.contains(KeyOf(*partition, known));
  return belief;
}

PopGroup& PopStateMachine::GroupOf(const std::string& queue, const std::string& name) {
  std::string key = queue;
  key += '\0';
  key += name;
  auto& group = groups_[key];
  if (!group) {
    group = std::make_unique<PopGroup>(limits_.check);
    group->queue = queue;
    group->name = name;
    group->number = ++groups_made_;
    group->ring = state::ReadyRing(
        [this, made = group.get()](PartitionId partition) { OnReady(*made, partition); });
    by_queue_[queue].push_back(group.get());
  }
  return *group;
}

void PopStateMachine::Unpin(PopGroup& group) {
  if (--group.pins == 0 && group.open_pops == 0 && !group.named()) unused_.push_back(&group);
}

void PopStateMachine::DropUse(PopGroup& group) {
  group.used_ms = loop_.NowMillis();
  if (--group.open_pops == 0 && !group.named()) unused_.push_back(&group);
}

// A group of a queue that does not exist is kept only while somebody pops it: names cost a client
// nothing to invent. Called where nobody holds a group.
void PopStateMachine::ForgetUnused() {
  std::vector<PopGroup*> unused = std::move(unused_);
  unused_.clear();
  std::sort(unused.begin(), unused.end());
  unused.erase(std::unique(unused.begin(), unused.end()), unused.end());
  for (PopGroup* group : unused) {
    if (!group->named() && group->idle()) ForgetGroup(*group);
  }
}

// A group that nobody pops is remembered for a while, and not too many of them: each costs memory
// and is told of every push to its queue. Nothing is lost with it. Whoever waits is an open pop,
// leases are PostgreSQL's, and the next pop asks it what is ready. Called where nobody holds a
// group.
void PopStateMachine::ForgetIdle() {
  std::vector<PopGroup*> idle;
  size_t partitions = 0;
  for (const auto& [key, group] : groups_) {
    if (!group->idle()) continue;
    idle.push_back(group.get());
    partitions += group->remembered();
  }
  std::sort(idle.begin(), idle.end(),
            [](const PopGroup* a, const PopGroup* b) { return a->used_ms < b->used_ms; });
  size_t left = idle.size();
  for (PopGroup* group : idle) {
    const bool old = loop_.NowMillis() - group->used_ms >= limits_.idle_group_ms;
    if (!old && left <= limits_.idle_groups_max && partitions <= limits_.idle_partitions_max) break;
    --left;
    partitions -= group->remembered();
    ForgetGroup(*group);
  }
}

// REQUIRES: it is idle
void PopStateMachine::ForgetGroup(PopGroup& group) {
  std::erase(unused_, &group);
  const auto siblings = by_queue_.find(group.queue);
  std::erase(siblings->second, &group);
  if (siblings->second.empty()) {
    queue_names_.erase(group.queue_id);
    by_queue_.erase(siblings);
  }
  std::string key = group.queue;
  key += '\0';
  key += group.name;
  groups_.erase(key);
}

void PopStateMachine::OnPushed(std::string_view queue, std::string_view partition, PartitionId id,
                               const std::vector<engine::SegmentSpan>& segments, bool from_peer) {
  if (segments.empty()) lanes_.Doubt(id);
  for (const engine::SegmentSpan& segment : segments) lanes_.Pushed(id, segment);
  std::vector<std::string_view> served;  // a consumer of this process has it, or will
  if (const auto groups = by_queue_.find(std::string(queue)); groups != by_queue_.end()) {
    for (PopGroup* group : groups->second) {
      Learn(*group, partition, id);
      // A lease that is on its way with this very push has heard of it.
      if (segments.empty() || !with_push_.contains(KeyOf(id, *group))) {
        DoubtLease(*group, id);
        group->ring.Push(id);
      }
      if (IsServedHere(*group, id)) served.push_back(group->name);
    }
  }
  if (!from_peer && peers_ != nullptr && peers_->AnyoneWaits()) {
    peers_->Pushed(queue, partition, id, served);
  }
}

// Somebody may wait for a partition of this name that nobody has found yet.
void PopStateMachine::Learn(PopGroup& group, std::string_view partition, PartitionId id) {
  if (group.sought.empty()) return;
  if (const std::string name(partition); group.sought.contains(name)) group.partitions[name] = id;
}

void PopStateMachine::OnFreed(std::string_view queue, std::string_view partition, PartitionId id,
                              std::string_view group_name, const LeaseEnd& end, bool from_peer) {
  const bool tell = !from_peer && end.ready_in_ms <= 0 && peers_ != nullptr;
  std::string key(queue);
  key += '\0';
  key += group_name;
  const auto known = groups_.find(key);
  if (known == groups_.end()) {
    if (tell && peers_->AnyoneWaits()) peers_->Freed(queue, partition, id, group_name);
    return;
  }
  PopGroup& group = *known->second;
  Learn(group, partition, id);
  // A lease on its way may say that the partition is held: that was before this.
  if (const int64_t claim = KeyOf(id, group); leasing_.contains(claim)) told_.insert(claim);
  const bool any_left = group.ring.EndLease(id, end.cursor);
  if (end.ready_in_ms > 0) {
    const int64_t at = loop_.NowMillis() + end.ready_in_ms;
    group.ring.Hold(id, at);
    SetTimer(at);
  } else if (any_left) {
    group.ring.Add(id);
    if (tell && !IsServedHere(group, id) && peers_->AnyoneWaits()) {
      peers_->Freed(queue, partition, id, group_name);
    }
  }
}

void PopStateMachine::OnQueueChanged(const std::string& queue) {
  loop_.AssertOwner();
  const auto groups = by_queue_.find(queue);
  if (groups == by_queue_.end()) return;
  for (PopGroup* group : groups->second) OnGroupChanged(*group);
}

void PopStateMachine::OnQueuesChanged() {
  loop_.AssertOwner();
  for (auto& [key, group] : groups_) OnGroupChanged(*group);
}

void PopStateMachine::OnGroupChanged(PopGroup& group) {
  ++group.changes;
  // A lease that is decided from a lane of before would lose, and other lanes of its pop would have
  // been given less for it.
  if (group.named()) lanes_.DropGroup(GroupId{group.group_id});
  ForgetNames(group);
  for (const PopPtr& pop : group.waiters) Unconfirm(*pop);
  for (const PopPtr& pop : group.lookers) Unconfirm(*pop);
  for (const PopPtr& pop : group.behind_claims) Unconfirm(*pop);
  WakeAll(group);
}

// It has to be found out again what is there for it.
void PopStateMachine::Unconfirm(Pop& pop) {
  pop.confirmed = false;
  pop.resolve_round = pop.group->rounds_begun + 1;
  pop.tail_read = 0;
}

void PopStateMachine::Forget() {
  for (const auto& chunk : std::exchange(decided_, {})) {
    FailLeases(*chunk, pg::NotSent(Status(Code::kDatabaseUnavailable)));
  }
  returns_.Forget();
  tail_.Drop();
  queue_names_.clear();  // with the ids
  for (auto& [key, group] : groups_) {
    ForgetNames(*group);
    group->backoff.Hurry(loop_.NowMillis());
  }
  SetTimer(loop_.NowMillis());
}

void PopStateMachine::OnUp() {
  const int64_t now = loop_.NowMillis();
  for (auto& [key, group] : groups_) {
    if (group->awaited() && !IsComplete(*group)) group->backoff.Hurry(now);
  }
  SetTimer(now);
}

void PopStateMachine::StopWaiting() {
  may_wait_ = false;
  std::vector<PopPtr> waiters;
  for (auto& [key, group] : groups_) {
    waiters.insert(waiters.end(), group->waiters.begin(), group->waiters.end());
    waiters.insert(waiters.end(), group->lookers.begin(), group->lookers.end());
  }
  for (const PopPtr& pop : waiters) Finish(pop, PopState::kEmpty, PopResult{});
}

void PopStateMachine::SetPaused(bool paused) {
  loop_.AssertOwner();
  paused_ = paused;
  if (!paused) WakeEverybody();
}

void PopStateMachine::Shutdown() {
  timer_.Stop();
  background_.Stop();
  returns_.Shutdown();
  retries_.clear();
  std::vector<PopPtr> left;
  for (const auto& [ticket, pop] : pops_) left.push_back(pop);
  for (const PopPtr& pop : left) Fail(pop, Status(Code::kShuttingDown));
}

void PopStateMachine::ForgetNames(PopGroup& group) {
  group.ring.Clear();
  group.postponed.clear();
  group.in_postponed = {};
  group.hints_checked = group.ring.hints_total();
  ++group.forgotten;
  group.complete_generation = 0;
  group.reconcile_after = 0;
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
  if (MustWait(*pop)) {
    Wait(pop);
    return;
  }
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
  if (pop->confirmed && !group.ring.Contains(partition->second)) {
    Wait(pop);
    return;
  }
  pop->state = PopState::kLeasing;
  pop->candidates = {partition->second};
  if (Claim(group, partition->second)) {
    group.ring.Remove(partition->second);
    lease_.push_back(pop);
    scheduler_.Wake();
  } else {
    blocked_[KeyOf(partition->second, group)].push_back(pop);
  }
}

void PopStateMachine::AdvanceWildcard(const PopPtr& pop) {
  PopGroup& group = *pop->group;
  group.ring.MoveDue(loop_.NowMillis());
  pop->candidates.clear();
  if (!IsComplete(group)) StartRound(group);
  if (pop->request.look) {
    if (!group.ring.empty()) {
      PopResult result;
      result.found = true;
      Finish(pop, PopState::kCompleted, std::move(result));
      return;
    }
  } else if (TakeCandidates(pop)) {
    return;
  }
  if (pop->confirmed) {
    if (!AwaitDoubted(pop) && !AwaitClaims(pop)) Wait(pop);
    return;
  }
  if (IsComplete(group) && pop->request.wait_ms >= kParkedFromMs) {
    Wait(pop);
    ReadTailSoon();
    return;
  }
  pop->state = PopState::kResolving;
  if (IsComplete(group)) {
    AskTail(pop);
  } else {
    group.resolving.push_back(pop);
    EndRest(group);
  }
}

// Whether the pop is on its way, to a lease or to find out whether its ring is right.
bool PopStateMachine::TakeCandidates(const PopPtr& pop) {
  PopGroup& group = *pop->group;
  if (pop->misses >= kMissesMax && !group.ring.empty()) {  // it tells of what others have taken
    pop->misses = 0;
    group.ring.Doubt(kDoubtMax);
    group.doubted_upto = group.ring.hints_total();
    AwaitCheck(pop);
    return true;
  }
  // More partitions than messages could never all give something.
  const size_t candidates_max =
      std::min(static_cast<size_t>(std::min(pop->request.partitions_max, pop->request.batch)),
               limits_.lease_rows_max);
  while (pop->candidates.size() < candidates_max) {
    const auto partition = group.ring.Take();
    if (!partition) break;
    Claim(group, *partition);
    pop->candidates.push_back(*partition);
  }
  if (pop->candidates.empty()) return false;
  pop->claims_upto = 0;
  pop->state = PopState::kLeasing;
  lease_.push_back(pop);
  scheduler_.Wake();
  return true;
}

// False when somebody else has claimed it.
bool PopStateMachine::Claim(PopGroup& group, PartitionId partition) {
  if (!leasing_.insert(KeyOf(partition, group)).second) return false;
  ++group.claims_made;
  return true;
}

void PopStateMachine::Finish(const PopPtr& pop, PopState state, Result<PopResult> result) {
  if (pop->finished()) return;
  PopGroup& group = *pop->group;
  if (pop->state == PopState::kWaiting) Unpark(pop);
  pop->state = state;
  if (!pop->wildcard()) {
    const auto sought = group.sought.find(*pop->request.partition);
    if (--sought->second == 0) group.sought.erase(sought);
  }
  // It may have been woken for what it leaves there.
  OfferSoon(group);
  if (pop->deadline) deadlines_.erase(*pop->deadline);
  pop->deadline.reset();
  GiveBackDoubtful(*pop);
  pop->room.reset();
  pop->place_for_room.reset();
  pops_.erase(pop->ticket);
  if (pop->request.look) --looks_;
  DropUse(group);
  PopDone done = std::move(pop->done);
  if (result.ok()) result->parked = pop->parked;
  done(std::move(result));
}

// Answers a pop that is still on its way; should a lease come after all, it is given back.
void PopStateMachine::Abandon(const PopPtr& pop, Result<PopResult> result) {
  pop->cancelled = true;
  pop->place_for_room.reset();
  PopDone done = std::move(pop->done);
  pop->done = [](const Result<PopResult>&) {};
  if (result.ok()) result->parked = pop->parked;
  done(std::move(result));
}

// The pop's time is over while it is on its way. See rule 4.
void PopStateMachine::OnOverdue(const PopPtr& pop) {
  if (pop->MaySettleUnseen() && !QUEEN_PLANTED(kAnsweredEarly)) {
    pop->overdue = true;
  } else {
    Abandon(pop, OverdueAnswer(*pop));
  }
}

Result<PopResult> PopStateMachine::OverdueAnswer(const Pop& pop) const {
  if (pop.waited) return PopResult{};
  return Status(scheduler_.AnyUp() ? Code::kOverloaded : Code::kDatabaseUnavailable);
}

void PopStateMachine::FinishOverdue(const PopPtr& pop) {
  Finish(pop, pop->waited ? PopState::kEmpty : PopState::kFailed, OverdueAnswer(*pop));
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
    const bool settled = pop->request.auto_ack && &stage == &fetch_;
    const bool its_own_fault = !may_repeat && pops.size() == 1;
    if (pop->cancelled) {
      Finish(pop, PopState::kEmpty, PopResult{});
    } else if (its_own_fault || (settles_at_once && result.outcome == pg::Outcome::kUnknown)) {
      if (settled)
        log::ErrorRarely("settled messages cannot be read", {{"queue", pop->group->queue},
                                                             {"group", pop->group->name},
                                                             {"error", result.status.message()}});
      Fail(pop, result.status);
    } else if (pop->overdue && !settled) {
      FinishOverdue(pop);
    } else if (may_repeat && !settled && !scheduler_.AnyUp() && pop->request.wait_ms <= 0) {
      Fail(pop, Status(Code::kDatabaseUnavailable));
    } else if (may_repeat) {
      Pause(pop, stage);  // what is settled nobody else will be given: read until it succeeds
    } else {
      pop->alone = true;
      stage.push_back(pop);
    }
    // Nobody will read what was leased for it.
    if (pop->finished() && &stage == &fetch_) GiveBackDeliveries(*pop);
  }
}

// What fails now fails again if it is asked again at once, and PostgreSQL writes to its log each
// time.
void PopStateMachine::Pause(const PopPtr& pop, std::deque<PopPtr>& stage) {
  pop->pause_ms = NextPause(pop->pause_ms);
  const int64_t until_ms = loop_.NowMillis() + pop->pause_ms;
  retries_.emplace(until_ms, std::pair(pop, &stage));
  SetTimer(until_ms);
}

void PopStateMachine::PauseWhole(const PopPtr& pop) {
  pop->pause_ms = NextPause(pop->pause_ms);
  const int64_t until_ms = loop_.NowMillis() + pop->pause_ms;
  retries_.emplace(until_ms, std::pair(pop, nullptr));
  SetTimer(until_ms);
}

// ---- to and from PostgreSQL

bool PopStateMachine::HasWork() const {
  return !naming_.empty() || !resolve_.empty() || MayLease() || !decided_.empty() ||
         !fetch_.empty() || returns_.HasWork() || tail_.HasWork() || MayCheck() ||
         !reconcile_.empty();
}

void PopStateMachine::SendOne() {
  for (size_t tried = 0; tried < kStageCount; ++tried) {
    const size_t stage = next_stage_;
    next_stage_ = (next_stage_ + 1) % kStageCount;
    if (stage == 0 && !naming_.empty()) return SendNaming();
    if (stage == 1 && !resolve_.empty()) return SendResolve();
    if (stage == 2 && MayLease()) return SendLease();
    if (stage == 3 && !fetch_.empty()) return SendFetch();
    if (stage == 4 && returns_.HasWork()) return returns_.SendOne();
    if (stage == 5 && tail_.HasWork()) return SendTail();
    if (stage == 6 && MayCheck()) return SendCheck();
    if (stage == 7 && !reconcile_.empty()) return SendReconcile();
    if (stage == 8 && !decided_.empty()) {
      const std::shared_ptr<LeaseChunk> chunk = std::move(decided_.front());
      decided_.pop_front();
      return SendLeaseAppend(chunk);
    }
  }
}

std::vector<PopPtr> PopStateMachine::TakeChunk(std::deque<PopPtr>& stage, int parts) const {
  const auto split = static_cast<size_t>(parts);
  const size_t share = std::min((stage.size() + split - 1) / split, limits_.pops_per_batch);
  std::vector<PopPtr> chunk;
  while (!stage.empty() && chunk.size() < share) {
    if (stage.front()->alone && !chunk.empty()) break;
    chunk.push_back(std::move(stage.front()));
    stage.pop_front();
    if (chunk.back()->alone) break;
  }
  return chunk;
}

}  // namespace queen::sidecar
