// The later round trips of a pop: the lease on its candidates, the segments that are not in the
// cache, and giving back what nobody waits for any more.
#include <algorithm>

#include "sidecar/pop_state_machine.h"
#include "storage/procedures.h"

namespace queen::sidecar {
namespace {

// A lease that could not be given back by then has mostly run out by itself.
constexpr int64_t kReleaseTriesForMs = 600'000;

// What they take until the reply is made of them, and the reply itself.
size_t BytesOf(const std::vector<Delivery>& deliveries) {
  size_t bytes = 0;
  for (const Delivery& delivery : deliveries) {
    bytes += static_cast<size_t>((delivery.end - delivery.cursor) * ReplyShare::kMessageBytes);
    for (const storage::SegmentPtr& segment : delivery.segments) bytes += segment->bytes();
  }
  return bytes;
}

// Whether anything is left to deliver of what was leased: retention takes whole segments, and a
// message that was deleted is an empty line.
bool HoldsMessages(const Delivery& delivery) {
  for (const storage::SegmentPtr& segment : delivery.segments) {
    std::string_view rest = segment->payloads;
    const int64_t end = std::min(segment->end_seq(), delivery.end);
    for (int64_t seq = segment->base_seq; seq < end; ++seq) {
      const size_t length = std::min(rest.find('\n'), rest.size());
      if (length > 0 && seq >= delivery.cursor && delivery.Delivers(seq)) return true;
      rest.remove_prefix(std::min(length + 1, rest.size()));
    }
  }
  return false;
}

}  // namespace

// One lease call: row i of its arrays is candidate `candidate` of `pop`.
struct PopStateMachine::LeaseChunk {
  struct Row {
    PopPtr pop;
    PartitionId partition;
    int32_t group_id;       // as it was asked with: the group may forget it meanwhile
    int64_t changes;        // of the group when this was sent
    bool doubtful = false;  // the answer is older than what was announced
  };
  int64_t bytes_max = 0;  // what each of the pops may be given
  std::vector<PopPtr> pops;
  std::vector<Row> rows;
  // The first partition of each pop whose first segment does not fit, and how many bytes it has.
  std::unordered_map<const Pop*, std::pair<PartitionId, int64_t>> large;
};

// Not for who has gone, and not while its names are forgotten or pops are paused.
bool PopStateMachine::MayAsk(const Pop& pop) const {
  const bool paused = paused_ && !pop.asked;
  return !pop.cancelled && !paused && pop.group->named();
}

// The pop's claims are dropped, and it goes on from the beginning.
void PopStateMachine::StartOver(const PopPtr& pop) {
  // One partition is asked for again, under the same id; of any, it may be another.
  if (pop->wildcard()) GiveBackDoubtful(*pop);
  DropClaims(*pop);
  pop->room.reset();
  pop->needed_bytes = 0;
  pop->kept_waiting = false;
  if (pop->cancelled) {
    Finish(pop, PopState::kEmpty, PopResult{});
  } else {
    Advance(pop);
  }
}

// What one call takes: its pops may each be given the same number of bytes, and have room for them.
std::shared_ptr<PopStateMachine::LeaseChunk> PopStateMachine::TakeLeaseChunk() {
  auto chunk = std::make_shared<LeaseChunk>();
  const auto calls = static_cast<size_t>(limits_.leases_in_flight_max - leases_in_flight_);
  const size_t pops_max = std::min((lease_.size() + calls - 1) / calls, limits_.pops_per_batch);
  LeaseLoad load(limits_.lease_rows_max, limits_.lease_messages_max);
  const size_t free = replies_ != nullptr ? replies_->LargeFree() : SIZE_MAX;
  for (size_t left = lease_.size(); left > 0 && chunk->pops.size() < pops_max; --left) {
    const PopPtr pop = lease_.front();
    if (!MayAsk(*pop)) {
      lease_.pop_front();
      StartOver(pop);
      continue;
    }
    const ReplyShare share = pop->room ? pop->share : ShareOf(*pop, pops_max, free);
    const bool first = chunk->pops.empty();
    if (!first && (pop->alone || chunk->pops.back()->alone || share.bytes != chunk->bytes_max)) {
      break;
    }
    const auto messages = static_cast<size_t>(share.messages);
    if (!load.Fits(pop->candidates.size(), messages)) break;
    if (!TakeRoom(*pop, share)) {
      if (!first) break;
      lease_.pop_front();
      AwaitRoom(pop);
      continue;
    }
    load.Add(pop->candidates.size(), messages);
    chunk->bytes_max = share.bytes;
    chunk->pops.push_back(pop);
    lease_.pop_front();
  }
  return chunk;
}

ReplyShare PopStateMachine::ShareOf(const Pop& pop, size_t pops, size_t free) const {
  const int32_t batch = pop.request.batch;
  if (pop.needed_bytes > 0) return ReplyShare::For(pop.needed_bytes, limits_.bytes_max, batch);
  return ReplyShare::Among(pops, free, limits_.bytes_max, batch);
}

bool PopStateMachine::TakeRoom(Pop& pop, const ReplyShare& share) const {
  if (pop.room || replies_ == nullptr) {
    pop.share = share;
    return true;
  }
  pop.room = TakenRoom::TryTake(*replies_, share.room(), pop.place_for_room.get());
  if (!pop.room) return false;
  pop.share = share;
  if (pop.needed_bytes > 0) pop.place_for_room.reset();
  return true;
}

// Its claims stay while there is nothing else for it. Each is kept for a pause: PostgreSQL is not
// asked about one large segment after the other without a break.
void PopStateMachine::AwaitRoom(const PopPtr& pop) {
  const int64_t now = loop_.NowMillis();
  const bool long_poll = pop->request.wait_ms > 0 || pop->waited;
  if (pop->room_by_ms == 0) pop->room_by_ms = now + limits_.room_patience_ms;
  if (long_poll && !may_wait_) {
    DropClaims(*pop);
    Finish(pop, PopState::kEmpty, PopResult{});
  } else if (!long_poll && now >= pop->room_by_ms) {
    DropClaims(*pop);
    Fail(pop, Status(Code::kOverloaded, "Too many replies wait to be taken"));
  } else if (pop->kept_waiting && HasOther(*pop)) {
    StartOver(pop);
  } else {
    pop->kept_waiting = true;
    TakePlace(*pop);
    Pause(pop, lease_);
  }
}

// Whoever does not know what it needs is content with less, and waits for no room in particular.
void PopStateMachine::TakePlace(Pop& pop) const {
  if (pop.needed_bytes == 0) return;
  const size_t bytes = ShareOf(pop, 1, 0).room();
  if (pop.place_for_room) {
    pop.place_for_room->Change(bytes);
  } else {
    pop.place_for_room = std::make_unique<RoomPlace>(*replies_, bytes);
  }
}

// Whether the pop could take something else than what it waits for room for.
bool PopStateMachine::HasOther(const Pop& pop) const {
  return pop.wildcard() && !pop.group->ring.empty() && !RepliesFull();
}

void PopStateMachine::SendLease() {
  const auto chunk = TakeLeaseChunk();
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
    Pop& pop = *chunk->pops[i];
    pop.asked = true;
    pop.in_flight = true;
    for (const PartitionId partition : pop.candidates) {
      chunk->rows.push_back({chunk->pops[i], partition, pop.group->group_id, pop.group->changes});
      requests.Add(static_cast<int32_t>(i));
      partitions.Add(partition.value);
      groups.Add(pop.group->group_id);
      leases.Add(pop.lease_id);
      batches.Add(pop.share.messages);
      seconds.Add(pop.request.lease_seconds);
      auto_acks.Add(pop.request.auto_ack);
    }
  }
  pg::Params params(9);
  params.Add(std::move(requests)).Add(std::move(partitions)).Add(std::move(groups));
  params.Add(std::move(leases)).Add(std::move(batches)).Add(std::move(seconds));
  params.Add(std::move(auto_acks)).Int8(chunk->bytes_max).Bool(true);
  ++leases_in_flight_;
  scheduler_.Execute(*this, static_cast<int64_t>(chunk->pops.size()),
                     pg::Batch(storage::kLease, std::move(params)),
                     [this, chunk](const pg::BatchResult& result) { OnLeased(chunk, result); });
}

