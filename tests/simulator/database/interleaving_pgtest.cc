// What sessions do to each other: the same plays on the real PostgreSQL and on the simulated one.
#include <gtest/gtest.h>

#include "simulator/database/testing/stage.h"
#include "storage/calls/append_lanes.h"
#include "storage/calls/load_lanes.h"
#include "storage/procedures.h"

namespace queen::simulator {
namespace {

constexpr int kAnn = 0;
constexpr int kBob = 1;
constexpr int kEve = 2;

class Interleaving : public testing::Test {
 protected:
  explicit Interleaving(int lock_timeout_ms = 120'000) : stage_(lock_timeout_ms) {}

  void SetUp() override {
    pg::TextArray queues;
    pg::TextArray partitions;
    for (const char* name : {"p", "q"}) {
      queues.Add("orders");
      partitions.Add(name);
    }
    pg::Params names;
    names.Add(std::move(queues)).Add(std::move(partitions));
    stage_.Run(kAnn, storage::kEnsurePartitions, std::move(names));
    pg::TextArray group_queues;
    pg::TextArray groups;
    pg::TextArray modes;
    pg::TimestampTzArray times;
    group_queues.Add("orders");
    groups.Add("g");
    modes.Add("all");
    times.AddNull();
    pg::Params group;
    group.Add(std::move(group_queues)).Add(std::move(groups)).Add(std::move(modes));
    group.Add(std::move(times));
    stage_.Run(kAnn, storage::kEnsureGroups, std::move(group));
    Push(kAnn, {kP, kQ}, false, 100);
    stage_.Begin(kAnn);
    stage_.End(kAnn);
  }

  // A message to each of the partitions.
  Stage& Push(int64_t broker, const std::vector<int32_t>& ids, bool wait, int64_t n) {
    pg::Int4Array partitions;
    pg::Int4Array counts;
    pg::TextArray payloads;
    pg::TextArray nothing[5];
    pg::TimestampTzArray never[2];
    pg::BoolArray untimed;
    pg::Int8Array known[2];
    for (const int32_t id : ids) {
      partitions.Add(id);
      counts.Add(1);
      payloads.Add("{}");
      for (auto& array : nothing) array.AddNull();
      for (auto& array : never) array.AddNull();
      untimed.AddNull();
      for (auto& array : known) array.Add(0);
    }
    pg::Params params(17);
    params.Int8(broker).Int8(n).Bool(wait).Add(std::move(partitions)).Add(std::move(counts));
    params.Add(std::move(payloads));
    for (int i = 0; i < 4; ++i) params.Add(std::move(nothing[i]));
    for (auto& array : never) params.Add(std::move(array));
    params.Add(std::move(untimed));
    for (auto& array : known) params.Add(std::move(array));
    params.Null(pg::oid::kBoolArray).Bool(false);
    return stage_.Call(storage::kPushMessages, std::move(params));
  }

  static pg::Params BatchKey(int64_t broker, int64_t n) {
    pg::Params params;
    params.Int8(broker).Int8(n);
    return params;
  }

  // The next row of a lane, with a lease.
  static engine::LaneAppend Lease(int32_t partition, int64_t epoch, int64_t stamp,
                                  int64_t new_stamp) {
    engine::LaneAppend append;
    append.key = {queen::PartitionId{partition}, queen::GroupId{1}};
    append.queue = queen::QueueId{1};
    append.prev_epoch = epoch;
    append.prev_stamp = stamp;
    append.next.stamp = new_stamp;
    append.next.lease = engine::Lease{LeaseId(new_stamp), 0, 1, 60};
    append.lease_ms = 60'000;
    append.next.deliveries = 1;
    return append;
  }
  static Uuid LeaseId(int64_t stamp) { return Uuid::FromHalves(7, static_cast<uint64_t>(stamp)); }

  Stage& Append(std::vector<engine::LaneAppend> lanes) {
    engine::AppendRequest request;
    request.broker = 1;
    request.lanes = std::move(lanes);
    return stage_.Call(storage::append_lanes::kAckStatement,
                       storage::append_lanes::Encode(request));
  }

  static pg::Params Renewal(int64_t stamp) {
    pg::UuidArray leases;
    pg::Int4Array seconds;
    leases.Add(LeaseId(stamp));
    seconds.Add(600);
    pg::Params params;
    params.Add(std::move(leases)).Add(std::move(seconds));
    return params;
  }

  static constexpr int32_t kP = 1;
  static constexpr int32_t kQ = 2;
  Stage stage_;
};

TEST_F(Interleaving, AskingForABatchWaitsForItsCommit) {
  Push(1, {kP}, false, 5).Gate(1).Begin(kAnn);
  stage_.WaitBlocked(kAnn);
  stage_.Call(storage::kResolveBatch, BatchKey(1, 5)).Begin(kBob);
  stage_.WaitBlocked(kBob);
  stage_.Open(1);
  stage_.End(kAnn);
  const pg::BatchResult asked = stage_.End(kBob);
  EXPECT_TRUE(asked.rows.at(0).Bool(0, 0));
}

TEST_F(Interleaving, ABatchThatWasGivenUpNeverComes) {
  Push(1, {kP}, false, 5).Gate(1).Fail().Begin(kAnn);
  stage_.WaitBlocked(kAnn);
  stage_.Call(storage::kResolveBatch, BatchKey(1, 5)).Begin(kBob);
  stage_.WaitBlocked(kBob);
  stage_.Open(1);
  EXPECT_EQ(stage_.End(kAnn).sqlstate, "QN013");
  EXPECT_FALSE(stage_.End(kBob).rows.at(0).Bool(0, 0));
  Push(1, {kP}, false, 5).Begin(kAnn);
  EXPECT_EQ(stage_.End(kAnn).sqlstate, "23505");
}

TEST_F(Interleaving, ABusyPartitionIsNotWaitedFor) {
  Push(1, {kP}, false, 5).Gate(1).Begin(kAnn);
  stage_.WaitBlocked(kAnn);
  Push(2, {kP, kQ}, false, 1).Begin(kBob);
  stage_.End(kBob);
  stage_.Open(1);
  stage_.End(kAnn);
  Push(2, {kP, kQ}, false, 2).Begin(kBob);
  stage_.End(kBob);
}

TEST_F(Interleaving, WhoWaitsForAPartitionAppendsBehind) {
  Push(1, {kP}, false, 5).Gate(1).Begin(kAnn);
  stage_.WaitBlocked(kAnn);
  Push(2, {kP}, true, 1).Begin(kBob);
  stage_.WaitBlocked(kBob);
  stage_.Open(1);
  EXPECT_EQ(stage_.End(kAnn).rows.at(0).Int8(0, 2), 1);
  EXPECT_EQ(stage_.End(kBob).rows.at(0).Int8(0, 2), 2);
}

TEST_F(Interleaving, WhatIsNotCommittedIsReadByNobody) {
  Push(1, {kP}, false, 5).Gate(1).Begin(kAnn);
  stage_.WaitBlocked(kAnn);
  const auto load = [&] {
    return stage_.Run(
        kBob, storage::load_lanes::kStatement,
        storage::load_lanes::Encode({{{queen::PartitionId{kP}, queen::GroupId{1}}, 9}}));
  };
  load();
  stage_.Open(1);
  stage_.End(kAnn);
  load();
}

TEST_F(Interleaving, TheFirstRowOfALaneIsMadeByOne) {
  Append({Lease(kP, 0, 0, 11)}).Gate(1).Begin(kAnn);
  stage_.WaitBlocked(kAnn);
  Append({Lease(kP, 0, 0, 22)}).Begin(kBob);
  EXPECT_EQ(stage_.End(kBob).rows.at(0).Text(0, 1), "busy");
  stage_.Open(1);
  stage_.End(kAnn);
  Append({Lease(kP, 0, 0, 33)}).Begin(kBob);
  EXPECT_EQ(stage_.End(kBob).rows.at(0).Text(0, 1), "lost");
}

TEST_F(Interleaving, ALaneThatIsBeingChangedIsSkipped) {
  Append({Lease(kP, 0, 0, 11), Lease(kQ, 0, 0, 12)}).Begin(kAnn);
  stage_.End(kAnn);
  Append({Lease(kP, 1, 11, 21)}).Gate(1).Begin(kAnn);
  stage_.WaitBlocked(kAnn);
  Append({Lease(kP, 1, 11, 31), Lease(kQ, 1, 12, 32)}).Begin(kBob);
  const pg::BatchResult both = stage_.End(kBob);
  EXPECT_EQ(both.rows.at(0).Text(0, 1), "busy");
  EXPECT_EQ(both.rows.at(0).Text(1, 1), "won");
  stage_.Open(1);
  stage_.End(kAnn);
}

TEST_F(Interleaving, AWinnerIsInvisibleToTheStatementThatLoses) {
  Append({Lease(kP, 0, 0, 11)}).Begin(kAnn);
  stage_.End(kAnn);
  Append({Lease(kP, 1, 11, 21)}).Gate(1).Begin(kAnn);
  stage_.WaitBlocked(kAnn);
  // A renewal locks nothing: its row waits for the one that is not committed.
  stage_.Call(storage::kRenewLease, Renewal(11)).Begin(kBob);
  stage_.WaitBlocked(kBob);
  stage_.Open(1);
  stage_.End(kAnn);
  EXPECT_EQ(stage_.End(kBob).rows.at(0).Text(0, 1), "again");
}

TEST_F(Interleaving, ARowThatWasGivenUpLeavesItsPlace) {
  Append({Lease(kP, 0, 0, 11)}).Begin(kAnn);
  stage_.End(kAnn);
  Append({Lease(kP, 1, 11, 21)}).Gate(1).Fail().Begin(kAnn);
  stage_.WaitBlocked(kAnn);
  stage_.Call(storage::kRenewLease, Renewal(11)).Begin(kBob);
  stage_.WaitBlocked(kBob);
  stage_.Open(1);
  stage_.End(kAnn);
  EXPECT_EQ(stage_.End(kBob).rows.at(0).Text(0, 1), "renewed");
}

TEST_F(Interleaving, ASweepLeavesALaneThatIsHeld) {
  for (const int32_t partition : {kP, kQ}) {
    Append({Lease(partition, 0, 0, 11)}).Begin(kAnn);
    stage_.End(kAnn);
    Append({Lease(partition, 1, 11, 12)}).Begin(kAnn);
    stage_.End(kAnn);
  }
  // Holds the row before the newest of p, as an append does that was decided from it.
  Append({Lease(kP, 1, 11, 21)}).Gate(1).Begin(kAnn);
  stage_.WaitBlocked(kAnn);
  pg::Params sweep;
  sweep.Int4(0).Int4(0).Int4(10);
  stage_.Run(kBob, storage::kSweepProgress, std::move(sweep));
  stage_.Open(1);
  stage_.End(kAnn);
}

TEST_F(Interleaving, ATailIsToldOfWhoHadBegunBefore) {
  const auto tail = [&](const std::string* since) {
    pg::Params params;
    since == nullptr ? params.Null(pg::oid::kText) : params.Text(*since);
    params.Int4(100).Int8(9).Int8(9);
    return params;
  };
  Push(1, {kP}, false, 5).Gate(1).Begin(kAnn);
  stage_.WaitBlocked(kAnn);
  stage_.Call(storage::kTail, tail(nullptr)).Begin(kBob);
  const auto [real, simulated] = stage_.EndUncompared(kBob);
  const std::string real_since(real.rows.at(0).Text(0, 2));
  const std::string simulated_since(simulated.rows.at(0).Text(0, 2));
  stage_.Open(1);
  stage_.End(kAnn);
  pg::Params real_params = tail(&real_since);
  pg::Params simulated_params = tail(&simulated_since);
  stage_.Call(storage::kTail, std::move(real_params), std::move(simulated_params)).Begin(kBob);
  EXPECT_EQ(stage_.End(kBob).rows.at(0).rows(), 2);
}

TEST_F(Interleaving, OneOfTwoThatWaitForEachOtherIsTheVictim) {
  Push(1, {kP}, true, 5).Gate(1);
  Push(1, {kQ}, true, 6).Begin(kAnn);
  stage_.WaitBlocked(kAnn);
  Push(2, {kQ}, true, 5).Gate(2);
  Push(2, {kP}, true, 6).Begin(kBob);
  stage_.WaitBlocked(kBob);
  stage_.Open(1);
  stage_.Open(2);
  const auto ann = stage_.EndUncompared(kAnn);
  const auto bob = stage_.EndUncompared(kBob);
  for (const auto& [one, other] :
       {std::pair(&ann.first, &bob.first), std::pair(&ann.second, &bob.second)}) {
    EXPECT_NE(one->ok(), other->ok());
    EXPECT_EQ(one->ok() ? other->sqlstate : one->sqlstate, "40P01");
  }
}

TEST_F(Interleaving, ThreeWaitInTurn) {
  Push(1, {kP}, true, 5).Gate(1).Begin(kAnn);
  stage_.WaitBlocked(kAnn);
  Push(2, {kP}, true, 5).Begin(kBob);
  stage_.WaitBlocked(kBob);
  Push(3, {kP}, true, 5).Begin(kEve);
  stage_.WaitBlocked(kEve);
  stage_.Open(1);
  stage_.End(kAnn);
  EXPECT_EQ(stage_.End(kBob).rows.at(0).Int8(0, 2), 2);
  EXPECT_EQ(stage_.End(kEve).rows.at(0).Int8(0, 2), 3);
}

TEST_F(Interleaving, ACrashKeepsWhatIsDurableAndNothingThatWasUnderWay) {
  Push(1, {kP}, false, 5).Begin(kBob);
  stage_.End(kBob);
  Push(1, {kQ}, false, 6).Gate(1).Begin(kAnn);
  stage_.WaitBlocked(kAnn);
  stage_.Crash();
  EXPECT_TRUE(stage_.Run(kBob, storage::kResolveBatch, BatchKey(1, 5)).rows.at(0).Bool(0, 0));
  EXPECT_FALSE(stage_.Run(kBob, storage::kResolveBatch, BatchKey(1, 6)).rows.at(0).Bool(0, 0));
  Push(1, {kP, kQ}, false, 7).Begin(kBob);
  stage_.End(kBob);
}

class Impatient : public Interleaving {
 protected:
  Impatient() : Interleaving(300) {}
};

TEST_F(Impatient, AWaitEndsWithTheLockTimeout) {
  // Ann waits at a gate no longer than Bob waits for her.
  Push(1, {kP}, false, 5).Gate(1).Begin(kAnn);
  EXPECT_EQ(stage_.End(kAnn).sqlstate, "55P03");
  stage_.Open(1);
  Push(1, {kP}, false, 5).Begin(kAnn);
  stage_.End(kAnn);
}

}  // namespace
}  // namespace queen::simulator
