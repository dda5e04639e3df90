#include "sidecar/push.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "base/planted.h"
#include "sidecar/answers.h"
#include "storage/procedures.h"

namespace queen::sidecar {
namespace {

constexpr int64_t kTickMs = 5;
constexpr int64_t kPauseMaxMs = 100;

size_t BytesOf(const PushItem& item) {
  return item.payload.size() + item.txn.size() + item.meta.size() + 64;
}

}  // namespace

PushQueue::PushQueue(Loop& loop, Scheduler& scheduler, Lookups& names, Lookups& fills,
                     UntimedRoom& room, SegmentCache& cache, state::QueueCapacity& capacity,
                     const storage::PayloadCipher& cipher, engine::LaneCache& lanes,
                     engine::DatabaseClock& clock, HandOver& hand_over, const PushLimits& limits,
                     int64_t broker, Announce announce, Born born, PushDetour detour)
    : loop_(loop),
      scheduler_(scheduler),
      names_(names),
      untimed_(fills, room),
      cache_(cache),
      capacity_(capacity),
      cipher_(cipher),
      lanes_(lanes),
      clock_(clock),
      hand_over_(hand_over),
      limits_(limits),
      broker_(broker),
      announce_(std::move(announce)),
      born_(std::move(born)),
      detour_(std::move(detour)),
      tick_(loop, [this] { OnTick(); }) {}

// ---- from the callers

void PushQueue::Submit(PushRequest request) {
  loop_.AssertOwner();
  auto call = std::make_shared<PushCall>();
  call->request = std::move(request);
  const size_t count = call->request.items.size();
  call->outcomes.resize(count);
  call->decided.resize(count, false);
  const bool replay = call->request.replay;
  call->deadline_ms = replay ? INT64_MAX : loop_.NowMillis() + limits_.deadline_ms;

  size_t bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    const PushItem& item = call->request.items[i];
    if (!item.error.empty()) {
      call->outcomes[i].error = item.error;
      call->decided[i] = true;
    } else {
      ++call->open;
      bytes += BytesOf(item);
    }
  }
  if (call->open == 0) {
    call->request.done(call->request, std::move(call->outcomes));
    return;
  }
  const auto items = static_cast<int64_t>(call->open);
  if (!replay && (items > limits_.items_waiting_max || bytes > limits_.bytes_waiting_max)) {
    FailCall(*call, Status(Code::kPayloadTooLarge, "The push is larger than all that may wait"));
    return;
  }
  if (!replay && (items_waiting_ + items > limits_.items_waiting_max ||
                  bytes_waiting_ + bytes > limits_.bytes_waiting_max)) {
    FailCall(*call, Status(Code::kOverloaded, "Too many pushes are waiting"));
    return;
  }
  if (!scheduler_.AnyUp() && detour_.buffer == nullptr) {
    FailCall(*call, Status(Code::kDatabaseUnavailable));
    return;
  }
  if (replay) {
    RefuseWhatIsUnreadable(*call);
  } else if (capacity_.any()) {
    RefuseWhatIsTooMuch(*call);
  }
  if (call->open == 0) return AnswerCall(call->request, std::move(call->outcomes), {});

  // A call has few partitions, and its items for one usually stand together.
  std::vector<Partition*> touched;
  Partition* last = nullptr;
  for (size_t i = 0; i < count; ++i) {
    if (call->decided[i]) continue;
    const PushItem& item = call->request.items[i];
    if (last == nullptr || last->queue != item.queue || last->name != item.partition) {
      last = &PartitionOf(item.queue, item.partition);
    }
    if (last->groups.empty() || last->groups.back().call != call) {
      last->groups.push_back({call, {}, 0, false, replay});
      touched.push_back(last);
    }
    PushGroup& group = last->groups.back();
    group.items.push_back(static_cast<uint32_t>(i));
    group.bytes += BytesOf(item);
    ++items_waiting_;
    if (replay) ++replays_waiting_;
    bytes_waiting_ += BytesOf(item);
  }
  for (Partition* partition : touched) {
    if (replay) {
      MoveAhead(*partition);
    } else {
      DivertIfHeld(*partition);
    }
    if (!partition->groups.empty()) Enqueue(*partition);
  }
  Watch();
  scheduler_.Wake();
}

