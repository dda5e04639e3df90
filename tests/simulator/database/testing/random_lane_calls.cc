// Lanes of RandomCalls: loading, appending, leases, and what acks name.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "simulator/database/testing/random_calls.h"
#include "storage/calls/append_lanes.h"
#include "storage/procedures.h"

namespace queen::simulator {

using engine::LaneKey;

namespace {

struct ByIds {
  bool operator()(const LaneKey& a, const LaneKey& b) const {
    return std::pair(a.partition, a.group) < std::pair(b.partition, b.group);
  }
};
using LaneKeys = std::set<LaneKey, ByIds>;

}  // namespace

void RandomCalls::LoadLanes() {
  LaneKeys keys;
  for (int64_t left = Between(1, 4); left > 0; --left) {
    const int32_t partition = PartitionId();
    keys.insert({queen::PartitionId{partition}, queen::GroupId{GroupId()}});
  }
  std::vector<engine::LaneAsk> asks;
  for (const LaneKey& key : keys) asks.push_back({key, static_cast<int32_t>(Between(0, 12))});
  const auto answers = Call(storage::load_lanes::kStatement, storage::load_lanes::Encode(asks));
  if (!answers.ok()) return;
  const auto real = storage::load_lanes::Decode(answers.real.rows[0]);
  const auto simulated = storage::load_lanes::Decode(answers.simulated.rows[0]);
  ASSERT_TRUE(real.ok()) << real.status().message();
  ASSERT_TRUE(simulated.ok()) << simulated.status().message();
  for (const auto& one : *real) {
    for (const auto& other : *simulated) {
      if (one.index == other.index) lanes_.push_back({asks[one.index].key, one, other});
    }
  }
  constexpr size_t kLanesMax = 40;  // some of them stale
  while (lanes_.size() > kLanesMax) lanes_.erase(lanes_.begin());
}

engine::LaneAppend RandomCalls::RandomAppend(const Lane& lane) {
  const engine::Progress& before = lane.real.progress;
  engine::Progress next;
  next.cursor = std::max(before.cursor, Chance(50) ? lane.real.log.from : before.cursor);
  next.cursor += Chance(50) ? Between(0, 3) : 0;
  if (Chance(30)) next.settled.SetRange(1, 1 + Between(1, 3));
  if (Chance(20)) next.failed.Set(Between(0, 3));
  if (Chance(20)) next.attempts.push_back({next.cursor + Between(0, 2), 1});
  next.deliveries = static_cast<int32_t>(Between(0, 2));
  if (Chance(10)) next.ready_at_micros = twins_.now_micros() + Between(0, 3'000'000);
  if (Chance(10)) next.window_end = next.cursor + Between(0, 5);
  engine::LaneAppend append = engine::AppendBehind(lane.key, lane.real, std::move(next));
  append.next.stamp = static_cast<int64_t>(random_());
  if (Chance(60)) {
    engine::Lease lease;
    lease.id = Chance(20) ? OneOf(leases_) : LeaseId();
    lease.end = append.next.cursor + Between(1, 6);
    lease.seconds = static_cast<int32_t>(Between(1, 30));
    if (Chance(10)) lease.until_micros = twins_.now_micros() + Between(0, 5'000'000);
    append.lease_ms = lease.seconds * 1000;
    leases_.push_back(lease.id);
    append.next.lease = lease;
  } else {
    append.frees = Chance(70);
  }
  if (Chance(10)) append.not_before_micros = twins_.now_micros() + Between(-1'000, 1'000);
  if (Chance(15)) append.held = true;
  if (Chance(15)) append.log_end = lane.real.log.end + (Chance(20) ? 1 : 0);
  if (Chance(10)) append.ready_ms = Between(0, 2'000);
  if (Chance(15)) append.dead.push_back({append.next.cursor, Chance(50) ? "it broke" : "", 2});
  return append;
}

void RandomCalls::AppendLanes() {
  if (lanes_.empty()) return LoadLanes();
  engine::AppendRequest real;
  real.broker = Between(1, 2);
  if (Chance(30)) real.n = ++batches_;
  real.sync = Chance(60);
  engine::AppendRequest simulated = real;
  LaneKeys keys;
  for (int64_t left = Between(1, 4); left > 0; --left) {
    // The youngest mostly: what was decided from it wins.
    const size_t back = Chance(70) ? 1 : static_cast<size_t>(Between(1, 10));
    const Lane& lane = lanes_[lanes_.size() - std::min(back, lanes_.size())];
    const Lane& one = Chance(80) ? lane : OneOf(lanes_);
    if (!keys.insert(one.key).second) continue;
    real.lanes.push_back(RandomAppend(one));
    simulated.lanes.push_back(real.lanes.back());
    simulated.lanes.back().prev_stamp = one.simulated.progress.stamp;
  }
  const pg::Statement& statement =
      real.sync ? storage::append_lanes::kAckStatement : storage::append_lanes::kLeaseStatement;
  pg::Params real_params = storage::append_lanes::Encode(real);
  pg::Params simulated_params = storage::append_lanes::Encode(simulated);
  const auto answers = Call(statement, std::move(real_params), std::move(simulated_params));
  if (!answers.ok()) return;
  const auto real_rows = storage::append_lanes::Decode(answers.real.rows[0]);
  const auto simulated_rows = storage::append_lanes::Decode(answers.simulated.rows[0]);
  ASSERT_TRUE(real_rows.ok() && simulated_rows.ok());
  ASSERT_EQ(real_rows->size(), simulated_rows->size());
  for (size_t i = 0; i < real_rows->size(); ++i) {
    if (!(*real_rows)[i].newest || !(*simulated_rows)[i].newest) continue;
    const LaneKey key = real.lanes[(*real_rows)[i].index].key;
    const auto old = std::find_if(lanes_.rbegin(), lanes_.rend(),
                                  [&](const Lane& lane) { return lane.key == key; });
    Lane next = *old;
    next.real.progress = *(*real_rows)[i].newest;
    next.simulated.progress = *(*simulated_rows)[i].newest;
    lanes_.push_back(std::move(next));
  }
}

void RandomCalls::Resolve() {
  pg::Params params;
  params.Int4(static_cast<int32_t>(Between(1, 4))).Int4(GroupId()).Int4(0);
  params.Int4(static_cast<int32_t>(Chance(50) ? 100 : Between(1, 3)));
  Call(storage::kResolve, std::move(params));
}

void RandomCalls::HasPending() {
  pg::Int4Array partitions;
  pg::Int4Array groups;
  for (int64_t left = Between(1, 4); left > 0; --left) {
    partitions.Add(PartitionId());
    groups.Add(GroupId());
  }
  pg::Params params;
  params.Add(std::move(partitions)).Add(std::move(groups));
  Call(storage::kHasPending, std::move(params));
}

void RandomCalls::Renew() {
  pg::UuidArray leases;
  pg::Int4Array seconds;
  for (int64_t left = Between(1, 3); left > 0; --left) {
    const size_t back = static_cast<size_t>(Between(1, 5));
    leases.Add(Chance(80) ? leases_[leases_.size() - std::min(back, leases_.size())]
                          : OneOf(leases_));
    seconds.Add(static_cast<int32_t>(Chance(50) ? 0 : Between(1, 100)));
  }
  pg::Params params;
  params.Add(std::move(leases)).Add(std::move(seconds));
  Call(storage::kRenewLease, std::move(params));
}

void RandomCalls::FindAckTargets() {
  pg::Int4Array partitions;
  pg::TextArray groups;
  pg::TextArray txns;
  for (int64_t left = Between(1, 5); left > 0; --left) {
    partitions.Add(PartitionId());
    groups.Add(Group());
    txns.Add(OneOf(txns_));
  }
  pg::Params params;
  params.Add(std::move(partitions)).Add(std::move(groups)).Add(std::move(txns));
  Call(storage::kFindAckTargets, std::move(params));
}

void RandomCalls::FindTransactionTargets() {
  pg::Int4Array partitions;
  pg::TextArray groups;
  pg::UuidArray leases;
  pg::TextArray txns;
  pg::UuidArray required;
  for (int64_t left = Between(1, 4); left > 0; --left) {
    partitions.Add(PartitionId());
    Chance(50) ? groups.Add(Group()) : groups.AddNull();
    Chance(50) ? leases.Add(OneOf(leases_)) : leases.AddNull();
    txns.Add(OneOf(txns_));
  }
  for (int64_t left = Between(0, 2); left > 0; --left) required.Add(OneOf(leases_));
  pg::Params params;
  params.Add(std::move(partitions)).Add(std::move(groups)).Add(std::move(leases));
  params.Add(std::move(txns)).Add(std::move(required));
  Call(storage::kFindTransactionTargets, std::move(params));
}

void RandomCalls::FindDeadLetters() {
  pg::Int4Array partitions;
  pg::Int4Array groups;
  pg::Int8Array seqs;
  for (int64_t left = Between(1, 20); left > 0; --left) {
    partitions.Add(PartitionId());
    groups.Add(GroupId());
    seqs.Add(Between(0, 20));
  }
  pg::Params params;
  params.Add(std::move(partitions)).Add(std::move(groups)).Add(std::move(seqs));
  Call(storage::kFindDeadLetters, std::move(params));
}

}  // namespace queen::simulator