void PopStateMachine::OnLeased(const std::shared_ptr<LeaseChunk>& chunk,
                               const pg::BatchResult& result) {
  --leases_in_flight_;
  for (const PopPtr& pop : chunk->pops) {
    pop->in_flight = false;
    if (result.ok()) pop->doubtful_group_id = 0;
  }
  if (!result.ok()) {
    if (result.outcome == pg::Outcome::kUnknown) DoubtLeases(*chunk);
    for (const PopPtr& pop : chunk->pops) {
      if (pop->doubtful_group_id == 0) pop->room.reset();
    }
    OnBatchFailed(chunk->pops, lease_, result);
    for (const LeaseChunk::Row& row : chunk->rows) {
      if (row.pop->finished()) DropClaim(*row.pop, row.partition);
    }
    scheduler_.Wake();
    return;
  }
  std::unordered_set<const Pop*> doubtful;
  for (LeaseChunk::Row& row : chunk->rows) {
    row.doubtful = EndLeasing(*row.pop->group, row.partition);
    if (row.doubtful) doubtful.insert(row.pop.get());
  }
  const pg::Rows& rows = result.rows[0];
  for (int row = 0; row < rows.rows(); ++row) OnLeaseRow(*chunk, rows, row);
  for (const PopPtr& pop : chunk->pops) OnLeaseAnswer(*chunk, pop, doubtful.contains(pop.get()));
  for (const LeaseChunk::Row& row : chunk->rows) {
    Unblock(KeyOf(row.partition, *row.pop->group));
  }
  scheduler_.Wake();
}