// Items for queues that are full are answered `failed`; the others are on their way from now on.
void PushQueue::RefuseWhatIsTooMuch(PushCall& call) {
  call.counted = true;
  for (size_t i = 0; i < call.decided.size(); ++i) {
    if (call.decided[i] || capacity_.Admit(call.request.items[i].queue)) continue;
    call.outcomes[i].error = InfoOf(Code::kQueueFull).text;
    call.decided[i] = true;
    --call.open;
  }
}

// Encrypted in the file buffer with a key that this broker no longer has.
void PushQueue::RefuseWhatIsUnreadable(PushCall& call) {
  for (size_t i = 0; i < call.decided.size(); ++i) {
    const PushItem& item = call.request.items[i];
    if (call.decided[i] || !storage::IsEncryptedMeta(item.meta)) continue;
    const auto payload = cipher_.DecryptBuffered(item.payload, item.queue, item.partition);
    if (payload.ok()) continue;
    call.outcomes[i].error = payload.status().message();
    call.decided[i] = true;
    --call.open;
  }
}

PushQueue::Partition& PushQueue::PartitionOf(std::string_view queue, std::string_view name) {
  key_.assign(queue);
  key_ += '\0';
  key_ += name;
  const auto known = partitions_.find(key_);
  if (known != partitions_.end()) return *known->second;
  auto made = std::make_unique<Partition>(untimed_.room());
  made->queue = queue;
  made->name = name;
  made->idle_since_ms = loop_.NowMillis();
  ListIdle(*made, idle_);
  return *partitions_.emplace(key_, std::move(made)).first->second;
}

// Puts a partition that has items where it belongs, unless it is on its way already.
void PushQueue::Enqueue(Partition& partition) {
  if (partition.state != State::kIdle) return;
  if (partition.idle_list != nullptr) {
    partition.idle_list->erase(partition.idle_place);
    partition.idle_list = nullptr;
  }
  if (MustStandAside(partition)) {
    StandAside(partition);
  } else if (partition.id) {
    partition.state = State::kReady;
    ready_.push_back(&partition);
  } else {
    partition.state = State::kUnresolved;
    unresolved_.push_back(&partition);
  }
}

void PushQueue::BecomeIdle(Partition& partition) {
  partition.state = State::kIdle;
  if (!partition.groups.empty()) {
    Enqueue(partition);
    return;
  }
  if (!aside_.empty()) aside_.erase(&partition);
  partition.idle_since_ms = loop_.NowMillis();
  ListIdle(partition, idle_);
  while (idle_.front()->idle_since_ms < partition.idle_since_ms - DedupMemory::kAgeMaxMs) {
    Partition& older = *idle_.front();
    idle_.pop_front();
    older.memory.ForgetIds();
    ListIdle(older, long_idle_);
  }
  while (idle_.size() + long_idle_.size() > limits_.idle_partitions_max) {
    std::list<Partition*>& list = long_idle_.empty() ? idle_ : long_idle_;
    Partition* const oldest = list.front();
    list.pop_front();
    ForgetIds(*oldest);
    key_ = oldest->queue;
    key_ += '\0';
    key_ += oldest->name;
    partitions_.erase(key_);
  }
}

void PushQueue::ForgetIds(Partition& partition) {
  partition.memory.Clear();
  untimed_.Forget(partition.untimed);
}

void PushQueue::ListIdle(Partition& partition, std::list<Partition*>& list) {
  partition.idle_list = &list;
  partition.idle_place = list.insert(list.end(), &partition);
}

