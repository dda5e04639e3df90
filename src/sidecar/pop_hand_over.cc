// Hand-over (hand_over.h): who is given a lease with an ack or a push, and what becomes of it. From
// its taking on the lease is claimed like any other; what follows it is in pop_lease.cc.
#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "sidecar/lease_chunk.h"
#include "sidecar/pop_state_machine.h"

namespace queen::sidecar {
namespace {

// How many waiters are looked at for one that wants the partition.
constexpr int kWaitersSeenMax = 64;

}  // namespace

HandOver::Leases PopStateMachine::BeginCarried() {
  auto leases = std::make_shared<LeaseChunk>();
  leases->carried = true;
  leases->sent_ms = loop_.NowMillis();
  return leases;
}

// The pop whose turn it is when `partition` becomes free; nullptr: none, or it is left to the ring.
// What is ready already is served first, and so is who does not wait.
PopPtr PopStateMachine::NextFor(const PopGroup& group, PartitionId partition) const {
  const int64_t key = KeyOf(partition, group);
  if (paused_ || RepliesFull() || !group.ring.empty() || !group.behind_claims.empty() ||
      leasing_.contains(key) || blocked_.contains(key)) {
    return nullptr;
  }
  int seen = 0;
  for (const PopPtr& pop : group.waiters) {
    if (++seen > kWaitersSeenMax) return nullptr;
    if (!pop->wildcard()) {
      const auto known = group.partitions.find(*pop->request.partition);
      if (known == group.partitions.end() || known->second != partition) continue;
    }
    const bool takes = !pop->request.auto_ack && pop->doubtful_group_id == 0;
    return takes ? pop : nullptr;
  }
  return nullptr;
}

// Whether the pop is given something, and has room for it. What depends on a time that is still to
// come, or on more than is listed, is left to a lease of its own.
bool PopStateMachine::DecideCarried(Pop& pop, const engine::Progress& progress,
                                    const engine::QueueRules& rules, const engine::LogView& log,
                                    engine::LeaseOutcome& outcome) const {
  const size_t free = replies_ != nullptr ? replies_->LargeFree() : SIZE_MAX;
  const ReplyShare share = ShareOf(pop, pop.group->waiters.size(), free);
  const engine::LeaseRequest request{.lease_id = pop.lease_id,
                                     .seconds = pop.request.lease_seconds,
                                     .auto_ack = false,
                                     .messages_left = share.messages,
                                     .bytes_left = share.bytes,
                                     .bytes_max = share.bytes};
  outcome = engine::DecideLease(progress, rules, log, request, clock_.NowMicros());
  const bool given = outcome.state == engine::LeaseState::kLeased && outcome.next &&
                     !outcome.log_end && !IsShort(outcome, log, request);
  return given && TakeRoom(pop, share);
}

void PopStateMachine::TakeWaiter(LeaseChunk& leases, const PopPtr& pop, const engine::LaneKey& lane,
                                 engine::LeaseOutcome outcome, const std::string& partition_name) {
  PopGroup& group = *pop->group;
  group.backoff.Release(true);
  Unpark(pop);
  if (!pop->wildcard()) pop->confirmed = false;
  pop->state = PopState::kLeasing;
  pop->candidates = {lane.partition};
  pop->asked = true;
  pop->in_flight = true;
  Claim(group, lane.partition);
  group.ring.Free(lane.partition);
  group.ring.Remove(lane.partition);
  LeaseRow row{pop, lane, group.changes};
  row.answer.partition_name = partition_name;
  row.outcome = std::move(outcome);
  leases.generation = lanes_.generation();
  leases.pops.push_back(pop);
  leases.rows.push_back(std::move(row));
}

bool PopStateMachine::CarryWithAck(LeaseChunk& leases, std::string_view queue,
                                   std::string_view group_name, engine::LaneAppend& append) {
  if (waiting_ == 0 || append.ready_ms) return false;
  std::string name(queue);
  name += '\0';
  name += group_name;
  const auto known = groups_.find(name);
  if (known == groups_.end() || known->second->group_id != append.key.group.value) return false;
  const PopPtr pop = NextFor(*known->second, append.key.partition);
  if (!pop) return false;
  const engine::Lane* lane = lanes_.Peek(append.key);
  if (lane == nullptr || lane->progress.epoch != append.prev_epoch ||
      lane->progress.stamp != append.prev_stamp) {
    return false;
  }
  engine::LeaseOutcome outcome;
  if (!DecideCarried(*pop, append.next, lane->rules, lane->log, outcome) ||
      outcome.not_before_micros > 0) {
    pop->room.reset();
    return false;
  }
  const int64_t stamp = append.next.stamp;
  append.next = *outcome.next;
  append.next.stamp = stamp;
  append.lease_ms = outcome.lease_ms;
  append.frees = false;
  TakeWaiter(leases, pop, append.key, std::move(outcome), lane->partition_name);
  return true;
}

// Only of lanes that have nothing: then the lease is about these segments alone, and the place of
// the first of them tells that they are the next.
std::vector<engine::LaneAppend> PopStateMachine::CarryWithPush(
    LeaseChunk& leases, std::string_view queue, PartitionId partition,
    const std::vector<engine::SegmentSpan>& segments) {
  std::vector<engine::LaneAppend> appends;
  if (waiting_ == 0) return appends;
  const auto groups = by_queue_.find(std::string(queue));
  if (groups == by_queue_.end()) return appends;
  for (PopGroup* group : groups->second) {
    if (!group->named() || group->waiters.empty() || group->ring.IsHeld(partition)) continue;
    const PopPtr pop = NextFor(*group, partition);
    if (!pop) continue;
    const engine::LaneKey key{partition, GroupId{group->group_id}};
    const engine::Lane* lane = lanes_.Peek(key);
    if (lane == nullptr || lane->log.open || lane->log.known_end != lane->log.end ||
        std::max(lane->progress.cursor, lane->log.from) != lane->log.end) {
      continue;
    }
    engine::LogView log;
    log.from = log.known_end = log.end = log.live_end = lane->log.end;
    int64_t created = clock_.NowMicros();
    for (const engine::SegmentSpan& segment : segments) {
      engine::ExtendLog(log, {log.end, segment.count, created, segment.bytes});
      created += segment.count;
    }
    engine::LeaseOutcome outcome;
    if (log.known_end != log.end ||
        !DecideCarried(*pop, lane->progress, lane->rules, log, outcome) ||
        outcome.cursor != lane->log.end) {
      pop->room.reset();
      continue;
    }
    engine::LaneAppend& append =
        appends.emplace_back(engine::AppendBehind(key, *lane, *outcome.next));
    if (outcome.not_before_micros > 0) append.not_before_micros = outcome.not_before_micros;
    append.lease_ms = outcome.lease_ms;
    append.log_end = lane->log.end;
    TakeWaiter(leases, pop, key, std::move(outcome), lane->partition_name);
    with_push_.insert(KeyOf(partition, *group));
  }
  return appends;
}

void PopStateMachine::OnCarried(LeaseChunk& leases, size_t place,
                                const storage::append_lanes::Row& answer) {
  LeaseRow& row = leases.rows[place];
  row.answer.state = LeaseAnswer::State::kLeased;
  row.answer = AfterAppend(std::move(row.answer), row.outcome, answer, leases.sent_ms);
  if (row.answer.state == LeaseAnswer::State::kLeased) ++handed_over_;
}

// The lease was decided for segments whose places were guessed. PostgreSQL compares them too, so
// one that is not about what was pushed is not expected; it would be given back.
void PopStateMachine::OnCarried(LeaseChunk& leases, size_t place,
                                const storage::append_lanes::Row& answer,
                                const std::vector<engine::SegmentSpan>& stored) {
  OnCarried(leases, place, answer);
  LeaseRow& row = leases.rows[place];
  if (QUEEN_PLANTED(kCarriedUnproved)) {
    row.answer.state = LeaseAnswer::State::kLeased;
    row.outcome.segments = {stored.front()};
    row.outcome.cursor = stored.front().base_seq;
    row.outcome.end = stored.front().end();
  }
  if (row.answer.state != LeaseAnswer::State::kLeased) return;
  std::vector<engine::SegmentSpan>& segments = row.outcome.segments;
  for (size_t i = 0; i < segments.size(); ++i) {
    const bool same = i < stored.size() && stored[i].created_micros > 0 &&
                      stored[i].base_seq == segments[i].base_seq &&
                      stored[i].count == segments[i].count;
    if (!same) {
      Release(*row.pop->group, row.lane.partition, row.lane.group.value, row.pop->lease_id);
      row.pop->lease_id = MakeUuidV7();
      row.answer.state = LeaseAnswer::State::kAgain;
      return;
    }
    segments[i].created_micros = stored[i].created_micros;
  }
}

// A row without an answer has lost.
void PopStateMachine::EndCarried(const Leases& leases) {
  if (QUEEN_PLANTED(kCarriedStranded)) {
    std::erase_if(leases->rows, [&](const LeaseRow& row) {
      const bool lost = row.answer.state != LeaseAnswer::State::kLeased;
      return lost && std::erase(leases->pops, row.pop) > 0;
    });
  }
  if (!leases->rows.empty()) FinishLeases(leases);
}

std::vector<DoubtfulLease> PopStateMachine::DoubtCarried(const Leases& leases) {
  std::vector<DoubtfulLease> doubtful;
  for (LeaseRow& row : leases->rows) {
    const PopGroup& group = *row.pop->group;
    doubtful.push_back({group.queue, group.name, row.lane, row.pop->lease_id});
    row.pop->lease_id = MakeUuidV7();
    row.answer.state = LeaseAnswer::State::kAgain;
    lanes_.Drop(row.lane);
  }
  EndCarried(leases);
  return doubtful;
}

void PopStateMachine::GiveBack(const DoubtfulLease& lease) {
  Release(GroupOf(lease.queue, lease.group), lease.lane.partition, lease.lane.group.value,
          lease.id);
}

}  // namespace queen::sidecar
