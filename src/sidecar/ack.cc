#include "sidecar/ack.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "base/planted.h"
#include "sidecar/answers.h"
#include "storage/procedures.h"

namespace queen::sidecar {
namespace {

constexpr int64_t kPauseMs = 5;
constexpr int64_t kPauseMaxMs = 100;
constexpr int64_t kTickMs = 500;

bool IsDoubtful(const std::vector<AckGroup>& groups) {
  return std::any_of(groups.begin(), groups.end(),
                     [](const AckGroup& group) { return group.doubtful; });
}

}  // namespace

AckQueue::AckQueue(Loop& loop, Scheduler& scheduler, const state::DeliveredIndex& delivered,
                   engine::LaneCache& lanes, engine::DatabaseClock& clock, HandOver& hand_over,
                   const AckLimits& limits, int64_t broker, Freed freed)
    : loop_(loop),
      scheduler_(scheduler),
      delivered_(delivered),
      lanes_(lanes),
      clock_(clock),
      hand_over_(hand_over),
      limits_(limits),
      broker_(broker),
      freed_(std::move(freed)),
      pause_ms_(kPauseMs),
      pause_(loop, [this] { OnPauseOver(); }),
      tick_(loop, [this] { OnTick(); }) {}

// ---- from the callers

void AckQueue::Submit(AckRequest request) {
  loop_.AssertOwner();
  auto call = std::make_shared<AckCall>();
  call->request = std::move(request);
  const size_t count = call->request.items.size();
  call->targets.resize(count);
  call->outcomes.resize(count);
  call->decided.resize(count, false);
  call->placed.resize(count, false);
  call->unfound.resize(count, false);
  call->looked_up.resize(count, false);
  call->open = count;
  call->deadline_ms = loop_.NowMillis() + limits_.deadline_ms;
  items_waiting_ += static_cast<int64_t>(count);
  if (items_waiting_ > limits_.items_waiting_max) {
    FailCall(*call, static_cast<int64_t>(count) > limits_.items_waiting_max
                        ? Status(Code::kPayloadTooLarge, "The call has more acks than may wait")
                        : Status(Code::kOverloaded, "Too many acks are waiting"));
    return;
  }
  if (!scheduler_.AnyUp()) {
    FailCall(*call, Status(Code::kDatabaseUnavailable));
    return;
  }
  for (uint32_t i = 0; i < count; ++i) {
    const AckItem& item = call->request.items[i];
    if (!item.error.empty()) {
      Decide(*call, i, Refusal({}, item.error));
    } else if (!item.partition) {
      Decide(*call, i, Refusal({}, "Message not found"));
    } else if (auto target = delivered_.Find(*item.partition, item.group, item.txn)) {
      call->targets[i] = std::move(*target);
    } else {
      call->unfound[i] = true;
      call->finding = true;
    }
  }
  if (call->open == 0) return;
  if (!tick_.IsActive()) tick_.Start(kTickMs, kTickMs);
  if (call->finding) {
    find_.push_back(std::move(call));
  } else {
    Distribute(call);
  }
  scheduler_.Wake();
}

void AckQueue::Forget() {
  for (const auto& batch : std::exchange(decided_, {})) {
    OnFailed(*batch, pg::NotSent(Status(Code::kDatabaseUnavailable)), false);
  }
}

void AckQueue::Shutdown() {
  pause_.Stop();
  tick_.Stop();
  std::vector<std::shared_ptr<AckCall>> left(find_.begin(), find_.end());
  for (const auto& [number, key] : keys_) {
    for (const AckGroup& group : key->groups) left.push_back(group.call);
  }
  for (const auto& batch : decided_) {
    for (const Batch::Row& row : batch->rows) {
      for (const AckGroup& group : row.groups) left.push_back(group.call);
    }
  }
  for (const auto& call : left) FailCall(*call, Status(Code::kShuttingDown));
}

bool AckQueue::IsWorthAnother() const {
  if (!decided_.empty()) return true;
  Scheduler::Pile pile;
  return std::any_of(ready_.begin(), ready_.end(),
                     [&pile](const Key* key) {
                       return std::any_of(
                           key->groups.begin(), key->groups.end(),
                           [&pile](const AckGroup& group) { return pile.Add(group.items.size()); });
                     }) ||
         std::any_of(find_.begin(), find_.end(),
                     [&pile](const auto& call) { return pile.Add(call->open); });
}

void AckQueue::SendOne() {
  if (!decided_.empty()) {
    const std::shared_ptr<Batch> batch = std::move(decided_.front());
    decided_.pop_front();
    return SendAppend(batch);
  }
  // In turns: acks that are looked up first may not starve the others.
  found_last_ = !find_.empty() && (ready_.empty() || !found_last_);
  if (found_last_) {
    SendFind();
  } else {
    SendBatch();
  }
}

void AckQueue::MakeReady(Key& key) {
  if (key.on_its_way) return;
  key.on_its_way = true;
  ready_.push_back(&key);
}

// ---- apply

void AckQueue::SendBatch() {
  auto batch = std::make_shared<Batch>();
  while (!ready_.empty() && batch->rows.size() < limits_.keys_per_batch) {
    Key& key = *ready_.front();
    DropDecided(key);
    if (key.groups.empty()) {
      ready_.pop_front();
      Release(key);
      continue;
    }
    if (key.groups.front().alone && !batch->rows.empty()) break;
    ready_.pop_front();
    Batch::Row row;
    row.key = &key;
    const std::optional<Uuid> lease = key.groups.front().lease_id;
    while (!key.groups.empty() && key.groups.front().lease_id == lease) {
      const bool alone = key.groups.front().alone;
      if (alone && !row.groups.empty()) break;
      row.groups.push_back(std::move(key.groups.front()));
      key.groups.pop_front();
      if (alone) break;
    }
    std::vector<AckGroup> too_far;
    row.fold = Fold(row.groups, too_far);
    for (auto group = too_far.rbegin(); group != too_far.rend(); ++group) {
      key.groups.push_front(std::move(*group));
    }
    batch->rows.push_back(std::move(row));
    if (batch->rows.back().groups.front().alone) break;
  }

  if (batch->rows.empty()) return;
  DecideAcks(*batch, false);
  if (std::any_of(batch->rows.begin(), batch->rows.end(),
                  [](const auto& row) { return row.load; })) {
    SendLoad(batch);
  } else {
    SendAppend(batch);
  }
}

// Decides every row from its lane; `loaded`: those that were to be loaded have been, else they are
// left open. A lane that says that the lease is over is believed only if it was loaded since the
// ack came.
void AckQueue::DecideAcks(Batch& batch, bool loaded) {
  batch.generation = lanes_.generation();
  batch.appends = {};
  batch.appends.broker = broker_;
  const int64_t now = clock_.NowMicros();
  for (Batch::Row& row : batch.rows) {
    row.append = -1;
    row.again = false;
    row.answer = {};
    const engine::Lane* lane = lanes_.Find(row.key->lane);
    if (lane == nullptr) {
      row.again = loaded && !row.gone;  // forgotten meanwhile
      row.load = true;
      continue;
    }
    const engine::Progress& progress = lane->progress;
    if (progress.epoch > 0) row.answer.cursor = progress.cursor;
    row.answer.settled = progress.settled;
    const std::optional<Uuid>& asked = row.groups.front().lease_id;
    const bool valid = progress.lease && progress.lease->until_micros > now &&
                       (!asked || *asked == progress.lease->id);
    if (!valid) {
      row.answer.state = AckAnswer::State::kRefused;
      row.again = loaded && !row.load;
      row.load = true;
      continue;
    }
    row.outcome = engine::ApplyVerdicts(progress, lane->rules, row.fold);
    row.answer.state = AckAnswer::State::kApplied;
    row.answer.lease_end = progress.lease->end;
    row.answer.released = row.outcome.released;
    for (const engine::DeadLetter& letter : row.outcome.dead) row.answer.dead.push_back(letter.seq);
    row.append = static_cast<int>(batch.appends.lanes.size());
    engine::LaneAppend& append = batch.appends.lanes.emplace_back(
        engine::AppendBehind(row.key->lane, *lane, row.outcome.next));
    append.held = true;
    append.ready_ms = row.outcome.ready_in_ms;
    append.frees = row.outcome.released;
    append.dead = row.outcome.dead;
  }
}

void AckQueue::SendLoad(const std::shared_ptr<Batch>& batch) {
  std::vector<engine::LaneAsk> asks;
  for (const Batch::Row& row : batch->rows) {
    if (row.load) asks.push_back({row.key->lane, 0});
  }
  const int64_t load = lanes_.BeginLoad();
  pg::Batch call(storage::load_lanes::kStatement, storage::load_lanes::Encode(asks));
  scheduler_.Execute(
      *this, 0, std::move(call),
      [this, batch, load, generation = lanes_.generation(), asks = std::move(asks)](
          const pg::BatchResult& result) { OnLoaded(batch, asks, load, generation, result); });
}

void AckQueue::OnLoaded(const std::shared_ptr<Batch>& batch,
                        const std::vector<engine::LaneAsk>& asks, int64_t load, int64_t generation,
                        const pg::BatchResult& result) {
  const auto there = TakeLoaded(lanes_, clock_, asks, load, generation, result);
  if (!result.ok()) {
    OnFailed(*batch, result, false);
    return;
  }
  if (!there.ok()) {
    OnFailed(*batch, pg::NotSent(there.status()), false);
    return;
  }
  size_t asked = 0;
  for (Batch::Row& row : batch->rows) row.gone = row.load && !(*there)[asked++];
  DecideAcks(*batch, true);
  decided_.push_back(batch);
  scheduler_.Wake();
}

// Also where nothing is to be appended: what is answered about a settled message is true only once
// the standby has it.
void AckQueue::SendAppend(const std::shared_ptr<Batch>& batch) {
  int64_t items = 0;
  for (const Batch::Row& row : batch->rows) {
    for (const AckGroup& group : row.groups) items += static_cast<int64_t>(group.items.size());
  }
  CarryLeases(*batch);
  batch->sent_ms = loop_.NowMillis();
  scheduler_.Execute(*this, items,
                     pg::Batch(storage::append_lanes::kAckStatement,
                               storage::append_lanes::Encode(batch->appends)),
                     [this, batch](const pg::BatchResult& result) { OnAcked(batch, result); });
}

// Verdicts that are not repeated after an unknown end carry none: it would never be known what
// became of it.
void AckQueue::CarryLeases(Batch& batch) {
  batch.leases = hand_over_.BeginCarried();
  int carried = 0;
  for (Batch::Row& row : batch.rows) {
    row.lease = -1;
    if (row.append < 0 || !row.outcome.released || row.groups.front().alone ||
        !row.key->doubtful.empty() || !IsRepeatable(row.fold)) {
      continue;
    }
    const AckGroup& first = row.groups.front();
    const uint32_t item = first.items.front();
    if (hand_over_.CarryWithAck(*batch.leases, first.call->targets[item].queue_name,
                                first.call->request.items[item].group,
                                batch.appends.lanes[static_cast<size_t>(row.append)])) {
      row.lease = carried++;
    }
  }
}

void AckQueue::OnAcked(const std::shared_ptr<Batch>& batch, const pg::BatchResult& result) {
  if (!result.ok()) {
    OnFailed(*batch, result, true);
    return;
  }
  pause_ms_ = kPauseMs;
  const auto appended = storage::append_lanes::Decode(result.rows[0]);
  if (!appended.ok()) {
    OnFailed(*batch, pg::Unread(appended.status()), true);
    return;
  }
  for (Batch::Row& row : batch->rows) {
    if (row.append >= 0) {
      const storage::append_lanes::Row& answer = (*appended)[static_cast<size_t>(row.append)];
      AfterAppend(row, answer, loop_.NowMillis() - batch->sent_ms);
      TakeAppended(lanes_, clock_, row.key->lane, answer, batch->generation);
      if (row.lease >= 0)
        hand_over_.OnCarried(*batch->leases, static_cast<size_t>(row.lease), answer);
    }
    if (row.again) {
      GoAgain(row);
    } else {
      OnRow(row);
      GiveBackDoubtful(*row.key);
      Release(*row.key);
    }
  }
  hand_over_.EndCarried(batch->leases);
}

// No answer came. What a batch has carried may be stored, or may be yet.
void AckQueue::DoubtLeases(Batch& batch) {
  const auto doubtful = hand_over_.DoubtCarried(batch.leases);
  for (Batch::Row& row : batch.rows) {
    if (row.lease >= 0) row.key->doubtful.push_back(doubtful[static_cast<size_t>(row.lease)]);
  }
}

// The verdicts that carried them have been answered, or nobody asks for them any more.
void AckQueue::GiveBackDoubtful(Key& key) {
  for (const DoubtfulLease& lease : std::exchange(key.doubtful, {})) hand_over_.GiveBack(lease);
}

// What the append says of a row that was decided.
void AckQueue::AfterAppend(Batch::Row& row, const storage::append_lanes::Row& appended,
                           int64_t took_ms) {
  using engine::AppendState;
  switch (appended.state) {
    case AppendState::kWon:
      if (const auto& ready_at = appended.newest->ready_at_micros) {
        const int64_t after_ms = (*ready_at - appended.now_micros) / 1000;
        row.ready_in_ms = std::max<int64_t>(0, after_ms - took_ms);
      }
      break;
    case AppendState::kExpired:
      row.answer.state = AckAnswer::State::kRefused;
      row.answer.released = false;
      row.answer.dead.clear();
      break;
    case AppendState::kGone:
      row.answer = {};
      break;
    case AppendState::kLost:
    case AppendState::kBusy:
    case AppendState::kEarly:
    case AppendState::kMoved:
    case AppendState::kStale:
      row.again = true;
      break;
  }
}

void AckQueue::OnRow(Batch::Row& row) {
  const AckAnswer& answer = row.answer;
  if (answer.state == AckAnswer::State::kRefused && IsDoubtful(row.groups)) {
    TellFreed(row, {});  // the attempt without an answer may have ended the lease
  }
  if (answer.state == AckAnswer::State::kRefused && row.groups.front().lease_id) {
    for (auto group = row.groups.rbegin(); group != row.groups.rend(); ++group) {
      PassOn(*group, row.key->groups);
    }
  }

  // Told before the callers are answered: who pops next finds the partition free.
  if (answer.state == AckAnswer::State::kApplied && answer.released && row.lease < 0) {
    TellFreed(row, {.cursor = row.outcome.next.cursor, .ready_in_ms = row.ready_in_ms});
  }
  for (const AckGroup& group : row.groups) {
    AckAnswer judged = answer;
    if (group.call->several_leases) {
      const auto& before =
          group.call->before.try_emplace(row.key->number, answer.cursor, answer.settled)
              .first->second;
      judged.cursor = before.first;
      judged.settled = before.second;
    }
    AckGroup unknown{group.call, group.lease_id, {}};
    for (const uint32_t item : group.items) {
      const state::AckTarget& target = group.call->targets[item];
      AckOutcome outcome = Judge(judged, *target.seq, group.call->request.items[item].cumulative);
      outcome.queue_name = target.queue_name;
      outcome.partition_name = target.partition_name;
      // The attempt without an answer may be on its way yet: a refusal would be a guess.
      if (!outcome.success && answer.state == AckAnswer::State::kRefused && group.doubtful &&
          !QUEEN_PLANTED(kRefusedInDoubt)) {
        unknown.items.push_back(item);
        continue;
      }
      const bool meant = outcome.success && !WasSettled(judged, *target.seq);
      if (!meant && LookUpAgain(group.call, item, outcome)) continue;
      Decide(*group.call, item, std::move(outcome));
    }
    if (!unknown.items.empty()) Fail(unknown, Status(Code::kOutcomeUnknown));
  }
}

void AckQueue::TellFreed(const Batch::Row& row, const LeaseEnd& end) {
  const AckGroup& first = row.groups.front();
  const uint32_t item = first.items.front();
  freed_(first.call->targets[item], row.key->lane.partition, first.call->request.items[item].group,
         end);
}

// `appended`: it is not certain that nothing was changed.
void AckQueue::OnFailed(Batch& batch, const pg::BatchResult& result, bool appended) {
  const bool one_group = batch.rows.size() == 1 && batch.rows[0].groups.size() == 1;
  const bool unknown = appended && result.outcome == pg::Outcome::kUnknown;
  const bool may_repeat = result.outcome == pg::Outcome::kUnknown || result.status.retryable();
  if (may_repeat) pause_ms_ = std::min(pause_ms_ * 2, kPauseMaxMs);
  if (unknown && batch.leases) {
    DoubtLeases(batch);
  } else if (batch.leases) {
    hand_over_.EndCarried(batch.leases);
  }
  if (!may_repeat && !one_group) {
    log::WarnRarely("PostgreSQL refused a batch of acks; sending them caller by caller",
                    {{"sqlstate", result.sqlstate}, {"error", result.status.message()}});
  }
  for (Batch::Row& row : batch.rows) {
    lanes_.Drop(row.key->lane);
    if (unknown) {
      for (AckGroup& group : row.groups) group.doubtful = true;
      if (!IsRepeatable(row.fold)) TellFreed(row, {});
    }
    if ((unknown && !IsRepeatable(row.fold)) || (!may_repeat && one_group)) {
      for (const AckGroup& group : row.groups) Fail(group, result.status);
      Release(*row.key);
      continue;
    }
    if (!may_repeat) {
      for (AckGroup& group : row.groups) group.alone = true;
    }
    GoAgain(row);
  }
}

// Puts what is not decided back in front, to be sent after a short pause.
void AckQueue::GoAgain(Batch::Row& row) {
  Key& key = *row.key;
  const int64_t now = loop_.NowMillis();
  for (auto group = row.groups.rbegin(); group != row.groups.rend(); ++group) {
    if (group->call->deadline_ms <= now) {
      Fail(*group, Status(Code::kDatabaseUnavailable));
    }
    std::erase_if(group->items, [&](uint32_t item) { return group->call->decided[item]; });
    if (!group->items.empty()) key.groups.push_front(std::move(*group));
  }
  if (key.groups.empty()) {
    Release(key);
    return;
  }
  paused_.push_back(&key);
  if (!pause_.IsActive()) pause_.Start(pause_ms_);
}

void AckQueue::OnPauseOver() {
  std::vector<Key*> keys = std::move(paused_);
  paused_.clear();
  for (Key* key : keys) Release(*key);
  scheduler_.Wake();
}

// Nobody may send them for a long time: no connection is up, or all are busy.
void AckQueue::OnTick() {
  const int64_t now = loop_.NowMillis();
  std::vector<std::shared_ptr<AckCall>> unfound;
  std::erase_if(find_, [&](const std::shared_ptr<AckCall>& call) {
    if (call->deadline_ms > now) return false;
    unfound.push_back(call);
    return true;
  });
  std::vector<AckGroup> late;  // their keys let go of them when they are next looked at
  for (const auto& [number, key] : keys_) {
    std::copy_if(key->groups.begin(), key->groups.end(), std::back_inserter(late),
                 [&](const AckGroup& group) { return group.call->deadline_ms <= now; });
  }
  if (items_waiting_ == 0) tick_.Stop();
  const Status status = scheduler_.AnyUp()
                            ? Status(Code::kOverloaded, "The ack waited for too long")
                            : Status(Code::kDatabaseUnavailable);
  for (const auto& call : unfound) FailCall(*call, status);
  for (const AckGroup& group : late) Fail(group, status);
}

// Items whose call was answered meanwhile are nobody's any more.
void AckQueue::DropDecided(Key& key) {
  for (AckGroup& group : key.groups) {
    std::erase_if(group.items, [&](uint32_t item) { return group.call->decided[item]; });
  }
  std::erase_if(key.groups, [](const AckGroup& group) { return group.items.empty(); });
}

// The key is no longer in flight: next in line, or forgotten.
void AckQueue::Release(Key& key) {
  key.on_its_way = false;
  DropDecided(key);
  if (key.groups.empty()) {
    GiveBackDoubtful(key);
    keys_.erase(key.number);
  } else {
    MakeReady(key);
  }
}

// ---- outcomes

void AckQueue::Decide(AckCall& call, uint32_t item, AckOutcome outcome) {
  if (call.decided[item]) return;
  call.decided[item] = true;
  call.outcomes[item] = std::move(outcome);
  --items_waiting_;
  if (--call.open == 0) AnswerCall(call.request, std::exchange(call.outcomes, {}), call.trouble);
}

void AckQueue::Fail(const AckGroup& group, const Status& status) {
  AckCall& call = *group.call;
  if (status.retryable()) call.trouble = status;
  for (const uint32_t item : group.items) {
    Decide(call, item, Refusal(call.targets[item], status.message()));
  }
}

void AckQueue::FailCall(AckCall& call, const Status& status) {
  call.trouble = status;
  for (uint32_t item = 0; item < call.decided.size(); ++item) {
    Decide(call, item, Refusal(call.targets[item], status.message()));
  }
}

}  // namespace queen::sidecar
