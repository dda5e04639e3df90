#include "sidecar/transaction.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/log.h"
#include "storage/procedures.h"

namespace queen::sidecar {
namespace {

constexpr int64_t kTickMs = 5;
constexpr int64_t kPauseMaxMs = 100;

// The text in "index=<n> transactionId=<text to the end>".
std::string_view TransactionIdIn(std::string_view detail) {
  constexpr std::string_view kField = "transactionId=";
  const size_t at = detail.find(kField);
  return at == detail.npos ? std::string_view() : detail.substr(at + kField.size());
}

// Whether all of it was done before.
bool IsReplay(const pg::Rows& rows) {
  for (int row = 0; row < rows.rows(); ++row) {
    if (rows.Text(row, 0) == "ack" && rows.Text(row, 2) == "settled") return true;
  }
  return false;
}

}  // namespace

TransactionQueue::TransactionQueue(Loop& loop, Scheduler& scheduler, Lookups& names,
                                   const state::DeliveredIndex& delivered,
                                   state::QueueCapacity& capacity,
                                   const storage::PayloadCipher& cipher,
                                   const TransactionLimits& limits, int64_t broker, Pushed pushed,
                                   Freed freed, Born born)
    : loop_(loop),
      scheduler_(scheduler),
      names_(names),
      delivered_(delivered),
      capacity_(capacity),
      cipher_(cipher),
      limits_(limits),
      broker_(broker),
      pushed_(std::move(pushed)),
      freed_(std::move(freed)),
      born_(std::move(born)),
      tick_(loop, [this] { OnTick(); }) {}

// ---- from the callers

void TransactionQueue::Submit(TransactionRequest request) {
  loop_.AssertOwner();
  auto call = std::make_shared<Call>();
  call->request = std::move(request);
  call->pushes = std::make_shared<PushCall>();
  call->pushes->request.items = std::move(call->request.pushes);
  const std::vector<PushItem>& pushes = call->pushes->request.items;
  call->pushes->decided.resize(pushes.size(), false);
  call->deadline_ms = loop_.NowMillis() + limits_.deadline_ms;
  call->items = static_cast<int64_t>(pushes.size() + call->request.acks.size());
  call->bytes = call->request.body.size();
  items_waiting_ += call->items;
  bytes_waiting_ += call->bytes;
  if (items_waiting_ > limits_.items_waiting_max || bytes_waiting_ > limits_.bytes_waiting_max) {
    const bool never =
        call->items > limits_.items_waiting_max || call->bytes > limits_.bytes_waiting_max;
    Answer(*call, never ? Status(Code::kPayloadTooLarge, "The transaction is too large")
                        : Status(Code::kOverloaded, "Too many transactions are waiting"));
    return;
  }
  if (!scheduler_.AnyUp()) {
    Answer(*call, Status(Code::kDatabaseUnavailable));
    return;
  }
  if (!Prepare(*call)) return;
  if (capacity_.any() && !Admit(*call)) return Refuse(*call, Code::kQueueFull, {});
  Ready(call);
}

// All pushes, or none.
bool TransactionQueue::Admit(Call& call) {
  const std::vector<PushItem>& pushes = call.pushes->request.items;
  const auto refused = std::find_if(pushes.begin(), pushes.end(), [this](const PushItem& item) {
    return !capacity_.Admit(item.queue);
  });
  call.counted = refused == pushes.end();
  if (call.counted) return true;
  std::for_each(pushes.begin(), refused,
                [this](const PushItem& item) { capacity_.Settle(item.queue, false); });
  return false;
}

// Everything that needs no database. False: it is answered already.
bool TransactionQueue::Prepare(Call& call) {
  const std::vector<PushItem>& pushes = call.pushes->request.items;
  std::map<std::pair<std::string_view, std::string_view>, size_t> places;
  std::set<std::pair<size_t, std::string_view>> txns;
  for (uint32_t i = 0; i < pushes.size(); ++i) {
    const PushItem& item = pushes[i];
    const auto [place, is_new] =
        places.emplace(std::pair(item.queue, item.partition), call.parts.size());
    if (is_new) call.parts.push_back({item.queue, item.partition, {}, {}, false, {}});
    call.parts[place->second].items.push_back(i);
    if (!item.txn.empty() && !txns.emplace(place->second, item.txn).second) {
      Refuse(call, Code::kDuplicateTransactionId, item.txn);
      return false;
    }
  }
  if (call.parts.size() > limits_.partitions_max) {
    Answer(call, Status(Code::kPayloadTooLarge, "The transaction pushes to too many partitions"));
    return false;
  }

  const std::vector<TransactionAck>& acks = call.request.acks;
  call.targets.resize(acks.size());
  for (uint32_t i = 0; i < acks.size(); ++i) {
    const AckItem& item = acks[i].item;
    if (!item.partition) {
      Refuse(call, Code::kMessageNotFound, item.txn);
      return false;
    }
    std::optional<state::AckTarget> found;
    if (!acks[i].group_of_lease) found = delivered_.Find(*item.partition, item.group, item.txn);
    if (found) {
      call.targets[i] = {*std::move(found), item.group};
    } else {
      call.unknown_acks.push_back(i);
    }
  }
  return true;
}

// ---- to PostgreSQL

void TransactionQueue::SendOne() {
  const CallPtr call = std::move(ready_.front());
  ready_.pop_front();
  switch (call->stage) {
    case Call::Stage::kPreparing:
      SendPrepare(call);
      return;
    case Call::Stage::kExecuting:
      SendExecute(call);
      return;
    case Call::Stage::kDoubtful:
      SendResolve(call);
      return;
  }
}

// It only reads: any end may be tried again.
void TransactionQueue::SendPrepare(const CallPtr& call) {
  scheduler_.Execute(*this, 0, PrepareBatch(*call),
                     [this, call](const pg::BatchResult& result) { OnPrepared(call, result); });
}

void TransactionQueue::OnPrepared(const CallPtr& call, const pg::BatchResult& result) {
  if (!result.ok()) return OnPrepareFailed(call, result.status);
  for (int row = 0; row < result.rows[0].rows(); ++row) TakePart(*call, result.rows[0], row);
  const pg::Rows& found = result.rows[1];
  for (int row = 0; row < found.rows(); ++row) {
    const uint32_t ack = call->unknown_acks[static_cast<size_t>(found.Int4(row, 0)) - 1];
    Call::Target& target = call->targets[ack];
    target.found.queue_name = found.Text(row, 1);
    target.found.partition_name = found.Text(row, 2);
    if (!found.IsNull(row, 3)) {
      target.found.group_id = found.Int4(row, 3);
      target.group = found.Text(row, 4);
    }
    if (!found.IsNull(row, 5)) target.found.seq = found.Int8(row, 5);
  }
  if (call->request.cycle) {
    const AckItem& ack = call->request.acks[0].item;
    const state::AckTarget& target = call->targets[0].found;
    if (target.queue_name.empty()) {
      const Status status(Code::kNotFound, "No such partition");
      return Answer(*call, TransactionResult{status, {}, {}, {}, {}});
    }
    if (!ack.txn.empty() && !target.seq) return Refuse(*call, Code::kMessageNotFound, ack.txn);
  }
  const bool all_there = std::all_of(call->parts.begin(), call->parts.end(),
                                     [](const Call::Part& part) { return part.id.has_value(); });
  if (all_there) {
    BeginExecuting(call);
  } else {
    MakeParts(call);
  }
}

void TransactionQueue::OnPrepareFailed(const CallPtr& call, const Status& status) {
  if (status.retryable()) {
    Pause(call);
  } else {
    Answer(*call, TransactionResult{status, {}, {}, {}, {}});
  }
}

void TransactionQueue::TakePart(Call& call, const pg::Rows& rows, int row) {
  Call::Part& part = call.parts[static_cast<size_t>(rows.Int4(row, 0)) - 1];
  part.id = PartitionId{rows.Int4(row, 2)};
  part.encrypted = rows.Bool(row, 3);
}

// Making partitions twice does no harm: any end may be tried again.
void TransactionQueue::MakeParts(const CallPtr& call) {
  names_.Ask(storage::kEnsurePartitions, NamesOfParts(*call),
             [this, call](const pg::BatchResult& result) { OnPartsMade(call, result); });
}

void TransactionQueue::OnPartsMade(const CallPtr& call, const pg::BatchResult& result) {
  if (!result.ok()) return OnPrepareFailed(call, result.status);
  const pg::Rows& rows = result.rows[0];
  for (int row = 0; row < rows.rows(); ++row) {
    TakePart(*call, rows, row);
    if (rows.Bool(row, 4)) born_(call->parts[static_cast<size_t>(rows.Int4(row, 0)) - 1].queue);
  }
  if (static_cast<size_t>(rows.rows()) < call->parts.size()) {  // a queue was deleted meanwhile
    Pause(call);
    return;
  }
  BeginExecuting(call);
}

// REQUIRES: every part has its id
void TransactionQueue::BeginExecuting(const CallPtr& call) {
  const bool encrypted = std::any_of(call->parts.begin(), call->parts.end(),
                                     [](const Call::Part& part) { return part.encrypted; });
  if (encrypted && !cipher_.can_encrypt()) return Refuse(*call, Code::kNoEncryptionKey, {});
  call->stage = Call::Stage::kExecuting;
  Ready(call);
}

void TransactionQueue::SendExecute(const CallPtr& call) {
  call->n = ++next_n_;
  ++call->attempts;
  scheduler_.Execute(*this, call->items, ExecuteBatch(*call, broker_, cipher_),
                     [this, call](const pg::BatchResult& result) { OnExecuted(call, result); });
}

// ---- from PostgreSQL

void TransactionQueue::OnExecuted(const CallPtr& call, const pg::BatchResult& result) {
  switch (result.outcome) {
    case pg::Outcome::kSuccess:
      if (call->request.cycle) {
        OnCycleApplied(*call, result.rows[0]);
      } else if (!IsReplay(result.rows[0]) || !LookUpAgain(call)) {
        OnApplied(*call, result.rows[0]);
      }
      return;
    case pg::Outcome::kUnknown:
      log::WarnRarely("a transaction ended without an answer; asking whether it committed",
                      {{"n", call->n}, {"items", call->items}});
      call->stage = Call::Stage::kDoubtful;
      Pause(call);
      return;
    case pg::Outcome::kFailure:
      OnFailed(call, result);
      return;
  }
}

void TransactionQueue::OnApplied(Call& call, const pg::Rows& rows) {
  TransactionResult result;
  result.pushed.resize(call.pushes->request.items.size());
  result.dead_lettered.resize(call.request.acks.size(), false);
  std::vector<bool> released(call.request.acks.size(), false);
  for (int row = 0; row < rows.rows(); ++row) {
    const auto ordinal = static_cast<size_t>(rows.Int4(row, 1)) - 1;
    if (rows.Text(row, 0) == "ack") {
      result.dead_lettered[ordinal] = !rows.IsNull(row, 6) && rows.Bool(row, 6);
      released[ordinal] = !rows.IsNull(row, 7) && rows.Bool(row, 7);
      continue;
    }
    const auto [p, s] = call.segments[ordinal];
    const PushWork& work = call.parts[p].work;
    const PushSegment& segment = work.segments[s];
    const PartitionId id = *call.parts[p].id;
    const int64_t seq = rows.Int8(row, 3);
    const int64_t created = rows.TimestampTz(row, 4);
    if (rows.Text(row, 2) == "duplicate") {  // a replay: a row per line
      const auto line = segment.first_line + static_cast<size_t>(rows.Int4(row, 5));
      result.pushed[work.lines[line].item] = {created / 1000, id, seq};
      continue;
    }
    TakeSegment(call, ordinal, seq, created, result);
  }
  Announce(call, released);
  Answer(call, std::move(result));
}

void TransactionQueue::OnCycleApplied(Call& call, const pg::Rows& rows) {
  TransactionResult result;
  result.pushed.resize(call.pushes->request.items.size());
  result.dead_lettered.resize(1, false);
  result.cycle.queue_name = call.targets[0].found.queue_name;
  for (int row = 0; row < rows.rows(); ++row) {
    if (rows.Text(row, 0) == "ack") {
      result.cycle.settled = rows.Int4(row, 4);
      result.cycle.released = rows.Bool(row, 5);
      result.dead_lettered[0] = rows.Bool(row, 6);
    } else {
      TakeSegment(call, static_cast<size_t>(rows.Int4(row, 1)) - 1, rows.Int8(row, 2),
                  rows.TimestampTz(row, 3), result);
    }
  }
  Announce(call, {result.cycle.released});
  Answer(call, std::move(result));
}

// It is certain that nothing of it committed.
void TransactionQueue::OnFailed(const CallPtr& call, const pg::BatchResult& result) {
  const Code code = result.status.code();
  const bool gone = code == Code::kNotFound;  // a partition; it is made again
  const bool busy = code == Code::kDatabaseRetry;
  if (gone || result.status.retryable()) {
    if (!busy) Forget(*call);
    if (call->attempts < limits_.attempts_max) {
      Pause(call);
    } else if (gone || busy) {
      Answer(*call, Status(Code::kOverloaded, "The partitions were busy for too long"));
    } else {
      Answer(*call, result.status);
    }
    return;
  }
  const bool settled = code == Code::kMessageSettled || code == Code::kInvalidLease;
  if (settled && LookUpAgain(call)) return;
  TransactionResult refused;
  refused.refusal = result.status;
  refused.reason = TransactionIdIn(result.detail);
  Answer(*call, std::move(refused));
}

// A transactionId is free again once its message is gone from the log: what was delivered under it
// here may not be what is meant. False: no ack was found by what was delivered.
bool TransactionQueue::LookUpAgain(const CallPtr& call) {
  if (call->unknown_acks.size() == call->request.acks.size()) return false;
  Forget(*call);
  Ready(call);
  return true;
}

void TransactionQueue::SendResolve(const CallPtr& call) {
  scheduler_.Execute(*this, 0, ResolveBatch(*call, broker_),
                     [this, call](const pg::BatchResult& result) { OnResolved(call, result); });
}

void TransactionQueue::OnResolved(const CallPtr& call, const pg::BatchResult& result) {
  if (!result.ok()) {  // still doubtful
    Pause(call);
    return;
  }
  TransactionResult applied;
  if (!result.rows[0].Bool(0, 0) || !TakePlaces(*call, result.rows[0], applied)) {
    // It did not commit; or it did and stored nothing, being a replay that is recognised again.
    Forget(*call);
    Pause(call);
    return;
  }
  applied.dead_lettered.resize(call->request.acks.size(), false);
  const pg::Rows& dead = result.rows[1];
  for (int row = 0; row < dead.rows(); ++row) {
    applied.dead_lettered[static_cast<size_t>(dead.Int4(row, 0)) - 1] = true;
  }
  if (call->request.cycle) {  // how many it settled is not known any more
    applied.cycle.queue_name = call->targets[0].found.queue_name;
    applied.cycle.released = call->request.cycle->release;
  }
  // Which leases it ended is not known any more; the hint is harmless where one did not.
  Announce(*call, std::vector<bool>(call->request.acks.size(), true));
  Answer(*call, std::move(applied));
}

void TransactionQueue::Announce(const Call& call, const std::vector<bool>& released) {
  for (const Call::Part& part : call.parts) pushed_(part.queue, part.name, *part.id);
  std::set<std::pair<int32_t, std::string_view>> told;
  for (size_t i = 0; i < released.size(); ++i) {
    if (!released[i]) continue;
    const PartitionId partition = *call.request.acks[i].item.partition;
    const Call::Target& target = call.targets[i];
    if (!told.emplace(partition.value, target.group).second) continue;
    freed_(target.found.queue_name, target.found.partition_name, partition, target.group);
  }
}

// ---- waiting and answering

// The database may have gone back in time (a failover): what was found in it is found again.
void TransactionQueue::Forget(Call& call) {
  call.stage = Call::Stage::kPreparing;
  for (Call::Part& part : call.parts) part.id.reset();
  call.targets.assign(call.request.acks.size(), {});
  call.unknown_acks.resize(call.request.acks.size());
  std::iota(call.unknown_acks.begin(), call.unknown_acks.end(), 0U);
}

void TransactionQueue::Ready(const CallPtr& call) {
  ready_.push_back(call);
  if (!tick_.IsActive()) tick_.Start(kTickMs, kTickMs);
  scheduler_.Wake();
}

void TransactionQueue::Pause(const CallPtr& call) {
  call->pause_ms = std::clamp<int64_t>(call->pause_ms * 2, 1, kPauseMaxMs);
  paused_.emplace_back(loop_.NowMillis() + call->pause_ms, call);
  if (!tick_.IsActive()) tick_.Start(kTickMs, kTickMs);
}

void TransactionQueue::OnTick() {
  const int64_t now = loop_.NowMillis();
  std::vector<CallPtr> late;
  std::erase_if(ready_, [&](const CallPtr& call) {
    if (call->deadline_ms > now) return false;
    late.push_back(call);
    return true;
  });
  std::erase_if(paused_, [&](const std::pair<int64_t, CallPtr>& paused) {
    if (paused.first > now) return false;
    if (paused.second->deadline_ms <= now) {
      late.push_back(paused.second);
    } else {
      ready_.push_back(paused.second);
    }
    return true;
  });
  if (ready_.empty() && paused_.empty()) tick_.Stop();
  scheduler_.Wake();
  for (const CallPtr& call : late) Answer(*call, LateStatus(*call));
}

Status TransactionQueue::LateStatus(const Call& call) const {
  if (call.stage == Call::Stage::kDoubtful) return Status(Code::kOutcomeUnknown);
  if (!scheduler_.AnyUp()) return Status(Code::kDatabaseUnavailable);
  return Status(Code::kOverloaded, "The transaction waited for too long");
}

void TransactionQueue::Refuse(Call& call, Code code, std::string_view reason) {
  TransactionResult refused;
  refused.refusal = Status(code);
  refused.reason = reason;
  Answer(call, std::move(refused));
}

void TransactionQueue::Answer(Call& call, Result<TransactionResult> result) {
  items_waiting_ -= call.items;
  bytes_waiting_ -= call.bytes;
  call.request.pushes = std::move(call.pushes->request.items);
  if (call.counted) {
    const bool stored = result.ok() && result->refusal.ok();
    for (const PushItem& item : call.request.pushes) capacity_.Settle(item.queue, stored);
  }
  call.request.done(call.request, std::move(result));
}

}  // namespace queen::sidecar