void PushQueue::Forget() {
  for (auto& [key, partition] : partitions_) {
    ForgetIds(*partition);
    if (partition->state != State::kInFlight) partition->id.reset();
  }
  for (Partition* partition : ready_) {
    partition->state = State::kUnresolved;
    unresolved_.push_back(partition);
  }
  ready_.clear();
  Watch();
}

void PushQueue::Shutdown() {
  std::vector<PushGroup> left;
  for (auto& [key, partition] : partitions_) {
    std::move(partition->groups.begin(), partition->groups.end(), std::back_inserter(left));
    partition->groups.clear();
  }
  for (const auto& batch : doubtful_) {
    for (Batch::Part& part : batch->parts) {
      std::move(part.work.groups.begin(), part.work.groups.end(), std::back_inserter(left));
    }
  }
  doubtful_.clear();
  tick_.Stop();
  for (PushGroup& group : left) Fail(group, Status(Code::kShuttingDown));
}

// ---- to PostgreSQL

bool PushQueue::HasWork() const { return !unresolved_.empty() || !ready_.empty(); }

bool PushQueue::IsWorthAnother() const {
  Scheduler::Pile pile;
  const auto is_enough = [&pile](const Partition* partition) {
    return std::any_of(
        partition->groups.begin(), partition->groups.end(),
        [&pile](const PushGroup& group) { return pile.Add(group.items.size(), group.bytes); });
  };
  return std::any_of(ready_.begin(), ready_.end(), is_enough) ||
         std::any_of(unresolved_.begin(), unresolved_.end(), is_enough);
}

void PushQueue::SendOne() {
  // In turns: neither names to look up nor partitions that are known may starve the others.
  found_last_ = !unresolved_.empty() && (ready_.empty() || !found_last_);
  if (found_last_) {
    SendFind();
  } else {
    SendBatch();
  }
}

void PushQueue::TakeGroups(Partition& partition, Batch& batch) {
  Batch::Part part{&partition, {}};
  while (!partition.groups.empty()) {
    PushGroup& group = partition.groups.front();
    const bool first_of_all = batch.items == 0;
    if (!part.work.groups.empty() && MustStandAside(partition)) break;
    if (!first_of_all &&
        (group.alone ||
         batch.items + static_cast<int64_t>(group.items.size()) > limits_.items_per_batch ||
         batch.bytes + group.bytes > limits_.bytes_per_batch)) {
      break;
    }
    const bool alone = group.alone;
    batch.items += static_cast<int64_t>(group.items.size());
    batch.bytes += group.bytes;
    part.work.groups.push_back(std::move(group));
    partition.groups.pop_front();
    if (alone) break;
  }
  if (part.work.groups.empty()) return;
  partition.state = State::kInFlight;
  part.work.Lay(*partition.id, cipher_, partition.encrypted == true && cipher_.can_encrypt());
  batch.parts.push_back(std::move(part));
}

// The offsets that none of the segment's ids is stored at, for certain.
std::pair<int64_t, int64_t> PushQueue::KnownRange(const Partition& partition,
                                                  const PushSegment& segment) {
  constexpr std::pair<int64_t, int64_t> kNothing = {0, 0};
  const DedupMemory& timed = partition.memory;
  const UntimedMemory& untimed = partition.untimed.memory;
  const auto is_new = [&](std::string_view txn) {
    // An id of a message in this very partition may be meant: memory does not know those.
    const auto message = DecodeMessageId(*Uuid::Parse(txn));
    return timed.IsNew(txn) && (!message || message->partition != *partition.id);
  };
  if (!std::all_of(segment.timed_txns.begin(), segment.timed_txns.end(), is_new) ||
      !std::all_of(segment.untimed_hashes.begin(), segment.untimed_hashes.end(),
                   [&](uint64_t hash) { return untimed.IsNew(hash); })) {
    return kNothing;
  }
  if (segment.untimed_hashes.empty()) return {timed.from(), timed.to()};
  if (segment.timed_txns.empty()) return {untimed.from(), untimed.to()};
  const int64_t from = std::max(timed.from(), untimed.from());
  const int64_t to = std::min(timed.to(), untimed.to());
  return from < to ? std::pair(from, to) : kNothing;
}