void PopStateMachine::OnLeaseAnswer(const LeaseChunk& chunk, const PopPtr& pop, bool doubtful) {
  const bool waits_for_large = AskForLarge(chunk, pop);
  if (!pop->deliveries.empty()) {
    BeginFetch(pop);
    return;
  }
  pop->room.reset();
  // Ids that were forgotten meanwhile have told nothing.
  if (!pop->wildcard()) pop->confirmed = !pop->again && pop->group->named() && !doubtful;
  pop->again = false;
  pop->asked = false;
  if (waits_for_large) return;
  if (pop->overdue) {
    FinishOverdue(pop);
  } else {
    Advance(pop);
  }
}

// Whether the pop asks again, for the one partition whose first segment did not fit. Who was given
// something leaves it to others.
bool PopStateMachine::AskForLarge(const LeaseChunk& chunk, const PopPtr& pop) {
  pop->needed_bytes = 0;
  const auto large = chunk.large.find(pop.get());
  if (large == chunk.large.end()) return false;
  const auto [partition, bytes] = large->second;
  PopGroup& group = *pop->group;
  if (pop->deliveries.empty() && !pop->overdue && Claim(group, partition)) {
    group.ring.Remove(partition);
    pop->needed_bytes = bytes;
    pop->kept_waiting = false;
    pop->candidates = {partition};
    lease_.push_back(pop);
    return true;
  }
  group.ring.Add(partition);
  return false;
}

// An automatic ack leaves no lease behind.
void PopStateMachine::DoubtLeases(const LeaseChunk& chunk) {
  for (const LeaseChunk::Row& row : chunk.rows) {
    if (!row.pop->request.auto_ack) row.pop->doubtful_group_id = row.group_id;
  }
}

bool PopStateMachine::EndLeasing(PopGroup& group, PartitionId partition) {
  const int64_t key = KeyOf(partition, group);
  if (leasing_.erase(key) > 0) ++group.claims_ended;
  OfferSoon(group);
  const bool told = told_.erase(key) > 0;
  if (told) {
    group.ring.Hint(partition);  // whatever the lease says, it may be over
    QueueCheck(group);
  }
  const bool announced = announced_.erase(key) > 0;
  if (announced) group.ring.Add(partition);
  return told || announced;
}

