// The pops: what becomes of each. The family's list and what is known of its queues is in
// family_rounds.cc.
#include "sidecar/family_pops.h"

#include <algorithm>
#include <utility>

namespace queen::sidecar {

FamilyPops::FamilyPops(Loop& loop, Engine& engine, Sidecar& sidecar)
    : loop_(loop),
      engine_(engine),
      pop_(sidecar.pop()),
      lookups_(sidecar.lookups()),
      limits_(sidecar.pop().limits()),
      timer_(loop, [this] { OnTimer(); }) {
  pop_.OnNews([this](TailNews news) {
    if (families_.empty()) return;
    loop_.Post([this, news = std::move(news)] { OnNews(news); });
  });
}

// ---- from the callers

void FamilyPops::Submit(uint64_t ticket, PopRequest request, PopDone done) {
  loop_.AssertOwner();
  const auto want = std::make_shared<Want>();
  want->ticket = ticket;
  want->request = std::move(request);
  want->done = std::move(done);
  want->family = FamilyOf(want->request);
  ++want->family->open;
  wants_.emplace(ticket, want);
  if (wants_.size() > limits_.pops_max) {
    Finish(want, Status(Code::kOverloaded, "Too many pops are waiting"));
    return;
  }
  const bool waits = want->request.wait_ms > 0;
  if (!waits && !pop_.paused() && !pop_.AnyUp()) {
    Finish(want, Status(Code::kDatabaseUnavailable));
    return;
  }
  want->deadline_ms = loop_.NowMillis() + (waits ? want->request.wait_ms : limits_.deadline_ms);
  SetDeadline(want, want->deadline_ms);
  if (pop_.paused() && !pop_.AnyUp()) {  // otherwise its group's start is recorded
    Park(want);
  } else {
    Choose(want);
  }
}

void FamilyPops::Cancel(uint64_t ticket) {
  loop_.AssertOwner();
  const auto known = wants_.find(ticket);
  if (known != wants_.end()) Finish(WantPtr(known->second), PopResult{});
}

void FamilyPops::StopWaiting() {
  loop_.AssertOwner();
  std::vector<WantPtr> parked;
  for (const auto& [key, family] : families_) {
    parked.insert(parked.end(), family->parked.begin(), family->parked.end());
  }
  for (const WantPtr& want : parked) Finish(want, PopResult{});
}

FamilyPops::FamilyPtr FamilyPops::FamilyOf(const PopRequest& request) {
  std::string key = request.FamilyKey();
  FamilyPtr& family = families_[key];
  if (!family) {
    family = std::make_shared<Family>(limits_.check);
    family->key = std::move(key);
    family->namespace_name = request.namespace_name;
    family->task = request.task;
    family->group = request.group;
  }
  return family;
}

// ---- what next

FamilyPops::Member* FamilyPops::Best(Family& family) {
  Member* best = nullptr;
  for (auto& [queue, member] : family.members) {
    if (!member.ready) continue;
    if (best == nullptr || member.priority > best->priority ||
        (member.priority == best->priority && member.served < best->served)) {
      best = &member;
    }
  }
  return best;
}

void FamilyPops::Choose(const WantPtr& want) {
  Family& family = *want->family;
  Member* best = Best(family);
  const bool sure = want->confirmed ||
                    (IsListed(family) && best != nullptr && best->priority >= family.priority_max);
  if (!sure) {
    Confirm(want);
  } else if (best != nullptr) {
    Serve(want, *best);
  } else {
    Park(want);
  }
}

void FamilyPops::Serve(const WantPtr& want, Member& member) {
  member.ready = false;
  member.served = ++want->family->clock;
  want->state = Want::State::kServing;
  PopRequest request = want->request;
  request.queue = member.queue;
  request.namespace_name.reset();
  request.task.reset();
  request.member = true;
  request.wait_ms = 0;
  // It is answered by then: an automatic ack must not be left behind by a pop that has ended.
  const int64_t grace_ms = want->request.wait_ms > 0 ? kGraceMs : 0;
  request.within_ms = std::max<int64_t>(want->deadline_ms + grace_ms - loop_.NowMillis(), 1);
  want->cancel = engine_.Pop(std::move(request), [this, want](Result<PopResult> result) {
    loop_.Post(
        [this, want, result = std::move(result)]() mutable { OnServed(want, std::move(result)); });
  });
  // Behind the pop, which has claimed what it takes: whether there is more.
  Look(want->family, member);
}

void FamilyPops::OnServed(const WantPtr& want, Result<PopResult> result) {
  want->cancel = nullptr;
  if (want->state == Want::State::kFinished) {  // its client has gone
    if (result.ok()) engine_.GiveBack(want->request.group, *std::move(result));
  } else if (!result.ok()) {
    FailOrPark(want, result.status());
  } else if (!result->deliveries.empty()) {
    Finish(want, std::move(result));
  } else if (want->late) {
    Finish(want, PopResult{});
  } else {
    if (want->confirmed && !MayPark(*want) && MayAskAgain(*want)) want->confirmed = false;
    Choose(want);
  }
}

// Others may have what was ready for the pop, while something else became ready. It does not go on
// like this for ever.
bool FamilyPops::MayAskAgain(Want& want) { return ++want.outrun <= kOutrunMax; }

bool FamilyPops::MayPark(const Want& want) const {
  return want.request.wait_ms > 0 && !want.late && pop_.may_wait();
}

// Nothing to take now: parks the pop, or answers that there is nothing.
void FamilyPops::Park(const WantPtr& want) {
  if (!MayPark(*want)) {
    Finish(want, PopResult{});
    return;
  }
  const FamilyPtr family = want->family;
  want->state = Want::State::kParked;
  want->parked = true;
  family->parked.push_back(want);
  LookEverywhere(family);
  family->backoff.Arm(loop_.NowMillis());
  SetTimer(family->backoff.at_ms());
  ServeParked(family);
}

// As many as there are queues with something; each queue tells again when it has more.
void FamilyPops::ServeParked(const FamilyPtr& family) {
  while (!family->parked.empty()) {
    Member* best = Best(*family);
    if (best == nullptr) return;
    family->backoff.Release(true);
    const WantPtr want = std::move(family->parked.front());
    family->parked.pop_front();
    Serve(want, *best);
  }
}

void FamilyPops::FailOrPark(const WantPtr& want, const Status& status) {
  // What an automatic ack may have settled must not be passed over in silence.
  const bool may_be_settled = want->state == Want::State::kServing && want->request.auto_ack &&
                              status.code() == Code::kOutcomeUnknown;
  if (want->request.wait_ms > 0 && status.retryable() && !may_be_settled) {
    Park(want);
  } else {
    Finish(want, status);
  }
}

void FamilyPops::Finish(const WantPtr& want, Result<PopResult> result) {
  if (want->state == Want::State::kFinished) return;
  Family& family = *want->family;
  if (want->state == Want::State::kParked) family.parked.remove(want);
  if (want->state == Want::State::kConfirming) family.confirming.remove(want);
  want->state = Want::State::kFinished;
  if (want->cancel) std::exchange(want->cancel, nullptr)();
  if (want->deadline) deadlines_.erase(*want->deadline);
  want->deadline.reset();
  wants_.erase(want->ticket);
  family.used_ms = loop_.NowMillis();
  if (--family.open == 0) SetTimer(family.used_ms + kLingerMs);
  PopDone done = std::move(want->done);
  if (result.ok()) result->parked = want->parked;
  done(std::move(result));
}

// ---- time

void FamilyPops::SetDeadline(const WantPtr& want, int64_t at_ms) {
  want->deadline = deadlines_.emplace(at_ms, want);
  SetTimer(at_ms);
}

void FamilyPops::SetTimer(int64_t at_ms) {
  if (timer_at_ms_ != 0 && timer_at_ms_ <= at_ms) return;
  timer_at_ms_ = std::max<int64_t>(at_ms, 1);
  timer_.Start(std::max<int64_t>(at_ms - loop_.NowMillis(), 0));
}

void FamilyPops::OnTimer() {
  timer_at_ms_ = 0;
  const int64_t now = loop_.NowMillis();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const WantPtr want = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    want->deadline.reset();
    OnDeadline(want, now);
  }
  if (!deadlines_.empty()) SetTimer(deadlines_.begin()->first);
  for (auto next = families_.begin(); next != families_.end();) {
    const FamilyPtr family = next->second;
    const bool busy = family->open > 0 || family->round;
    if (!busy && now - family->used_ms >= kLingerMs) {
      for (auto& [queue, member] : family->members) EndLook(member);
      next = families_.erase(next);
      continue;
    }
    ++next;
    if (!busy) SetTimer(family->used_ms + kLingerMs);
    if (family->parked.empty()) {
      family->backoff.Disarm();
    } else {
      if (family->backoff.ShouldCheck(now)) Check(family, now);
      SetTimer(family->backoff.at_ms());
    }
  }
}

void FamilyPops::OnDeadline(const WantPtr& want, int64_t now) {
  if (want->state == Want::State::kServing) {
    want->late = true;  // the pop of its queue has the same deadline, and answers it
  } else if (want->state == Want::State::kParked || want->late) {
    Finish(want, PopResult{});
  } else if (want->request.wait_ms > 0) {
    // On its way: it may still bring something, if it comes soon.
    want->late = true;
    SetDeadline(want, now + kGraceMs);
  } else {
    Finish(want, Status(pop_.AnyUp() ? Code::kOverloaded : Code::kDatabaseUnavailable));
  }
}

// The net under lost hints: the list of queues is as the tail has told, and each has its look,
// which has a net of its own.
void FamilyPops::Check(const FamilyPtr& family, int64_t now) {
  const int64_t waited_ms = family->backoff.interval_ms();
  const bool may_ask = family->backoff.TryAcquire(now, family->round);
  if (!pop_.AnyUp() || !may_ask) return;
  if (!IsListed(*family)) {
    BeginRound(family);
    return;
  }
  LookEverywhere(family);
  if (!pop_.WasReadWithin(waited_ms / 2)) pop_.AskNews();
}

}  // namespace queen::sidecar