void PushQueue::SendBatch() {
  auto batch = std::make_shared<Batch>();
  batch->n = ++next_batch_;
  while (!ready_.empty() &&
         static_cast<int64_t>(batch->parts.size()) < limits_.partitions_per_batch) {
    Partition* partition = ready_.front();
    if (partition->groups.empty() || MustStandAside(*partition)) {
      ready_.pop_front();
      BecomeIdle(*partition);
      continue;
    }
    const size_t parts = batch->parts.size();
    TakeGroups(*partition, *batch);
    if (batch->parts.size() == parts) break;  // the batch is full
    ready_.pop_front();
    if (batch->parts.back().work.groups.back().alone) break;
  }

  if (batch->parts.empty()) return;

  PushParams params(batch->parts.size());
  for (size_t p = 0; p < batch->parts.size(); ++p) {
    const Batch::Part& part = batch->parts[p];
    const PartitionId id = *part.partition->id;
    for (size_t s = 0; s < part.work.segments.size(); ++s) {
      const PushSegment& segment = part.work.segments[s];
      auto [known_from, known_to] = KnownRange(*part.partition, segment);
      if (QUEEN_PLANTED(kDuplicateTaken)) known_to = kSeqMax;
      params.Add(id, segment, known_from, known_to);
      batch->segments.emplace_back(p, s);
    }
  }
  const bool replays =
      std::any_of(batch->parts.begin(), batch->parts.end(),
                  [](const Batch::Part& part) { return HasReplays(part.work.groups); });
  if (!replays && !batch->parts.back().work.groups.back().alone) CarryLeases(*batch);
  pg::Batch statements = BeginBatch(replays);
  pg::Params values = std::move(params).Take(broker_, batch->n, 16);
  if (!batch->carried.empty()) storage::push_and_lease::AddLeases(batch->carried, values);
  statements.Add(
      batch->carried.empty() ? storage::kPushMessages : storage::push_and_lease::kStatement,
      std::move(values));
  scheduler_.Execute(*this, batch->items, std::move(statements),
                     [this, batch](const pg::BatchResult& result) { OnPushed(batch, result); });
}

// ---- from PostgreSQL

void PushQueue::OnPushed(const std::shared_ptr<Batch>& batch, const pg::BatchResult& result) {
  switch (result.outcome) {
    case pg::Outcome::kSuccess:
      OnStored(batch, result.rows.back());
      return;
    case pg::Outcome::kUnknown:
      log::WarnRarely("a push batch ended without an answer; asking whether it committed",
                      {{"batch", batch->n}, {"items", batch->items}});
      DoubtLeases(*batch);
      AskWhetherCommitted(batch);
      return;
    case pg::Outcome::kFailure:
      EndLeases(*batch);
      if (result.status.retryable()) {
        GoAgain(*batch);
      } else {
        OnRefused(*batch, result);
      }
      return;
  }
}