// `pop` will not lease `partition` after all: the next one may.
void PopStateMachine::DropClaim(const Pop& pop, PartitionId partition) {
  const int64_t key = KeyOf(partition, *pop.group);
  EndLeasing(*pop.group, partition);
  pop.group->ring.Add(partition);
  Unblock(key);
}

void PopStateMachine::DropClaims(const Pop& pop) {
  for (const PartitionId partition : pop.candidates) DropClaim(pop, partition);
}

void PopStateMachine::OnLeaseRow(LeaseChunk& chunk, const pg::Rows& rows, int row) {
  const LeaseChunk::Row& asked = chunk.rows[static_cast<size_t>(rows.Int4(row, 0)) - 1];
  const PopPtr& pop = asked.pop;
  const PartitionId partition = asked.partition;
  PopGroup& group = *pop->group;
  const std::string_view state = rows.Text(row, 1);
  const int64_t now = loop_.NowMillis();
  const auto hold = [&](int64_t ms, int64_t whole_end) {
    if (asked.changes != group.changes)
      return;  // a seek or the like may have ended what this tells of
    group.ring.Hold(partition, now + ms, whole_end);
    if (asked.doubtful) group.ring.Push(partition);
    SetTimer(now + ms);
  };
  if (state == "gone") {
    ForgetNames(group);
    return;
  }
  if (state == "large") {
    if (!chunk.large.try_emplace(pop.get(), partition, rows.Int8(row, 4)).second) {
      group.ring.Add(partition);
    }
    return;
  }
  // What was pushed while it was held may be younger than the answer.
  const bool pushed = state == "empty" && group.ring.Free(partition);
  if (state == "again" || state == "full" || pushed) {
    group.ring.Add(partition);
  } else {
    ++pop->misses;
  }
  if (state == "again") pop->again = true;
  if (state == "held" || state == "retry" || state == "delayed" || state == "window") {
    hold(rows.Int8(row, 2), 0);
  }
  if (state != "leased") return;
  pop->misses = 0;
  const bool whole = rows.IsNull(row, 2) && !asked.doubtful;
  if (!pop->request.auto_ack) {
    hold(rows.Int8(row, 11), whole ? rows.Int8(row, 4) : 0);
  } else if (!whole) {
    group.ring.Add(partition);  // there may be more, and nobody holds it
  }
  Delivery delivery;
  delivery.partition = partition;
  delivery.group_id = asked.group_id;
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
  pop->place_for_room.reset();
  bool missing = false;
  for (size_t d = 0; d < pop->deliveries.size(); ++d) {
    pop->deliveries[d].segments.clear();
    missing = missing || pop->segment_keys[d].empty();  // all of it is gone: OnFetched sees to it
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
  std::vector<PopPtr> pops = TakeChunk(fetch_, scheduler_.FreeSlots());
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
                         const pg::BatchResult& result) { OnFetched(pops, keys, result); });
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
      std::erase(delivery.segments, nullptr);  // what retention took is not delivered
    }
    if (pop->finished()) continue;
    GiveBackEmpty(*pop);
    pop->deliveries.empty() && !pop->cancelled ? GoOnWithout(pop) : Complete(pop);
  }
}

// What was leased for nothing.
void PopStateMachine::GiveBackEmpty(Pop& pop) {
  std::erase_if(pop.deliveries, [&](const Delivery& delivery) {
    if (HoldsMessages(delivery)) return false;
    if (!pop.request.auto_ack) {
      Release(*pop.group, delivery.partition, delivery.group_id, pop.lease_id);
    }
    return true;
  });
}

// Nothing is left of what it was given. Under another id from then on: it could lease again what is
// on its way back.
void PopStateMachine::GoOnWithout(const PopPtr& pop) {
  pop->segment_keys.clear();
  pop->lease_id = MakeUuidV7();
  pop->room.reset();
  pop->asked = false;
  pop->overdue ? FinishOverdue(pop) : Advance(pop);
}

