// The lease of a pop on its candidates. What happens behind it is in pop_fetch.cc.
#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "sidecar/lane_answers.h"
#include "sidecar/lease_chunk.h"
#include "sidecar/pop_state_machine.h"
#include "storage/procedures.h"

namespace queen::sidecar {
namespace {

// How many times what a pop wants a load lists of a lane, and between which numbers of messages.
constexpr int64_t kLoadAhead = 4;
constexpr int64_t kLoadMin = 100;
constexpr int64_t kLoadMax = 400;
// ... and of all lanes of a call together: what it lists stays below what is remembered.
constexpr int64_t kLoadSumMax = 100'000;
constexpr int64_t kPlantedAheadMicros = 3'600'000'000;

}  // namespace

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
std::shared_ptr<LeaseChunk> PopStateMachine::TakeLeaseChunk() {
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
  if (chunk->pops.empty()) return;
  for (const PopPtr& pop : chunk->pops) {
    pop->asked = true;
    pop->in_flight = true;
    for (const PartitionId partition : pop->candidates) {
      const engine::LaneKey lane{partition, GroupId{pop->group->group_id}};
      chunk->rows.push_back({pop, lane, pop->group->changes});
    }
  }
  ++leases_in_flight_;
  DecideLeases(*chunk, false);
  if (std::any_of(chunk->rows.begin(), chunk->rows.end(),
                  [](const auto& row) { return row.load; })) {
    SendLeaseLoad(chunk);
  } else {
    SendLeaseAppend(chunk);
  }
}

// Decides every row from its lane. `loaded`: those that were to be loaded have been; else they are
// left open.
void PopStateMachine::DecideLeases(LeaseChunk& chunk, bool loaded) {
  chunk.generation = lanes_.generation();
  chunk.appends = {};
  chunk.appends.broker = broker_;
  chunk.appends.sync = false;
  const int64_t now = clock_.NowMicros() + (QUEEN_PLANTED(kTwoHolders) ? kPlantedAheadMicros : 0);
  const Pop* pop = nullptr;
  engine::LeaseRequest request;
  for (LeaseRow& row : chunk.rows) {
    if (row.pop.get() != pop) {
      pop = row.pop.get();
      request = {.lease_id = pop->lease_id,
                 .seconds = pop->request.lease_seconds,
                 .auto_ack = pop->request.auto_ack,
                 .messages_left = pop->share.messages,
                 .bytes_left = chunk.bytes_max,
                 .bytes_max = chunk.bytes_max};
    }
    row.append = -1;
    if (loaded && (row.pop->cancelled || row.pop->overdue)) {
      row.answer.state = LeaseAnswer::State::kAgain;  // for whoever comes next
      continue;
    }
    const engine::Lane* lane = lanes_.Find(row.lane);
    if (lane == nullptr) {
      // What is not gone was forgotten meanwhile.
      if (loaded)
        row.answer.state = row.gone ? LeaseAnswer::State::kGone : LeaseAnswer::State::kAgain;
      row.load = true;
      continue;
    }
    row.outcome = engine::DecideLease(lane->progress, lane->rules, lane->log, request, now);
    const engine::LeaseOutcome& outcome = row.outcome;
    // What is only believed, and what is more than is listed, is looked up once.
    const bool unsure = outcome.state == engine::LeaseState::kNotNow ||
                        (!loaded && IsShort(outcome, lane->log, request));
    const bool nothing = outcome.found.state != engine::LaneState::kUnknown && !outcome.next;
    if (unsure && !row.load && !(QUEEN_PLANTED(kBelieved) && nothing)) {
      row.load = true;
      if (loaded) row.answer.state = LeaseAnswer::State::kAgain;  // the first decision was another
      continue;
    }
    row.answer = AnswerOf(outcome, now, chunk.sent_ms);
    row.answer.partition_name = lane->partition_name;
    if (outcome.state == engine::LeaseState::kLeased) {
      request.messages_left -= outcome.messages;
      request.bytes_left -= outcome.bytes;
    }
    if (!outcome.next) continue;
    row.append = static_cast<int>(chunk.appends.lanes.size());
    engine::LaneAppend& append =
        chunk.appends.lanes.emplace_back(engine::AppendBehind(row.lane, *lane, *outcome.next));
    if (outcome.not_before_micros > 0 && !QUEEN_PLANTED(kTwoHolders)) {
      append.not_before_micros = outcome.not_before_micros;
    }
    if (QUEEN_PLANTED(kSkipped) && request.auto_ack) ++append.next.cursor;
    append.log_end = outcome.log_end;
    if (outcome.lease_ms > 0) append.lease_ms = outcome.lease_ms;
    append.dead = outcome.dead;
    if (request.auto_ack || !outcome.dead.empty()) chunk.appends.sync = true;
  }
}

void PopStateMachine::SendLeaseLoad(const std::shared_ptr<LeaseChunk>& chunk) {
  std::vector<engine::LaneAsk> asks;
  const auto lanes = std::count_if(chunk->rows.begin(), chunk->rows.end(),
                                   [](const LeaseRow& row) { return row.load; });
  for (const LeaseRow& row : chunk->rows) {
    if (!row.load) continue;
    // What the next pops will want as well: a lane is loaded seldom.
    const int64_t batch = row.pop->share.messages;
    const int64_t ahead = std::max(batch, std::clamp(batch * kLoadAhead, kLoadMin, kLoadMax));
    const int64_t messages = std::min(ahead, std::max<int64_t>(1, kLoadSumMax / lanes));
    asks.push_back({row.lane, static_cast<int32_t>(messages)});
  }
  chunk->appends = {};
  chunk->sent_ms = loop_.NowMillis();
  const int64_t load = lanes_.BeginLoad();
  pg::Batch batch(storage::load_lanes::kStatement, storage::load_lanes::Encode(asks));
  scheduler_.Execute(
      *this, 0, std::move(batch),
      [this, chunk, load, generation = lanes_.generation(), asks = std::move(asks)](
          const pg::BatchResult& result) { OnLeaseLoaded(chunk, asks, load, generation, result); });
}

void PopStateMachine::OnLeaseLoaded(const std::shared_ptr<LeaseChunk>& chunk,
                                    const std::vector<engine::LaneAsk>& asks, int64_t load,
                                    int64_t generation, const pg::BatchResult& result) {
  const auto there = TakeLoaded(lanes_, clock_, asks, load, generation, result);
  if (!result.ok()) {
    FailLeases(*chunk, result);
    return;
  }
  if (!there.ok()) {
    FailLeases(*chunk, pg::NotSent(there.status()));
    return;
  }
  size_t asked = 0;
  for (LeaseRow& row : chunk->rows) row.gone = row.load && !(*there)[asked++];
  DecideLeases(*chunk, true);
  if (chunk->appends.lanes.empty()) {
    FinishLeases(chunk);
  } else {
    decided_.push_back(chunk);
    scheduler_.Wake();
  }
}

void PopStateMachine::SendLeaseAppend(const std::shared_ptr<LeaseChunk>& chunk) {
  if (chunk->appends.lanes.empty()) {
    FinishLeases(chunk);
    return;
  }
  chunk->sent_ms = loop_.NowMillis();
  scheduler_.Execute(*this, static_cast<int64_t>(chunk->pops.size()),
                     pg::Batch(storage::append_lanes::kLeaseStatement,
                               storage::append_lanes::Encode(chunk->appends)),
                     [this, chunk](const pg::BatchResult& result) { OnLeased(chunk, result); });
}

void PopStateMachine::OnLeased(const std::shared_ptr<LeaseChunk>& chunk,
                               const pg::BatchResult& result) {
  if (!result.ok()) {
    FailLeases(*chunk, result);
    return;
  }
  const auto appended = storage::append_lanes::Decode(result.rows[0]);
  if (!appended.ok()) {
    FailLeases(*chunk, pg::Unread(appended.status()));
    return;
  }
  for (LeaseRow& row : chunk->rows) {
    if (row.append < 0) continue;
    const storage::append_lanes::Row& answer = (*appended)[static_cast<size_t>(row.append)];
    row.answer = AfterAppend(std::move(row.answer), row.outcome, answer, chunk->sent_ms);
    TakeAppended(lanes_, clock_, row.lane, answer, chunk->generation);
  }
  FinishLeases(chunk);
}

// No answer came, or a refusal.
void PopStateMachine::FailLeases(LeaseChunk& chunk, const pg::BatchResult& result) {
  --leases_in_flight_;
  const bool appended = !chunk.appends.lanes.empty();
  for (const PopPtr& pop : chunk.pops) pop->in_flight = false;
  if (result.outcome == pg::Outcome::kUnknown && appended) DoubtLeases(chunk);
  for (const PopPtr& pop : chunk.pops) {
    if (pop->doubtful_group_id == 0) pop->room.reset();
  }
  for (const LeaseRow& row : chunk.rows) lanes_.Drop(row.lane);
  OnBatchFailed(chunk.pops, lease_, result);
  for (const LeaseRow& row : chunk.rows) {
    if (row.pop->finished()) DropClaim(*row.pop, row.lane.partition);
  }
  scheduler_.Wake();
}

// Every row has its answer.
void PopStateMachine::FinishLeases(const std::shared_ptr<LeaseChunk>& chunk) {
  if (!chunk->carried) --leases_in_flight_;
  for (const PopPtr& pop : chunk->pops) {
    pop->in_flight = false;
    pop->doubtful_group_id = 0;
  }
  std::unordered_set<const Pop*> doubtful;
  for (LeaseRow& row : chunk->rows) {
    row.doubtful = EndLeasing(*row.pop->group, row.lane.partition);
    if (QUEEN_PLANTED(kHeldBelieved)) row.doubtful = false;
    if (row.doubtful) doubtful.insert(row.pop.get());
  }
  for (const LeaseRow& row : chunk->rows) OnLeaseRow(*chunk, row);
  for (const PopPtr& pop : chunk->pops) OnLeaseAnswer(*chunk, pop, doubtful.contains(pop.get()));
  for (const LeaseRow& row : chunk->rows) {
    Unblock(KeyOf(row.lane.partition, *row.pop->group));
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
  const bool busy = std::exchange(pop->busy, false);
  if (waits_for_large) return;
  if (pop->overdue) {
    FinishOverdue(pop);
  } else if (busy) {
    pop->state = PopState::kPending;
    PauseWhole(pop);
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
  for (const LeaseRow& row : chunk.rows) {
    if (!row.pop->request.auto_ack) row.pop->doubtful_group_id = row.lane.group.value;
  }
}

bool PopStateMachine::EndLeasing(PopGroup& group, PartitionId partition) {
  const int64_t key = KeyOf(partition, group);
  if (leasing_.erase(key) > 0) ++group.claims_ended;
  with_push_.erase(key);
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

void PopStateMachine::OnLeaseRow(LeaseChunk& chunk, const LeaseRow& row) {
  using State = LeaseAnswer::State;
  const PopPtr& pop = row.pop;
  const PartitionId partition = row.lane.partition;
  PopGroup& group = *pop->group;
  const LeaseAnswer& answer = row.answer;
  const auto hold = [&](int64_t whole_end) {
    if (row.changes != group.changes)
      return;  // a seek or the like may have ended what this tells of
    group.ring.Hold(partition, answer.until_ms, whole_end);
    if (row.doubtful) group.ring.Push(partition);
    SetTimer(answer.until_ms);
  };
  if (answer.state == State::kGone) {
    ForgetNames(group);
    return;
  }
  if (answer.state == State::kLarge) {
    if (!chunk.large.try_emplace(pop.get(), partition, row.outcome.bytes).second) {
      group.ring.Add(partition);
    }
    return;
  }
  // What was pushed while it was held may be younger than the answer.
  const bool pushed = answer.state == State::kEmpty && group.ring.Free(partition);
  const bool again = answer.state == State::kAgain || answer.state == State::kBusy;
  if (again || answer.state == State::kFull || pushed) {
    group.ring.Add(partition);
  } else {
    ++pop->misses;
  }
  if (again) pop->again = true;
  if (answer.state == State::kBusy) pop->busy = true;
  if (answer.state == State::kNotNow && row.doubtful) {
    group.ring.Add(partition);  // that was before what was announced since: it is asked again
  } else if (answer.state == State::kNotNow) {
    hold(0);
  }
  if (answer.state != State::kLeased) return;
  pop->misses = 0;
  const engine::LeaseOutcome& lease = row.outcome;
  const bool whole = lease.whole && !row.doubtful;
  if (!pop->request.auto_ack) {
    hold(whole ? lease.end : 0);
  } else if (!whole) {
    group.ring.Add(partition);  // there may be more, and nobody holds it
  }
  Delivery delivery;
  delivery.partition = partition;
  delivery.group_id = row.lane.group.value;
  delivery.queue_name = group.queue;
  delivery.partition_name = answer.partition_name;
  delivery.cursor = lease.cursor;
  delivery.end = lease.end;
  delivery.settled = lease.settled.ToText();
  for (const engine::Attempt& attempt : lease.attempts) {
    delivery.failures.emplace_back(attempt.seq, attempt.failures);
  }
  std::vector<SegmentKey> keys;
  for (const engine::SegmentSpan& segment : lease.segments) {
    keys.push_back({partition, segment.base_seq, segment.count, segment.created_micros});
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

}  // namespace queen::sidecar