void PushQueue::OnAnswered(Batch& batch, const pg::Rows& rows, int rows_end) {
  std::vector<std::string_view> trouble(
      batch.parts.size());                             // busy, gone, stale or again, per part
  std::vector<bool> found(batch.parts.size(), false);  // duplicates, per part
  for (int row = 0; row < rows_end; ++row) {
    const auto [p, s] = batch.segments[static_cast<size_t>(rows.Int4(row, 0)) - 1];
    PushWork& work = batch.parts[p].work;
    PushSegment& segment = work.segments[s];
    const std::string_view status = rows.Text(row, 1);
    const PartitionId id = segment.segment->partition;
    if (status == "queued") {
      batch.parts[p].partition->encrypted = segment.encrypted;
      segment.segment->base_seq = rows.Int8(row, 2);
      segment.segment->created_micros = rows.TimestampTz(row, 3);
      // First: the ids are slices of the callers' requests, which a decided call may have given up.
      batch.parts[p].partition->memory.Append(segment.segment->base_seq, segment.segment->count,
                                              segment.timed_txns);
      untimed_.OnStored(batch.parts[p].partition->untimed, id, segment.segment->base_seq,
                        segment.segment->count, segment.untimed_hashes);
      DecideQueued(work, segment);
      cache_.Put(segment.segment);
    } else if (status == "duplicate") {
      const PushLine& line =
          work.lines[segment.first_line + static_cast<size_t>(rows.Int4(row, 4))];
      Decide(line, {PushOutcome::Status::kDuplicate,
                    {rows.TimestampTz(row, 3) / 1000, id, rows.Int8(row, 2)},
                    {}});
      trouble[p] = "again";
      found[p] = true;
    } else {
      trouble[p] = status == "busy"    ? "busy"
                   : status == "gone"  ? "gone"
                   : status == "stale" ? "stale"
                                       : "again";
    }
  }
  for (size_t p = 0; p < batch.parts.size(); ++p) {
    Partition& partition = *batch.parts[p].partition;
    if (trouble[p].empty()) {
      FinishPartition(partition, batch.parts[p].work);
      continue;
    }
    // What was stored first may be a batch that ended without an answer: nobody has heard of it.
    if (found[p] && !QUEEN_PLANTED(kNotAnnounced))
      announce_(partition.queue, partition.name, *partition.id, {});
    if (trouble[p] == "stale") SwitchEncryption(partition, batch.parts[p].work);
    Retake(partition, std::move(batch.parts[p].work.groups));
    if (trouble[p] == "gone") {
      partition.id.reset();
      ForgetIds(partition);
    }
    if (trouble[p] == "busy") {
      Pause(partition);
    } else {
      BecomeIdle(partition);
    }
  }
}

// All lines of a partition are stored: its twins are duplicates of them.
void PushQueue::FinishPartition(Partition& partition, PushWork& work) {
  for (const auto& [line, first] : work.twins) {
    Decide(line, {PushOutcome::Status::kDuplicate, work.IdOfLine(first), {}});
  }
  partition.pause_ms = 0;
  announce_(partition.queue, partition.name, *partition.id, SpansOf(work));
  BecomeIdle(partition);
}

// What was believed of the queue is not so. Nothing of the partition was stored.
void PushQueue::SwitchEncryption(Partition& partition, PushWork& work) {
  partition.encrypted = !(partition.encrypted == true && cipher_.can_encrypt());
  if (cipher_.can_encrypt()) return;
  for (PushGroup& group : work.groups) Fail(group, Status(Code::kNoEncryptionKey));
}

// Puts groups that are not settled back in front, in their order.
void PushQueue::Retake(Partition& partition, std::vector<PushGroup> groups) {
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    const bool open = std::any_of(group->items.begin(), group->items.end(),
                                  [&](uint32_t item) { return !group->call->decided[item]; });
    if (open) partition.groups.push_front(std::move(*group));
  }
}

void PushQueue::OnRefused(Batch& batch, const pg::BatchResult& result) {
  const bool one_group = batch.parts.size() == 1 && batch.parts[0].work.groups.size() == 1;
  if (one_group && !IsToBlame(batch.parts[0].work.groups[0], result)) return GoAgain(batch);
  if (one_group) {
    Partition& partition = *batch.parts[0].partition;
    Fail(batch.parts[0].work.groups[0], result.status);
    BecomeIdle(partition);
    return;
  }
  log::WarnRarely("PostgreSQL refused a push batch; sending its callers' parts one by one",
                  {{"sqlstate", result.sqlstate}, {"error", result.status.message()}});
  for (Batch::Part& part : batch.parts) {
    for (PushGroup& group : part.work.groups) group.alone = true;
    Retake(*part.partition, std::move(part.work.groups));
    BecomeIdle(*part.partition);
  }
}

void PushQueue::GoAgain(Batch& batch) {
  for (Batch::Part& part : batch.parts) {
    Retake(*part.partition, std::move(part.work.groups));
    Pause(*part.partition);
  }
}