void PopStateMachine::Complete(const PopPtr& pop) {
  if (pop->finished()) return;
  if (pop->cancelled) {
    GiveBackDeliveries(*pop);
    Finish(pop, PopState::kEmpty, PopResult{});
    return;
  }
  PopResult result;
  result.lease_id = pop->lease_id;
  result.leased = !pop->request.auto_ack;
  result.deliveries = std::move(pop->deliveries);
  result.room = std::move(pop->room);
  if (result.room) result.room->Resize(BytesOf(result.deliveries));
  Finish(pop, PopState::kCompleted, std::move(result));
}

// ---- giving back

void PopStateMachine::GiveBackDeliveries(const Pop& pop) {
  if (pop.request.auto_ack) return;
  for (const Delivery& delivery : pop.deliveries) {
    Release(*pop.group, delivery.partition, delivery.group_id, pop.lease_id);
  }
}

// Under another id from then on: it could lease again what is on its way back.
void PopStateMachine::GiveBackDoubtful(Pop& pop) {
  if (pop.doubtful_group_id == 0) return;
  for (const PartitionId partition : pop.candidates) {
    Release(*pop.group, partition, pop.doubtful_group_id, pop.lease_id);
  }
  pop.doubtful_group_id = 0;
  pop.lease_id = MakeUuidV7();
}

void PopStateMachine::GiveBack(const std::string& group, const Uuid& lease_id,
                               const std::vector<Delivery>& deliveries) {
  loop_.AssertOwner();
  for (const Delivery& delivery : deliveries) {
    Release(GroupOf(delivery.queue_name, group), delivery.partition, delivery.group_id, lease_id);
  }
}

void PopStateMachine::Release(PopGroup& group, PartitionId partition, int32_t group_id,
                              const Uuid& lease_id) {
  if (release_.size() >= limits_.releases_max) return;
  ++group.open_pops;  // until it is given back
  release_.push_back(
      {&group, partition, group_id, lease_id, loop_.NowMillis() + kReleaseTriesForMs});
  scheduler_.Wake();
}

void PopStateMachine::SendRelease() {
  std::deque<Given> waiting = std::move(release_);
  release_.clear();
  std::vector<Given> given;
  pg::Int4Array partitions(waiting.size(), 4);
  pg::Int4Array groups(waiting.size(), 4);
  pg::UuidArray leases(waiting.size(), 16);
  std::unordered_set<int64_t> taken;
  for (const Given& lease : waiting) {
    // One change of a (partition, group) per call.
    if (given.size() == limits_.lease_rows_max ||
        !taken.insert(KeyOf(lease.partition, *lease.group)).second) {
      release_.push_back(lease);
      continue;
    }
    given.push_back(lease);
    partitions.Add(lease.partition.value);
    groups.Add(lease.group_id);
    leases.Add(lease.lease_id);
  }
  pg::Params params(3);
  params.Add(std::move(partitions)).Add(std::move(groups)).Add(std::move(leases));
  const auto count = static_cast<int64_t>(given.size());
  scheduler_.Execute(*this, count, pg::Batch(storage::kRelease, std::move(params)),
                     [this, given = std::move(given)](const pg::BatchResult& result) {
                       OnReleased(given, result);
                     });
}

// What did not succeed is tried again after a growing pause. After an unknown end it may be done
// already; then it is refused, which does no harm.
void PopStateMachine::OnReleased(const std::vector<Given>& given, const pg::BatchResult& result) {
  std::vector<bool> again(given.size(), !result.ok());
  for (int row = 0; result.ok() && row < result.rows[0].rows(); ++row) {
    const auto index = static_cast<size_t>(result.rows[0].Int4(row, 0)) - 1;
    again[index] = result.rows[0].Text(row, 1) == "again";
  }
  bool any_again = false;
  for (size_t i = 0; i < given.size(); ++i) {
    const Given& lease = given[i];
    if (again[i] && loop_.NowMillis() < lease.give_up_ms) {
      release_.push_back(lease);
      any_again = true;
      continue;
    }
    if (!again[i]) {
      lease.group->ring.Free(lease.partition);
      lease.group->ring.Add(lease.partition);
    }
    DropUse(*lease.group);
  }
  release_pause_ms_ = any_again ? NextPause(release_pause_ms_) : 0;
  if (any_again) release_pause_.Start(release_pause_ms_);
}

}  // namespace queen::sidecar
