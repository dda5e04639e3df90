#include "sidecar/lease_returns.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "engine/verdict_rule.h"
#include "sidecar/growing_pause.h"
#include "sidecar/lane_answers.h"

namespace queen::sidecar {

struct LeaseReturns::Lease {
  engine::LaneKey lane;
  Uuid lease_id;
  Done done;
  int64_t give_up_ms = 0;
  // In a call:
  bool load = false;   // to be loaded before it is decided
  bool gone = false;   // ... and there is no such lane
  bool again = false;  // to be tried again
  int append = -1;     // its place in the call's appends
};

struct LeaseReturns::Call {
  std::vector<Lease> leases;
  engine::AppendRequest appends;
  int64_t generation = 0;  // of the lanes, when they were decided
};

LeaseReturns::LeaseReturns(Loop& loop, Scheduler& scheduler, Scheduler::Source& source,
                           engine::LaneCache& lanes, engine::DatabaseClock& clock,
                           const Limits& limits, int64_t broker)
    : loop_(loop),
      scheduler_(scheduler),
      source_(source),
      lanes_(lanes),
      clock_(clock),
      limits_(limits),
      broker_(broker),
      pause_(loop, [this] { scheduler_.Wake(); }) {}

LeaseReturns::~LeaseReturns() = default;

bool LeaseReturns::Add(const engine::LaneKey& lane, const Uuid& lease_id, Done done) {
  if (waiting_.size() >= limits_.waiting_max) return false;
  waiting_.push_back({.lane = lane,
                      .lease_id = lease_id,
                      .done = std::move(done),
                      .give_up_ms = loop_.NowMillis() + limits_.tries_for_ms});
  scheduler_.Wake();
  return true;
}

void LeaseReturns::SendOne() {
  if (!decided_.empty()) {
    const std::shared_ptr<Call> call = std::move(decided_.front());
    decided_.pop_front();
    SendAppend(call);
    return;
  }
  const std::shared_ptr<Call> call = TakeCall();
  Decide(*call, false);
  if (std::any_of(call->leases.begin(), call->leases.end(),
                  [](const Lease& lease) { return lease.load; })) {
    SendLoad(call);
  } else {
    SendAppend(call);
  }
}

void LeaseReturns::Forget() {
  for (const auto& call : std::exchange(decided_, {})) Fail(*call);
}

// One change of a lane per call.
std::shared_ptr<LeaseReturns::Call> LeaseReturns::TakeCall() {
  auto call = std::make_shared<Call>();
  std::deque<Lease> left;
  std::unordered_set<engine::LaneKey, engine::LaneKeyHash> taken;
  for (Lease& lease : waiting_) {
    const bool fits = call->leases.size() < limits_.per_call_max;
    if (fits && taken.insert(lease.lane).second) {
      call->leases.push_back(std::move(lease));
    } else {
      left.push_back(std::move(lease));
    }
  }
  waiting_ = std::move(left);
  return call;
}

// `loaded`: lanes that were to be loaded have been.
void LeaseReturns::Decide(Call& call, bool loaded) {
  call.generation = lanes_.generation();
  call.appends = {};
  call.appends.broker = broker_;
  call.appends.sync = false;
  const int64_t now = clock_.NowMicros();
  for (Lease& lease : call.leases) {
    lease.append = -1;
    const engine::Lane* lane = lanes_.Find(lease.lane);
    const bool held = lane != nullptr && lane->progress.lease &&
                      lane->progress.lease->id == lease.lease_id &&
                      lane->progress.lease->until_micros > now;
    if (!held) {
      // Over is what a load of this call says; a lane may also have been forgotten since.
      const bool told = lease.gone || (lane != nullptr && lease.load);
      lease.again = loaded && !told;
      lease.load = true;
      continue;
    }
    engine::Verdicts none;
    none.lease_after = engine::LeaseAfter::kEnds;
    engine::VerdictOutcome outcome = engine::ApplyVerdicts(lane->progress, lane->rules, none);
    lease.append = static_cast<int>(call.appends.lanes.size());
    engine::LaneAppend& append = call.appends.lanes.emplace_back(
        engine::AppendBehind(lease.lane, *lane, std::move(outcome.next)));
    append.held = true;
    append.ready_ms = outcome.ready_in_ms;
    append.frees = true;
  }
}

void LeaseReturns::SendLoad(const std::shared_ptr<Call>& call) {
  std::vector<engine::LaneAsk> asks;
  for (const Lease& lease : call->leases) {
    if (lease.load) asks.push_back({lease.lane, 0});
  }
  const int64_t load = lanes_.BeginLoad();
  pg::Batch batch(storage::load_lanes::kStatement, storage::load_lanes::Encode(asks));
  scheduler_.Execute(
      source_, 0, std::move(batch),
      [this, call, load, generation = lanes_.generation(), asks = std::move(asks)](
          const pg::BatchResult& result) { OnLoaded(call, asks, load, generation, result); });
}

void LeaseReturns::OnLoaded(const std::shared_ptr<Call>& call,
                            const std::vector<engine::LaneAsk>& asks, int64_t load,
                            int64_t generation, const pg::BatchResult& result) {
  const auto there = TakeLoaded(lanes_, clock_, asks, load, generation, result);
  if (!there.ok()) {
    Fail(*call);
    return;
  }
  size_t asked = 0;
  for (Lease& lease : call->leases) lease.gone = lease.load && !(*there)[asked++];
  Decide(*call, true);
  if (call->appends.lanes.empty()) {
    Finish(*call);
  } else {
    decided_.push_back(call);
    scheduler_.Wake();
  }
}

void LeaseReturns::SendAppend(const std::shared_ptr<Call>& call) {
  scheduler_.Execute(source_, static_cast<int64_t>(call->leases.size()),
                     pg::Batch(storage::append_lanes::kReturnStatement,
                               storage::append_lanes::Encode(call->appends)),
                     [this, call](const pg::BatchResult& result) { OnAppended(*call, result); });
}

void LeaseReturns::OnAppended(Call& call, const pg::BatchResult& result) {
  if (!result.ok()) {
    Fail(call);
    return;
  }
  const auto appended = storage::append_lanes::Decode(result.rows[0]);
  if (!appended.ok()) {
    Fail(call);
    return;
  }
  for (Lease& lease : call.leases) {
    if (lease.append < 0) continue;
    const storage::append_lanes::Row& answer = (*appended)[static_cast<size_t>(lease.append)];
    using State = engine::AppendState;
    lease.again = answer.state != State::kWon && answer.state != State::kGone &&
                  answer.state != State::kExpired;
    TakeAppended(lanes_, clock_, lease.lane, answer, call.generation);
  }
  Finish(call);
}

// Nothing is known of any of them. After an answer that did not come it may be done already; then
// the next attempt finds no lease, which does no harm.
void LeaseReturns::Fail(Call& call) {
  for (Lease& lease : call.leases) {
    lanes_.Drop(lease.lane);
    lease.again = true;
  }
  Finish(call);
}

void LeaseReturns::Finish(Call& call) {
  bool any_again = false;
  for (Lease& lease : call.leases) {
    if (!lease.again || loop_.NowMillis() >= lease.give_up_ms) {
      lease.done(!lease.again);
      continue;
    }
    lease.again = lease.load = lease.gone = false;
    any_again = true;
    waiting_.push_back(std::move(lease));
  }
  pause_ms_ = any_again ? NextPause(pause_ms_) : 0;
  if (any_again) pause_.Start(pause_ms_);
}

}  // namespace queen::sidecar
