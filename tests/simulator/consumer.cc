#include "simulator/consumer.h"

#include <algorithm>

#include "base/uuid.h"
#include "simulator/producer.h"

namespace queen::simulator {
namespace {

using sidecar::Verdict;

constexpr int kAckRepeatsMax = 4;
// At the end nobody dawdles: what is left must be consumed in time.
constexpr int64_t kDrainMicros = 10'000;
constexpr uint64_t kDrainBatch = 200;
// So long a pop waits for what others are leasing; beside a lease that hangs it gives up.
constexpr int64_t kClaimMicros = 1'000'000;

}  // namespace

void Consumer::After(int64_t micros, UniqueFunction<void()> then) {
  world_.time().After(micros, std::move(then));
}

void Consumer::NextSoon() {
  const int64_t longest = world_.plan().pause_micros;
  const auto pause =
      static_cast<uint64_t>(world_.draining() ? std::min(longest, kDrainMicros) : longest);
  After(static_cast<int64_t>(world_.Draw(pause)), [this] { Next(); });
}

Consumer::ReadyLanes Consumer::ReadyNow() {
  ReadyLanes ready;
  for (const LaneView& lane : world_.observer().Lanes(queue_, group_)) {
    const bool asked_for = !partition_ || *partition_ == lane.partition;
    const int partition = world_.truth().PartitionOf(queue_, lane.partition);
    if (!lane.ready || !asked_for || world_.truth().IsChanging(group_, partition)) continue;
    ready[lane.partition_id] = lane.epoch;
  }
  return ready;
}

bool Consumer::Waits() {
  switch (world_.plan().pace) {
    case Pace::kBusy:
      return patient_ && !world_.OneIn(10);
    case Pace::kWaiting:
      return true;
    case Pace::kPolling:
      return false;
  }
  return false;
}

void Consumer::Next() {
  const Wire::Address to = world_.AnyAddress();
  sidecar::PopRequest request;
  request.queue = queue_;
  request.group = group_;
  request.auto_ack = auto_ack_;
  request.batch = world_.OneIn(3) ? static_cast<int32_t>(1 + world_.Draw(30)) : 1;
  if (world_.draining()) request.batch = static_cast<int32_t>(1 + world_.Draw(kDrainBatch));
  request.partitions_max = world_.OneIn(4) ? 3 : 1;
  request.lease_seconds = world_.plan().lease_seconds;
  partition_.reset();
  if (!world_.draining() && world_.OneIn(5)) {
    const auto& all = world_.truth().partitions();
    const PartitionName& one = all[world_.Draw(all.size())];
    if (one.queue == queue_) partition_ = one.name;
  }
  request.partition = partition_;
  if (Waits()) {
    const uint64_t wait_ms = world_.OneIn(3) ? 20 + world_.Draw(1'000) : 500 + world_.Draw(20'000);
    request.wait_ms = static_cast<int64_t>(world_.draining() ? 2'000 : wait_ms);
  }
  PopCall call{group_, world_.Now(), auto_ack_, request.batch * request.partitions_max,
               request.lease_seconds};
  ReadyLanes ready;
  if (request.wait_ms == 0) ready = ReadyNow();
  const int64_t number = ++pops_;
  waits_since_ = request.wait_ms > 0 ? world_.Now() : 0;
  waits_at_ = to.broker;
  const bool waits = request.wait_ms > 0;
  const auto pop = world_.wire().Pop(to, std::move(request),
                                     [this, call, ready = std::move(ready)](auto answer) {
                                       OnAnswer(call, ready, std::move(answer));
                                     });
  if (!waits || !world_.plan().leaving || world_.draining() || !world_.OneIn(12)) return;
  After(static_cast<int64_t>(world_.Draw(3'000'000)), [this, pop, number, call] {
    if (number != pops_) return;
    ++pops_;
    waits_since_ = 0;
    world_.history().Note(History::kNowhere, "{} of {} leaves", group_, queue_);
    world_.truth().OnPopLost(call);
    world_.truth().OnPopOver(group_);
    world_.wire().Leave(pop);
    NextSoon();
  });
}

void Consumer::OnAnswer(const PopCall& call, const ReadyLanes& ready_before,
                        std::optional<Result<sidecar::PopResult>> answer) {
  const bool waited = waits_since_ > 0;
  ++pops_;
  waits_since_ = 0;
  if (!answer || !answer->ok()) {
    world_.history().Note(History::kNowhere, "pop of {} for {}: {}", queue_, group_,
                          answer ? answer->status().ToString() : "lost");
    world_.truth().OnPopLost(call);
    return After(static_cast<int64_t>(world_.Draw(200'000)), [this] { Next(); });
  }
  const sidecar::PopResult& result = **answer;
  if (result.deliveries.empty()) {
    if (waited) world_.truth().OnPopOver(group_);
    const int64_t quiet_since = world_.QuietSince(waits_at_);
    if (quiet_since < call.sent_at - kClaimMicros) CheckNothing(call, ready_before);
    return NextSoon();
  }
  Batch batch = world_.truth().OnDelivered(call, result);
  if (auto_ack_ || batch.empty()) return NextSoon();
  world_.OnLeaseHeard();
  Handle(result.lease_id, std::move(batch));
}

// R3: what was there before the pop was sent, with nobody changing it, and is still there
// untouched, was there all the time.
void Consumer::CheckNothing(const PopCall& call, const ReadyLanes& ready_before) {
  if (ready_before.empty()) return;
  for (const LaneView& lane : world_.observer().Lanes(queue_, group_)) {
    const auto before = ready_before.find(lane.partition_id);
    if (!lane.ready || before == ready_before.end() || before->second != lane.epoch) continue;
    const int partition = world_.truth().PartitionOf(queue_, lane.partition);
    if (world_.truth().WasMovedSince(group_, partition, call.sent_at)) continue;
    world_.history().Fail(partition,
                          fmt::format("R3: {} of {} was told by broker {} that there is nothing "
                                      "beside {} (partition {}, epoch "
                                      "{}, cursor {} of {})",
                                      group_, queue_, waits_at_, lane.partition, lane.partition_id,
                                      lane.epoch, lane.cursor, lane.end));
  }
}

void Consumer::Handle(const Uuid& lease, Batch batch) {
  const int64_t lease_micros = int64_t{world_.plan().lease_seconds} * 1'000'000;
  const auto work = static_cast<int64_t>(world_.Draw(20'000));
  const uint64_t mood = world_.draining() ? 0 : world_.Draw(100);
  if (mood < 25 && world_.plan().transactions) return Transact(lease, batch);
  if (mood < 65) return AckAll(lease, batch, work);
  if (mood < 73) return AckEach(lease, std::move(batch));
  if (mood < 81) return JudgeEach(lease, batch);
  if (mood < 85) return HandBack(lease, batch);
  if (mood < 89) return RenewAndAck(lease, batch);
  if (mood < 94) return AckAll(lease, batch, lease_micros + work * 50);  // too late, or nearly
  NextSoon();                                                            // forgets it
}

void Consumer::AckAll(const Uuid& lease, const Batch& batch, int64_t after_micros) {
  std::vector<std::pair<Received, Verdict>> verdicts;
  for (const Received& message : batch) verdicts.emplace_back(message, Verdict::kCompleted);
  After(after_micros, [this, lease, verdicts = std::move(verdicts)] {
    Say(lease, verdicts, 0, [this] { NextSoon(); });
  });
}

// In any order, all at once, and some of them twice.
void Consumer::AckEach(const Uuid& lease, Batch batch) {
  for (size_t i = batch.size(); i > 1; --i) std::swap(batch[i - 1], batch[world_.Draw(i)]);
  for (const Received& message : batch) {
    Say(lease, {{message, Verdict::kCompleted}}, 0, [] {});
    if (world_.OneIn(8)) Say(lease, {{message, Verdict::kCompleted}}, 0, [] {});
  }
  NextSoon();
}

void Consumer::JudgeEach(const Uuid& lease, const Batch& batch) {
  std::vector<std::pair<Received, Verdict>> verdicts;
  for (const Received& message : batch) {
    const uint64_t mood = world_.Draw(10);
    verdicts.emplace_back(message, mood < 5   ? Verdict::kFailed
                                   : mood < 9 ? Verdict::kCompleted
                                              : Verdict::kDeadLetter);
  }
  Say(lease, verdicts, 0, [this] { NextSoon(); });
}

// Completes some, and hands back one and what follows it.
void Consumer::HandBack(const Uuid& lease, const Batch& batch) {
  std::vector<std::pair<Received, Verdict>> verdicts;
  const size_t kept = world_.Draw(batch.size());
  for (size_t i = 0; i < kept; ++i) verdicts.emplace_back(batch[i], Verdict::kCompleted);
  verdicts.emplace_back(batch[kept], Verdict::kRetry);
  Say(lease, verdicts, 0, [this] { NextSoon(); });
}

// Completes what it has got and pushes what follows from it: all or nothing.
void Consumer::Transact(const Uuid& lease, const Batch& batch) {
  Truth& truth = world_.truth();
  Truth::Bundle bundle;
  bundle.sent_at = world_.Now();
  const uint64_t pushes = world_.draining() ? 0 : world_.Draw(3);
  for (uint64_t i = 0; i < pushes; ++i) {
    const auto partition = static_cast<int>(world_.Draw(truth.partitions().size()));
    const std::string txn = world_.OneIn(3) ? "" : MakeUuidV7(world_.Now() / 1000).ToString();
    bundle.messages.push_back(truth.Make(partition, txn));
    truth.OnPushSent(bundle.messages.back());
  }
  sidecar::PushRequest pushed = PushOf(truth, bundle.messages);
  sidecar::TransactionRequest request;
  request.body = std::move(pushed.body);
  request.pushes = std::move(pushed.items);
  for (const Received& message : batch) {
    const Verdict verdict = world_.OneIn(10) ? Verdict::kFailed : Verdict::kCompleted;
    sidecar::TransactionAck ack;
    ack.item.partition = message.partition_id;
    ack.item.txn = message.txn;
    ack.item.group = group_;
    ack.item.lease_id = lease;
    ack.item.verdict = verdict;
    ack.group_of_lease = world_.OneIn(3);
    request.acks.push_back(std::move(ack));
    bundle.said.push_back(truth.OnVerdictSent(group_, lease, message, verdict));
  }
  world_.wire().Transaction(world_.AnyAddress(), std::move(request),
                            [this, bundle = std::move(bundle)](auto answer) mutable {
                              OnTransacted(std::move(bundle), std::move(answer));
                            });
}

void Consumer::OnTransacted(Truth::Bundle bundle,
                            std::optional<Result<sidecar::TransactionResult>> answer) {
  Truth& truth = world_.truth();
  truth.OnVerdictsOver(bundle.said);
  for (const int message : bundle.messages) truth.OnPushOver(message);
  if (!answer || !answer->ok()) {
    truth.OnBundleLost(std::move(bundle));
    return NextSoon();
  }
  const sidecar::TransactionResult& result = **answer;
  if (!result.refusal.ok()) {
    truth.OnBundleRefused(bundle, result.refusal.ToString());
    return NextSoon();
  }
  for (size_t i = 0; i < bundle.messages.size(); ++i) {
    truth.OnPushed(bundle.messages[i], bundle.sent_at,
                   {sidecar::PushOutcome::Status::kQueued, result.pushed[i], {}, {}});
  }
  for (size_t i = 0; i < bundle.said.size(); ++i) {
    sidecar::AckOutcome outcome;
    outcome.success = true;
    outcome.dead_lettered = result.dead_lettered[i];
    truth.OnVerdict(bundle.said[i], outcome);
  }
  NextSoon();
}

void Consumer::RenewAndAck(const Uuid& lease, const Batch& batch) {
  const int32_t seconds = world_.plan().lease_seconds;
  const int64_t sent_at = world_.Now();
  world_.wire().Renew(
      world_.AnyAddress(), {lease, seconds}, [this, lease, batch, seconds, sent_at](auto answer) {
        const bool renewed =
            answer && answer->ok() && (*answer)->state == sidecar::RenewResult::State::kRenewed;
        world_.history().Note(batch.front().partition, "{} {} renewed", lease.ToString().substr(24),
                              renewed ? "is" : "is not");
        for (const Received& message : batch) {
          if (renewed) world_.truth().OnRenewed(group_, lease, message.partition, sent_at, seconds);
        }
        const auto length = static_cast<uint64_t>(seconds) * 1'000'000;
        AckAll(lease, batch,
               static_cast<int64_t>(world_.Draw(length < 5'000'000 ? length : 1'000'000)));
      });
}

void Consumer::Say(const Uuid& lease, const std::vector<std::pair<Received, Verdict>>& verdicts,
                   int repeats, UniqueFunction<void()> then) {
  sidecar::AckRequest request;
  std::vector<Truth::Said> said;
  for (const auto& [message, verdict] : verdicts) {
    sidecar::AckItem item;
    item.partition = message.partition_id;
    item.txn = message.txn;
    item.group = group_;
    item.lease_id = lease;
    item.verdict = verdict;
    if (verdict == Verdict::kFailed) item.message = "failed on purpose";
    request.items.push_back(std::move(item));
    said.push_back(world_.truth().OnVerdictSent(group_, lease, message, verdict));
  }
  world_.wire().Ack(world_.AnyAddress(), std::move(request),
                    [this, lease, verdicts, repeats, said = std::move(said),
                     then = std::move(then)](auto answer) mutable {
                      world_.truth().OnVerdictsOver(said);
                      if (answer && answer->ok()) {
                        for (size_t i = 0; i < said.size(); ++i)
                          world_.truth().OnVerdict(said[i], (**answer)[i]);
                        return then();
                      }
                      world_.history().Note(said.front().message.partition, "verdicts under {}: {}",
                                            lease.ToString().substr(24),
                                            answer ? answer->status().ToString() : "lost");
                      const bool again = repeats < kAckRepeatsMax && !world_.OneIn(4);
                      if (!again) return then();
                      After(static_cast<int64_t>(world_.Draw(300'000)),
                            [this, lease, verdicts, repeats, then = std::move(then)]() mutable {
                              Say(lease, verdicts, repeats + 1, std::move(then));
                            });
                    });
}

}  // namespace queen::simulator
