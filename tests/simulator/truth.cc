#include "simulator/truth.h"

#include <algorithm>
#include <charconv>

#include "base/uuid.h"
#include "storage/lines.h"

namespace queen::simulator {
namespace {

constexpr size_t kHoldersKept = 8;
constexpr int64_t kGivenBackMicros = 200'000;  // a broker takes less to give a lease back

int NumberOf(std::string_view payload) {
  int number = -1;
  std::from_chars(payload.data(), payload.data() + payload.size(), number);
  return number;
}

}  // namespace

Truth::Truth(const Scheduler& time, History& history, std::vector<PartitionName> partitions,
             int32_t retry_limit)
    : time_(time),
      history_(history),
      partitions_(std::move(partitions)),
      retry_limit_(retry_limit),
      logs_(partitions_.size()),
      told_at_(partitions_.size()) {
  for (size_t i = 0; i < partitions_.size(); ++i) by_name_[partitions_[i]] = static_cast<int>(i);
}

int Truth::PartitionOf(const std::string& queue, const std::string& name) const {
  const auto found = by_name_.find({queue, name});
  return found == by_name_.end() ? History::kNowhere : found->second;
}

// ---- pushes

int Truth::Make(int partition, std::string txn) {
  messages_.push_back({partition, std::move(txn)});
  return static_cast<int>(messages_.size()) - 1;
}

void Truth::OnPushSent(int message) {
  ++unheard_pushes_[At(message).partition];
  if (At(message).sent_at == 0) At(message).sent_at = Now();
  history_.Note(At(message).partition, "push {} {}", message, At(message).txn);
}

// `message` stands at `seq`.
void Truth::Place(int message, int64_t seq, const char* told_by) {
  Message& at = At(message);
  if (at.never) {
    history_.Fail(at.partition, fmt::format("I11: message {} stands at {}, says the {}, and its "
                                            "transaction was refused",
                                            message, seq, told_by));
  }
  if (at.seq != kUnknown && at.seq != seq) {
    history_.Fail(at.partition, fmt::format("I6: message {} stands at {} and, says the {}, at {}",
                                            message, at.seq, told_by, seq));
  }
  const auto [placed, first] = logs_[static_cast<size_t>(at.partition)].try_emplace(seq, message);
  if (placed->second != message) {
    history_.Fail(at.partition,
                  fmt::format("I1: offset {} has message {} and, says the {}, message {}", seq,
                              placed->second, told_by, message));
  }
  if (!first) return;
  at.seq = seq;
  if (at.bundle != kNoBundle) SettleBundle(at.bundle);
  if (at.txn.empty()) return;
  const auto [txn, alone] = queued_txns_.try_emplace({at.partition, at.txn}, message);
  if (!alone && txn->second != message) {
    history_.Fail(at.partition, fmt::format("I6: messages {} and {} have transactionId {}",
                                            txn->second, message, at.txn));
  }
}

void Truth::OnPushed(int message, int64_t sent_at, const sidecar::PushOutcome& outcome) {
  using Status = sidecar::PushOutcome::Status;
  Message& at = At(message);
  const int partition = at.partition;
  const auto place = static_cast<size_t>(partition);
  switch (outcome.status) {
    case Status::kQueued: {
      history_.Note(partition, "queued {} at {}", message, outcome.id.seq);
      Place(message, outcome.id.seq, "reply");
      at.queued = true;
      ++queued_;
      for (auto told = told_at_[place].upper_bound(outcome.id.seq); told != told_at_[place].end();
           ++told) {
        if (told->second >= sent_at) continue;
        history_.Fail(partition,
                      fmt::format("I1: message {} at {} was sent after the one at {} was answered",
                                  message, outcome.id.seq, told->first));
      }
      told_at_[place].try_emplace(outcome.id.seq, Now());
      return;
    }
    case Status::kDuplicate: {
      history_.Note(partition, "duplicate {} of {}", message, outcome.id.seq);
      const auto stands = logs_[place].find(outcome.id.seq);
      if (stands != logs_[place].end() && At(stands->second).txn != at.txn) {
        history_.Fail(partition, fmt::format("I6: {} is called a duplicate of {}, which is {}",
                                             message, outcome.id.seq, stands->second));
      }
      return;
    }
    case Status::kBuffered:
    case Status::kFailed:
      history_.Note(partition, "failed {}: {}", message, outcome.error);
      at.refused = true;
      return;
  }
}

// ---- pops

std::vector<Received> Truth::OnDelivered(const PopCall& call, const sidecar::PopResult& result) {
  std::vector<Received> all;
  std::vector<std::string_view> payloads;
  std::vector<std::string_view> txns;
  for (const sidecar::Delivery& delivery : result.deliveries) {
    const int partition = PartitionOf(delivery.queue_name, delivery.partition_name);
    if (partition == History::kNowhere) {
      history_.Fail(partition, fmt::format("a delivery of {} {}, which nobody has made",
                                           delivery.queue_name, delivery.partition_name));
    }
    std::vector<Received> got;
    for (const storage::SegmentPtr& segment : delivery.segments) {
      const auto count = static_cast<size_t>(segment->count);
      const Status split = storage::SplitLines(segment->payloads, count, payloads);
      txns.assign(count, {});
      if (!segment->txns.empty()) (void)storage::SplitLines(segment->txns, count, txns);
      if (!split.ok()) history_.Fail(partition, "a segment has the wrong number of lines");
      const int64_t first = std::max(segment->base_seq, delivery.cursor);
      const int64_t last = std::min(segment->end_seq(), delivery.end);
      for (int64_t seq = first; seq < last; ++seq) {
        if (!delivery.Delivers(seq)) continue;
        const auto line = static_cast<size_t>(seq - segment->base_seq);
        const int message = NumberOf(payloads[line]);
        const bool made = message >= 0 && static_cast<size_t>(message) < messages_.size() &&
                          At(message).partition == partition;
        if (!made) {
          history_.Fail(partition, fmt::format("{} was delivered, which nobody has pushed here",
                                               payloads[line]));
        }
        Place(message, seq, "delivery");
        std::string name = txns.size() == count ? std::string(txns[line]) : "";
        if (name.empty()) {
          name = EncodeMessageId({segment->CreatedMicros(seq) / 1000, delivery.partition, seq})
                     .ToString();
        }
        if (!got.empty() && got.back().seq >= seq) {
          history_.Fail(partition,
                        fmt::format("I1: {} was delivered after {}", seq, got.back().seq));
        }
        got.push_back({message, partition, delivery.partition, seq, std::move(name), 0});
      }
    }
    if (got.empty()) continue;
    history_.Note(partition, "{} got {} from {} to {}, lease {}", call.group, got.size(),
                  got.front().seq, got.back().seq, result.lease_id.ToString().substr(24));
    Lane& lane = LaneOf(call.group, partition);
    for (const Received& received : got) {
      const Mark& mark = lane.marks[received.seq];
      if (mark.settled_at != kUnknown && call.sent_at > mark.settled_at && !mark.excused) {
        history_.Fail(partition, fmt::format("I4: {} was given offset {} after it was settled",
                                             call.group, received.seq));
      }
    }
    CheckHolder(call, result.lease_id, partition, lane);
    CheckNoneLeftOut(call, partition, lane, got);
    if (call.auto_ack) {
      for (const Received& received : got) {
        Mark& mark = lane.marks[received.seq];
        if (lane.moving || call.sent_at <= lane.sought_at) {
          mark.excused = true;
        } else {
          mark.settled_at = Now();
        }
      }
    } else {
      Holder holder{result.lease_id, call.sent_at, Now(), 0, {}, false};
      holder.until = call.sent_at + int64_t{call.lease_seconds} * 1'000'000;
      for (const Received& received : got) holder.open.insert(received.seq);
      if (HolderOf(lane, result.lease_id) == nullptr) lane.holders.push_back(std::move(holder));
      if (lane.holders.size() > kHoldersKept) lane.holders.erase(lane.holders.begin());
    }
    delivered_ += static_cast<int64_t>(got.size());
    all.insert(all.end(), got.begin(), got.end());
  }
  return all;
}

void Truth::CheckHolder(const PopCall& call, const Uuid& lease, int partition, Lane& lane) {
  for (const Holder& holder : lane.holders) {
    const bool counts = !holder.released && holder.lease != lease &&
                        call.sent_at > holder.received_at && Now() < holder.until &&
                        crashed_at_ < holder.sent_at && lane.sought_at < holder.sent_at;
    if (!counts) continue;
    history_.Fail(partition,
                  fmt::format("I3: {} was given to {} while {} holds it", call.group,
                              lease.ToString().substr(24), holder.lease.ToString().substr(24)));
  }
}

// What was told to be there before the pop was sent, stands before what it got, and is open, should
// have come with it. With an automatic ack it may be in a reply that is still on its way: then the
// end tells.
void Truth::CheckNoneLeftOut(const PopCall& call, int partition, Lane& lane,
                             const std::vector<Received>& got) {
  if (call.auto_ack || lane.moving || call.sent_at <= lane.sought_at) return;
  const auto& told = told_at_[static_cast<size_t>(partition)];
  const auto settled = [&](int64_t seq) {
    const auto mark = lane.marks.find(seq);
    return mark != lane.marks.end() &&
           (mark->second.settled_at != kUnknown || mark->second.excused);
  };
  auto first = told.lower_bound(lane.settled_below);
  while (first != told.end() && first->first < got.front().seq && settled(first->first)) ++first;
  if (first == told.end()) return;
  lane.settled_below = first->first;
  auto next = got.begin();
  for (; first != told.end(); ++first) {
    const auto [seq, told_at] = *first;
    if (seq >= got.back().seq) return;
    while (next->seq < seq) ++next;
    if (next->seq == seq || told_at >= call.sent_at) continue;
    const Mark& mark = lane.marks[seq];
    if (mark.settled_at != kUnknown || mark.maybe > 0 || mark.excused) continue;
    const auto stands = logs_[static_cast<size_t>(partition)].find(seq);
    if (MayBeSkipped(lane, stands->second)) continue;
    history_.Fail(partition, fmt::format("I2: {} was given offset {} and not {}, which is open",
                                         call.group, got.back().seq, seq));
  }
}

void Truth::OnPopLost(const PopCall& call) {
  if (call.auto_ack) unseen_[call.group] += call.batch;
}

// ---- verdicts

Truth::Holder* Truth::HolderOf(Lane& lane, const Uuid& lease) {
  const auto found = std::find_if(lane.holders.begin(), lane.holders.end(),
                                  [&](const Holder& holder) { return holder.lease == lease; });
  return found == lane.holders.end() ? nullptr : &*found;
}

bool Truth::MaySettle(const Mark& mark, sidecar::Verdict verdict) const {
  switch (verdict) {
    case sidecar::Verdict::kCompleted:
    case sidecar::Verdict::kDeadLetter:
      return true;
    case sidecar::Verdict::kFailed:
      return mark.failures_sent > retry_limit_;
    case sidecar::Verdict::kRetry:
      return false;
  }
  return false;
}

Truth::Said Truth::OnVerdictSent(const std::string& group, const Uuid& lease,
                                 const Received& message, sidecar::Verdict verdict) {
  ++unheard_verdicts_[{group, message.partition}];
  Lane& lane = LaneOf(group, message.partition);
  Mark& mark = lane.marks[message.seq];
  if (verdict == sidecar::Verdict::kFailed) ++mark.failures_sent;
  const bool may_settle = MaySettle(mark, verdict);
  if (may_settle) ++mark.maybe;
  history_.Note(message.partition, "{} says {} of {} under {}", group, static_cast<int>(verdict),
                message.seq, lease.ToString().substr(24));
  Holder* const holder = HolderOf(lane, lease);
  if (holder != nullptr) {
    holder->open.erase(message.seq);
    if (holder->open.empty() || verdict == sidecar::Verdict::kRetry) holder->released = true;
  }
  return {group, lease, message, verdict, Now(), may_settle};
}

void Truth::OnVerdict(const Said& said, const sidecar::AckOutcome& outcome) {
  const Received& message = said.message;
  const Uuid& lease = said.lease;
  Lane& lane = LaneOf(said.group, message.partition);
  Mark& mark = lane.marks[message.seq];
  history_.Note(message.partition, "{} hears of {}: {}{}", said.group, message.seq,
                outcome.success ? "done" : outcome.error, outcome.lease_released ? ", free" : "");
  if (!outcome.success) {
    if (said.may_settle) --mark.maybe;
    return;
  }
  const Holder* const mine = HolderOf(lane, lease);
  for (const Holder& other : lane.holders) {
    const bool stale = mine != nullptr && other.lease != lease &&
                       other.sent_at > mine->received_at && said.sent_at > other.received_at &&
                       mark.settled_at == kUnknown && mark.maybe <= (said.may_settle ? 1 : 0) &&
                       crashed_at_ < other.sent_at && lane.sought_at < other.sent_at &&
                       other.open.contains(message.seq) && !other.released;
    if (!stale) continue;
    history_.Fail(
        message.partition,
        fmt::format("I3: the verdict on {} under {} was accepted, and {} has it", message.seq,
                    lease.ToString().substr(24), other.lease.ToString().substr(24)));
  }
  const bool settled = said.verdict == sidecar::Verdict::kCompleted ||
                       said.verdict == sidecar::Verdict::kDeadLetter || outcome.dead_lettered;
  if (!settled || mark.settled_at != kUnknown) return;
  if (lane.moving || said.sent_at <= lane.sought_at) {
    mark.excused = true;
  } else {
    mark.settled_at = Now();
  }
}

void Truth::OnVerdictsOver(const std::vector<Said>& said) {
  for (const Said& one : said) --unheard_verdicts_[{one.group, one.message.partition}];
}

bool Truth::IsChanging(const std::string& group, int partition) const {
  const auto pushes = unheard_pushes_.find(partition);
  if (pushes != unheard_pushes_.end() && pushes->second > 0) return true;
  const auto verdicts = unheard_verdicts_.find({group, partition});
  if (verdicts != unheard_verdicts_.end() && verdicts->second > 0) return true;
  const auto over_at = pops_over_at_.find(group);
  return over_at != pops_over_at_.end() && Now() - over_at->second < kGivenBackMicros;
}

void Truth::OnRenewed(const std::string& group, const Uuid& lease, int partition, int64_t sent_at,
                      int32_t seconds) {
  Holder* const holder = HolderOf(LaneOf(group, partition), lease);
  if (holder == nullptr || holder->released) return;
  holder->until = std::max(holder->until, sent_at + int64_t{seconds} * 1'000'000);
}

void Truth::OnGivenBack(const std::string& group, const Uuid& lease, int partition) {
  if (Holder* const holder = HolderOf(LaneOf(group, partition), lease)) holder->released = true;
}

// ---- transactions

void Truth::OnBundleRefused(const Bundle& bundle, const std::string& why) {
  for (const int message : bundle.messages) {
    At(message).never = true;
    history_.Note(At(message).partition, "the transaction of {} is refused: {}", message, why);
    if (At(message).seq == kUnknown) continue;
    history_.Fail(At(message).partition, fmt::format("I11: message {} stands at {}, and its "
                                                     "transaction was refused",
                                                     message, At(message).seq));
  }
  for (const Said& one : bundle.said) {
    if (one.may_settle) --LaneOf(one.group, one.message.partition).marks[one.message.seq].maybe;
  }
}

void Truth::OnBundleLost(Bundle bundle) {
  const auto number = static_cast<int>(bundles_.size());
  bool stored = false;
  for (const int message : bundle.messages) {
    history_.Note(At(message).partition, "the transaction of {} is lost", message);
    At(message).bundle = number;
    stored |= At(message).seq != kUnknown;
  }
  bundles_.push_back(std::move(bundle));
  if (stored) SettleBundle(number);
}

// A message of it was seen: so its verdicts have happened as well.
void Truth::SettleBundle(int bundle) {
  for (const Said& one : bundles_[static_cast<size_t>(bundle)].said) {
    Lane& lane = LaneOf(one.group, one.message.partition);
    Mark& mark = lane.marks[one.message.seq];
    const bool settles = one.verdict == sidecar::Verdict::kCompleted;
    if (settles && mark.settled_at == kUnknown && lane.sought_at == kUnknown && !lane.moving) {
      mark.settled_at = Now();
    }
  }
}

void Truth::OnCrash() {
  crashed_at_ = Now();
  history_.Note(History::kNowhere, "PostgreSQL crashes");
}

void Truth::OnMoveSent(const Moved& moved) {
  for (size_t partition = 0; partition < partitions_.size(); ++partition) {
    if (partitions_[partition].queue != moved.queue) continue;
    LaneOf(moved.group, static_cast<int>(partition)).moving = true;
    history_.Note(static_cast<int>(partition), "{} is moved to the {}", moved.group,
                  moved.to_end ? "end" : "begin");
  }
}

void Truth::OnMoved(const Moved& moved, MoveEnd end) {
  const bool done = end == MoveEnd::kDone;
  for (size_t partition = 0; partition < partitions_.size(); ++partition) {
    if (partitions_[partition].queue != moved.queue) continue;
    Lane& lane = LaneOf(moved.group, static_cast<int>(partition));
    lane.moving = false;
    if (end == MoveEnd::kNothing) continue;
    lane.sought_at = Now();
    lane.settled_below = 0;
    if (moved.to_end) lane.skipped_at = Now();
    history_.Note(static_cast<int>(partition), "{} {} moved", moved.group, done ? "is" : "may be");
    const auto& told = told_at_[partition];
    for (const auto& [seq, message] : logs_[partition]) {
      Mark& mark = lane.marks[seq];
      const auto told_at = told.find(seq);
      const bool before = told_at != told.end() && told_at->second < moved.sent_at;
      if (!done) {
        mark.excused = true;
      } else if (!moved.to_end) {
        // What was said of it meanwhile may count.
        mark.excused = mark.maybe > 0 || mark.settled_at >= moved.sent_at;
        mark.settled_at = kUnknown;
      } else if (before) {
        mark.settled_at = Now();
      } else {
        mark.excused = true;
      }
    }
  }
}

bool Truth::WasMovedSince(const std::string& group, int partition, int64_t since) const {
  const auto lane = lanes_.find({group, partition});
  if (lane == lanes_.end()) return false;
  return lane->second.moving || lane->second.sought_at >= since;
}

// ---- the end

// REQUIRES: every log was checked, so that all messages have their places
void Truth::CheckBundles() {
  for (const Bundle& bundle : bundles_) {
    size_t stored = 0;
    for (const int message : bundle.messages) stored += At(message).seq != kUnknown ? 1 : 0;
    if (stored == 0 || stored == bundle.messages.size()) continue;
    const int first = bundle.messages.front();
    history_.Fail(At(first).partition,
                  fmt::format("I11: of the transaction of message {} {} of {} messages are stored",
                              first, stored, bundle.messages.size()));
  }
}

void Truth::CheckLog(int partition, const std::map<int64_t, std::string>& log) {
  int64_t next = 0;
  for (const auto& [seq, payload] : log) {
    if (seq != next++) history_.Fail(partition, fmt::format("I1: the log has a gap at {}", seq));
    const int message = NumberOf(payload);
    if (message < 0 || static_cast<size_t>(message) >= messages_.size()) {
      history_.Fail(partition, fmt::format("the log has {} at {}", payload, seq));
    }
    Place(message, seq, "log");
  }
  for (const auto& [seq, message] : logs_[static_cast<size_t>(partition)]) {
    if (log.contains(seq)) continue;
    history_.Fail(partition, fmt::format("I5: message {} was told to be at {} and is not in the "
                                         "log",
                                         message, seq));
  }
}

void Truth::CheckAllSettled(const std::string& group, const std::set<std::string>& queues) {
  for (size_t partition = 0; partition < partitions_.size(); ++partition) {
    if (!queues.contains(partitions_[partition].queue)) continue;
    Lane& lane = LaneOf(group, static_cast<int>(partition));
    for (const auto& [seq, message] : logs_[partition]) {
      const Mark& mark = lane.marks[seq];
      if (mark.settled_at != kUnknown || mark.maybe > 0 || mark.excused) continue;
      if (MayBeSkipped(lane, message)) continue;
      if (unseen_[group]-- > 0) continue;
      history_.Fail(
          static_cast<int>(partition),
          fmt::format("lost: nobody of {} has settled message {} at {}", group, message, seq));
    }
  }
}

}  // namespace queen::simulator