// ---- outcomes

// REQUIRES: the segment is stored and has its place
void PushQueue::DecideQueued(const PushWork& work, const PushSegment& segment) {
  for (size_t i = 0; i < static_cast<size_t>(segment.segment->count); ++i) {
    const size_t line = segment.first_line + i;
    Decide(work.lines[line], {PushOutcome::Status::kQueued, work.IdOfLine(line), {}});
  }
}

void PushQueue::Decide(const PushLine& line, PushOutcome outcome) {
  PushCall& call = *line.call;
  if (call.decided[line.item]) return;
  const PushItem& item = call.request.items[line.item];
  const size_t bytes = BytesOf(item);
  if (call.counted) {
    capacity_.Settle(item.queue, outcome.status == PushOutcome::Status::kQueued ||
                                     outcome.status == PushOutcome::Status::kBuffered);
  }
  call.decided[line.item] = true;
  call.outcomes[line.item] = std::move(outcome);
  --items_waiting_;
  if (call.request.replay) --replays_waiting_;
  bytes_waiting_ -= bytes;
  if (--call.open == 0) AnswerCall(call.request, std::exchange(call.outcomes, {}), call.trouble);
}

void PushQueue::Fail(PushGroup& group, const Status& status) {
  if (status.retryable()) group.call->trouble = status;
  for (const uint32_t item : group.items) {
    Decide({group.call.get(), item}, {PushOutcome::Status::kFailed, {}, status.message()});
  }
}

// Answers the whole call with an error. Items of it that wait somewhere are skipped from now on.
void PushQueue::FailCall(PushCall& call, const Status& status) {
  call.open = 0;
  call.request.done(call.request, status);
}

// ---- waiting

void PushQueue::Pause(Partition& partition) {
  partition.state = State::kPaused;
  partition.pause_ms = std::clamp<int64_t>(partition.pause_ms * 2, 1, kPauseMaxMs);
  paused_.emplace_back(loop_.NowMillis() + partition.pause_ms, &partition);
  StartTick();
}

void PushQueue::StartTick() {
  if (!tick_.IsActive()) tick_.Start(kTickMs, kTickMs);
}

// Whoever has waited too long gets an answer; nothing of it is stored.
void PushQueue::ExpireGroups(Partition& partition) {
  const auto in_time = [now = loop_.NowMillis()](const PushGroup& group) {
    return group.call->deadline_ms > now;
  };
  std::deque<PushGroup>& groups = partition.groups;
  if (std::all_of(groups.begin(), groups.end(), in_time)) return;
  const auto first = std::stable_partition(groups.begin(), groups.end(), in_time);
  std::vector<PushGroup> late(std::make_move_iterator(first),
                              std::make_move_iterator(groups.end()));
  groups.erase(first, groups.end());
  const Status status = scheduler_.AnyUp()
                            ? Status(Code::kOverloaded, "The partition was busy for too long")
                            : Status(Code::kDatabaseUnavailable);
  for (PushGroup& group : late) Fail(group, status);
}

void PushQueue::OnTick() {
  const int64_t now = loop_.NowMillis();
  std::vector<Partition*> due;
  for (auto paused = paused_.begin(); paused != paused_.end();) {
    if (paused->first <= now) {
      due.push_back(paused->second);
      paused = paused_.erase(paused);
    } else {
      ++paused;
    }
  }
  for (Partition* partition : due) {
    ExpireGroups(*partition);
    BecomeIdle(*partition);
  }
  ReviewAside();
  ExpireDoubtful();
  if (Away()) {
    DivertDoubtful();
    DivertWaiting();
  }
  SendQuestions();
  const bool disconnected = items_waiting_ > 0 && (Away() || !scheduler_.AnyUp());
  if (paused_.empty() && doubtful_.empty() && aside_.empty() && !disconnected) tick_.Stop();
  scheduler_.Wake();
}

}  // namespace queen::sidecar
