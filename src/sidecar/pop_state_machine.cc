#include "sidecar/pop_state_machine.h"

#include <algorithm>

#include "base/log.h"
#include "storage/procedures.h"

namespace queen::sidecar {
namespace {

constexpr int64_t kDeadlineGraceMs = 200;  // for a pop that is on its way when its wait ends
constexpr size_t kStageCount = 5;

// One number for a (partition, group).
int64_t KeyOf(PartitionId partition, const PopGroup& group) {
  return int64_t{partition.value} << 32 | static_cast<uint32_t>(group.group_id);
}

std::string_view ModeName(StartMode mode) {
  switch (mode) {
    case StartMode::kAll:
      return "all";
    case StartMode::kNew:
      return "new";
    case StartMode::kTime:
      return "time";
  }
  return "all";
}

}  // namespace

// One lease call: row i of its arrays is candidate `candidate` of `pop`.
struct PopStateMachine::LeaseChunk {
  struct Row {
    PopPtr pop;
    PartitionId partition;
  };
  std::vector<PopPtr> pops;
  std::vector<Row> rows;
};

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
    if (group->ring.Add(id)) WakeWaiters(*group, partition, 1);
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
  } else if (group.ring.Add(id)) {
    WakeWaiters(group, partition, 1);
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
  if (const int64_t key = KeyOf(partition->second, group); leasing_.insert(key).second) {
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
  std::vector<PartitionId> in_flight;
  while (static_cast<int32_t>(pop->candidates.size()) < pop->request.partitions_max) {
    const auto partition = group.ring.Take();
    if (!partition) break;
    if (leasing_.insert(KeyOf(*partition, group)).second) {
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

// Lets up to `count` waiters try, those for this partition by name and those for any.
void PopStateMachine::WakeWaiters(PopGroup& group, std::string_view partition, size_t count) {
  if (count == 0 || group.waiters.empty()) return;
  group.empty_checks = 0;
  group.check_interval_ms = limits_.check_base_ms;
  std::vector<PopPtr> woken;
  for (auto waiter = group.waiters.begin();
       waiter != group.waiters.end() && woken.size() < count;) {
    if ((*waiter)->wildcard() || partition.empty() || *(*waiter)->request.partition == partition) {
      woken.push_back(std::move(*waiter));
      waiter = group.waiters.erase(waiter);
      --waiting_;
    } else {
      ++waiter;
    }
  }
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

void PopStateMachine::SendNaming() {
  std::vector<PopPtr> pops = TakeChunk(naming_);
  pg::TextArray queues(pops.size());
  pg::TextArray groups(pops.size());
  pg::TextArray modes(pops.size());
  pg::TimestampTzArray times(pops.size(), 8);
  pg::TextArray partitions(pops.size());
  for (const PopPtr& pop : pops) {
    queues.Add(pop->request.queue);
    groups.Add(pop->request.group);
    modes.Add(ModeName(pop->request.start_mode));
    if (pop->request.start_mode == StartMode::kTime) {
      times.Add(pop->request.start_micros);
    } else {
      times.AddNull();
    }
    if (pop->wildcard()) {
      partitions.AddNull();
    } else {
      partitions.Add(*pop->request.partition);
    }
  }
  pg::Params params(5);
  params.Add(std::move(queues)).Add(std::move(groups)).Add(std::move(modes));
  params.Add(std::move(times)).Add(std::move(partitions));
  const auto count = static_cast<int64_t>(pops.size());
  scheduler_.Execute(
      *this, count, pg::Batch(storage::kNamePops, std::move(params)),
      [this, pops = std::move(pops)](pg::BatchResult result) { OnNamed(pops, result); });
}

void PopStateMachine::OnNamed(const std::vector<PopPtr>& pops, const pg::BatchResult& result) {
  if (!result.ok()) {
    OnBatchFailed(pops, naming_, result);
    return;
  }
  std::vector<bool> found(pops.size(), false);
  const pg::Rows& rows = result.rows[0];
  for (int row = 0; row < rows.rows(); ++row) {
    const auto index = static_cast<size_t>(rows.Int4(row, 0)) - 1;
    Pop& pop = *pops[index];
    pop.group->queue_id = rows.Int4(row, 1);
    pop.group->group_id = rows.Int4(row, 2);
    if (pop.wildcard()) {
      found[index] = true;
    } else if (!rows.IsNull(row, 3)) {
      const PartitionId id{rows.Int4(row, 3)};
      pop.group->partitions[*pop.request.partition] = id;
      found[index] = true;
    }
  }
  for (size_t i = 0; i < pops.size(); ++i) {
    if (pops[i]->finished()) continue;
    if (found[i]) {
      Advance(pops[i]);
    } else {
      Wait(pops[i]);  // no such queue or partition yet
    }
  }
}

void PopStateMachine::SendResolve() {
  PopGroup& group = *resolve_.front();
  resolve_.pop_front();
  pg::Params params(4);
  params.Int4(group.queue_id).Int4(group.group_id).Int4(group.round_after);
  params.Int4(limits_.resolve_page);
  scheduler_.Execute(*this, 1, pg::Batch(storage::kResolve, std::move(params)),
                     [this, &group](pg::BatchResult result) { OnResolved(group, result); });
}

void PopStateMachine::OnResolved(PopGroup& group, const pg::BatchResult& result) {
  if (!result.ok()) {
    log::Debug(
        "resolving a queue failed",
        {{"queue", group.queue}, {"group", group.name}, {"error", result.status.ToString()}});
    group.round_queued = false;
    std::vector<PopPtr> pops = std::move(group.resolving);
    group.resolving.clear();
    for (const PopPtr& pop : pops) {
      if (pop->request.wait_ms > 0 && result.status.retryable()) {
        Wait(pop);
      } else {
        Fail(pop, result.status);
      }
    }
    return;
  }
  const int64_t now = loop_.NowMillis();
  const pg::Rows& rows = result.rows[0];
  bool live = false;
  bool more = false;
  for (int row = 0; row < rows.rows(); ++row) {
    if (rows.IsNull(row, 0)) {
      live = true;
      more = !rows.IsNull(row, 2);
      if (more) group.round_after = rows.Int4(row, 2);
      continue;
    }
    const PartitionId partition{rows.Int4(row, 0)};
    if (rows.Int8(row, 1) == 0) {
      group.ring.Add(partition);
    } else {
      group.ring.AddAt(partition, now + rows.Int8(row, 1));
    }
  }
  if (!live) {  // the queue was deleted: its successor has other ids
    ForgetNames(group);
    EndRound(group);
    return;
  }
  if (const auto due = group.ring.next_due_ms()) SetTimer(*due);
  if (more) {
    resolve_.push_back(&group);
    // Whoever can be served by this page need not wait for the last one.
    std::vector<PopPtr> pops = std::move(group.resolving);
    group.resolving.clear();
    for (const PopPtr& pop : pops) {
      if (group.ring.empty()) {
        group.resolving.push_back(pop);
      } else {
        Advance(pop);
      }
    }
  } else {
    EndRound(group);
  }
  WakeWaiters(group, {}, group.ring.size());
  scheduler_.Wake();
}

void PopStateMachine::EndRound(PopGroup& group) {
  group.rounds_done = group.rounds_begun;
  group.round_queued = false;
  std::vector<PopPtr> pops = std::move(group.resolving);
  group.resolving.clear();
  for (const PopPtr& pop : pops) {
    pop->confirmed = pop->resolve_round <= group.rounds_done;
    Advance(pop);
  }
}

void PopStateMachine::SendLease() {
  auto chunk = std::make_shared<LeaseChunk>();
  for (PopPtr& pop : TakeChunk(lease_)) {
    if (!pop->cancelled) {
      chunk->pops.push_back(std::move(pop));
      continue;
    }
    for (const PartitionId partition : pop->candidates) DropClaim(*pop, partition);
    Finish(pop, PopState::kEmpty, PopResult{});
  }
  const size_t count = chunk->pops.size();
  if (count == 0) return;
  pg::Int4Array requests(count, 4);
  pg::Int4Array partitions(count, 4);
  pg::Int4Array groups(count, 4);
  pg::UuidArray leases(count, 16);
  pg::Int4Array batches(count, 4);
  pg::Int4Array seconds(count, 4);
  pg::BoolArray auto_acks(count, 1);
  for (size_t i = 0; i < count; ++i) {
    const Pop& pop = *chunk->pops[i];
    for (const PartitionId partition : pop.candidates) {
      chunk->rows.push_back({chunk->pops[i], partition});
      requests.Add(static_cast<int32_t>(i));
      partitions.Add(partition.value);
      groups.Add(pop.group->group_id);
      leases.Add(pop.lease_id);
      batches.Add(pop.request.batch);
      seconds.Add(pop.request.lease_seconds);
      auto_acks.Add(pop.request.auto_ack);
    }
  }
  pg::Params params(8);
  params.Add(std::move(requests)).Add(std::move(partitions)).Add(std::move(groups));
  params.Add(std::move(leases)).Add(std::move(batches)).Add(std::move(seconds));
  params.Add(std::move(auto_acks)).Int8(limits_.bytes_max);
  scheduler_.Execute(*this, static_cast<int64_t>(chunk->pops.size()),
                     pg::Batch(storage::kLease, std::move(params)),
                     [this, chunk](pg::BatchResult result) { OnLeased(chunk, result); });
}

void PopStateMachine::OnLeased(const std::shared_ptr<LeaseChunk>& chunk,
                               const pg::BatchResult& result) {
  if (!result.ok()) {
    OnBatchFailed(chunk->pops, lease_, result);
    for (const LeaseChunk::Row& row : chunk->rows) {
      if (row.pop->finished()) DropClaim(*row.pop, row.partition);
    }
    scheduler_.Wake();
    return;
  }
  for (const LeaseChunk::Row& row : chunk->rows) {
    leasing_.erase(KeyOf(row.partition, *row.pop->group));
  }
  const pg::Rows& rows = result.rows[0];
  for (int row = 0; row < rows.rows(); ++row) OnLeaseRow(*chunk, rows, row);
  for (const PopPtr& pop : chunk->pops) {
    if (pop->deliveries.empty()) {
      if (!pop->wildcard()) pop->confirmed = true;
      Advance(pop);
    } else {
      BeginFetch(pop);
    }
  }
  for (const LeaseChunk::Row& row : chunk->rows) {
    Unblock(KeyOf(row.partition, *row.pop->group));
  }
  scheduler_.Wake();
}

// `pop` will not lease `partition` after all: the next one may.
void PopStateMachine::DropClaim(const Pop& pop, PartitionId partition) {
  const int64_t key = KeyOf(partition, *pop.group);
  leasing_.erase(key);
  if (pop.wildcard()) pop.group->ring.Add(partition);
  Unblock(key);
}

void PopStateMachine::OnLeaseRow(LeaseChunk& chunk, const pg::Rows& rows, int row) {
  const auto& [pop, partition] = chunk.rows[static_cast<size_t>(rows.Int4(row, 0)) - 1];
  PopGroup& group = *pop->group;
  const std::string_view state = rows.Text(row, 1);
  const int64_t now = loop_.NowMillis();
  const auto hold = [&](int64_t ms) {
    group.ring.Hold(partition, now + ms);
    SetTimer(now + ms);
  };
  if (state == "gone") {
    ForgetNames(group);
    return;
  }
  if (state == "again" || state == "full") group.ring.Add(partition);
  if (state == "held" || state == "retry" || state == "delayed" || state == "window") {
    hold(rows.Int8(row, 2));
  }
  if (state != "leased") return;
  if (pop->request.auto_ack) {
    group.ring.Add(partition);  // there may be more, and nobody holds it
  } else {
    hold(rows.Int8(row, 11));
  }
  Delivery delivery;
  delivery.partition = partition;
  delivery.group_id = group.group_id;
  delivery.queue_name = group.queue;
  delivery.cursor = rows.Int8(row, 3);
  delivery.end = rows.Int8(row, 4);
  if (!rows.IsNull(row, 5)) delivery.settled = rows.Text(row, 5);
  if (!rows.IsNull(row, 12)) delivery.partition_name = rows.Text(row, 12);
  if (!rows.IsNull(row, 6)) {
    const std::vector<int64_t> seqs = rows.Int8Array(row, 6);
    const std::vector<int32_t> counts = rows.Int4Array(row, 7);
    for (size_t i = 0; i < seqs.size(); ++i) delivery.failures.emplace_back(seqs[i], counts[i]);
  }
  std::vector<SegmentKey> keys;
  const std::vector<int64_t> bases = rows.Int8Array(row, 8);
  const std::vector<int32_t> counts = rows.Int4Array(row, 9);
  pg::ArrayReader times = rows.Array(row, 10);
  for (size_t i = 0; i < bases.size() && times.Next(); ++i) {
    if (bases[i] >= delivery.end) continue;
    keys.push_back({partition, bases[i], counts[i], times.TimestampTz()});
  }
  pop->deliveries.push_back(std::move(delivery));
  pop->segment_keys.push_back(std::move(keys));
}

// The lease in flight for `key` is back: whoever waited for it goes on.
void PopStateMachine::Unblock(int64_t key) {
  const auto waiting = blocked_.find(key);
  if (waiting == blocked_.end()) return;
  std::deque<PopPtr> pops = std::move(waiting->second);
  blocked_.erase(waiting);
  for (const PopPtr& pop : pops) {
    if (!pop->finished()) Advance(pop);
  }
}

void PopStateMachine::BeginFetch(const PopPtr& pop) {
  pop->state = PopState::kFetching;
  bool missing = false;
  for (size_t d = 0; d < pop->deliveries.size(); ++d) {
    pop->deliveries[d].segments.clear();
    for (const SegmentKey& key : pop->segment_keys[d]) {
      auto segment = cache_.Find(key.partition, key.base_seq, key.count, key.created_micros);
      missing = missing || segment == nullptr;
      pop->deliveries[d].segments.push_back(std::move(segment));
    }
  }
  if (missing) {
    fetch_.push_back(pop);
    scheduler_.Wake();
  } else {
    Complete(pop);
  }
}

void PopStateMachine::SendFetch() {
  std::vector<PopPtr> pops = TakeChunk(fetch_);
  std::vector<SegmentKey> keys;
  for (const PopPtr& pop : pops) {
    for (size_t d = 0; d < pop->deliveries.size(); ++d) {
      for (size_t s = 0; s < pop->segment_keys[d].size(); ++s) {
        if (!pop->deliveries[d].segments[s]) keys.push_back(pop->segment_keys[d][s]);
      }
    }
  }
  pg::Int4Array partitions(keys.size(), 4);
  pg::Int8Array bases(keys.size(), 8);
  for (const SegmentKey& key : keys) {
    partitions.Add(key.partition.value);
    bases.Add(key.base_seq);
  }
  pg::Params params(2);
  params.Add(std::move(partitions)).Add(std::move(bases));
  const auto count = static_cast<int64_t>(pops.size());
  scheduler_.Execute(*this, count, pg::Batch(storage::kFetch, std::move(params)),
                     [this, pops = std::move(pops), keys = std::move(keys)](
                         pg::BatchResult result) { OnFetched(pops, keys, result); });
}

void PopStateMachine::OnFetched(const std::vector<PopPtr>& pops,
                                const std::vector<SegmentKey>& keys,
                                const pg::BatchResult& result) {
  if (!result.ok()) {
    OnBatchFailed(pops, fetch_, result);
    return;
  }
  std::vector<storage::SegmentPtr> fetched(keys.size());
  const pg::Rows& rows = result.rows[0];
  for (int row = 0; row < rows.rows(); ++row) {
    const auto index = static_cast<size_t>(rows.Int4(row, 0)) - 1;
    auto segment = std::make_shared<storage::Segment>();
    segment->partition = keys[index].partition;
    segment->base_seq = keys[index].base_seq;
    segment->count = rows.Int4(row, 1);
    segment->created_micros = rows.TimestampTz(row, 2);
    segment->payloads = rows.Text(row, 3);
    if (!rows.IsNull(row, 4)) segment->txns = rows.Text(row, 4);
    if (!rows.IsNull(row, 5)) segment->meta = rows.Text(row, 5);
    fetched[index] = segment;
    cache_.Put(std::move(segment));
  }
  size_t next = 0;
  for (const PopPtr& pop : pops) {
    for (Delivery& delivery : pop->deliveries) {
      for (storage::SegmentPtr& segment : delivery.segments) {
        if (!segment) segment = fetched[next++];
      }
      // What retention took between lease and fetch is not delivered.
      std::erase(delivery.segments, nullptr);
    }
    if (std::all_of(pop->deliveries.begin(), pop->deliveries.end(),
                    [](const Delivery& delivery) { return delivery.segments.empty(); })) {
      pop->cancelled = true;  // nothing is left of it: given back
    }
    Complete(pop);
  }
}

void PopStateMachine::Complete(const PopPtr& pop) {
  if (pop->finished()) return;
  if (pop->cancelled) {
    GiveBack(*pop);
    Finish(pop, PopState::kEmpty, PopResult{});
    return;
  }
  PopResult result;
  result.lease_id = pop->lease_id;
  result.leased = !pop->request.auto_ack;
  result.deliveries = std::move(pop->deliveries);
  Finish(pop, PopState::kCompleted, std::move(result));
}

void PopStateMachine::GiveBack(const Pop& pop) {
  if (pop.request.auto_ack) return;
  for (const Delivery& delivery : pop.deliveries) {
    release_.push_back({pop.group, delivery.partition, pop.lease_id});
  }
  scheduler_.Wake();
}

void PopStateMachine::SendRelease() {
  std::vector<Given> given(release_.begin(), release_.end());
  release_.clear();
  pg::Int4Array partitions(given.size(), 4);
  pg::Int4Array groups(given.size(), 4);
  pg::UuidArray leases(given.size(), 16);
  std::unordered_set<int64_t> taken;
  for (const Given& lease : given) {
    if (!taken.insert(KeyOf(lease.partition, *lease.group)).second) {
      release_.push_back(lease);  // one change of a (partition, group) per call
      continue;
    }
    partitions.Add(lease.partition.value);
    groups.Add(lease.group->group_id);
    leases.Add(lease.lease_id);
  }
  pg::Params params(3);
  params.Add(std::move(partitions)).Add(std::move(groups)).Add(std::move(leases));
  scheduler_.Execute(*this, static_cast<int64_t>(given.size()),
                     pg::Batch(storage::kRelease, std::move(params)),
                     [this, given = std::move(given)](pg::BatchResult result) {
                       if (!result.ok()) return;  // then the lease runs out by itself
                       for (const Given& lease : given) {
                         lease.group->ring.Free(lease.partition);
                         lease.group->ring.Add(lease.partition);
                         WakeWaiters(*lease.group, {}, 1);
                       }
                     });
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
    if (const size_t moved = group->ring.MoveDue(now); moved > 0 && !group->waiters.empty()) {
      WakeWaiters(*group, {}, moved);
    }
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
