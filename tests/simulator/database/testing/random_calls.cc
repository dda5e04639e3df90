#include "simulator/database/testing/random_calls.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "storage/calls/append_lanes.h"
#include "storage/procedures.h"

namespace queen::simulator {

RandomCalls::RandomCalls(Twins& twins, uint64_t seed) : twins_(twins), random_(seed) {
  for (int i = 0; i < 3; ++i) leases_.push_back(LeaseId());
}

int64_t RandomCalls::Between(int64_t low, int64_t high) {
  return RandomBetween(random_, low, high);
}

std::string RandomCalls::Queue() { return fmt::format("shop{}.orders", Between(1, 3)); }
std::string RandomCalls::Partition() { return fmt::format("p{}", Between(1, 3)); }
std::string RandomCalls::Group() { return fmt::format("g{}", Between(1, 3)); }
int32_t RandomCalls::PartitionId() { return OneOf(partitions_); }
int32_t RandomCalls::GroupId() { return OneOf(groups_); }

Uuid RandomCalls::LeaseId() { return Uuid::FromHalves(random_(), random_()); }

// A UUIDv7 near the clock or far from it, or text; sometimes one that was used before.
std::string RandomCalls::Txn() {
  if (Chance(25)) return OneOf(txns_);
  std::string txn;
  if (Chance(60)) {
    const int64_t off = Chance(80) ? Between(-5'000, 5'000) : Between(-200'000, 200'000);
    const auto millis = static_cast<uint64_t>(twins_.now_micros() / 1000 + off);
    txn = Uuid::FromHalves((millis << 16) | 0x7000 | (random_() & 0xfff),
                           (uint64_t{2} << 62) | (random_() >> 2))
              .ToString();
  } else {
    txn = fmt::format("order-{}", Between(1, 200));
  }
  txns_.push_back(txn);
  return txn;
}

Twins::Answers RandomCalls::Call(const pg::Statement& statement, pg::Params params) {
  ++counts_[statement.name];
  return twins_.Call(statement, std::move(params));
}

Twins::Answers RandomCalls::Call(const pg::Statement& statement, pg::Params real,
                                 pg::Params simulated) {
  ++counts_[statement.name];
  return twins_.Call(statement, std::move(real), std::move(simulated));
}

void RandomCalls::CallOne() {
  using Maker = void (RandomCalls::*)();
  static const std::vector<std::pair<int, Maker>> kMakers{
      {6, &RandomCalls::EnsurePartitions},
      {2, &RandomCalls::FindPartitions},
      {2, &RandomCalls::FindPopNames},
      {4, &RandomCalls::EnsureGroups},
      {2, &RandomCalls::FindFamily},
      {20, &RandomCalls::Push},
      {12, &RandomCalls::PushAndLease},
      {2, &RandomCalls::LoadIds},
      {2, &RandomCalls::IndexUntimed},
      {1, &RandomCalls::Heartbeat},
      {4, &RandomCalls::ResolveBatch},
      {3, &RandomCalls::Fetch},
      {4, &RandomCalls::Tail},
      {14, &RandomCalls::LoadLanes},
      {24, &RandomCalls::AppendLanes},
      {3, &RandomCalls::Resolve},
      {3, &RandomCalls::HasPending},
      {5, &RandomCalls::Renew},
      {4, &RandomCalls::FindAckTargets},
      {3, &RandomCalls::FindTransactionTargets},
      {2, &RandomCalls::FindDeadLetters},
      {10, &RandomCalls::Transaction},
      {2, &RandomCalls::Configure},
      {1, &RandomCalls::Delete},
      {3, &RandomCalls::Seek},
      {3, &RandomCalls::SweepProgress},
      {3, &RandomCalls::SweepSegments},
      {1, &RandomCalls::SweepBatches},
  };
  static const int kSum = [] {
    int sum = 0;
    for (const auto& maker : kMakers) sum += maker.first;
    return sum;
  }();
  twins_.Advance(Chance(90) ? Between(1, 50'000) : Between(1, 20'000'000));
  int64_t place = Between(1, kSum);
  for (const auto& [weight, maker] : kMakers) {
    place -= weight;
    if (place <= 0) return (this->*maker)();
  }
}

// ---- names

void RandomCalls::EnsurePartitions() {
  pg::TextArray queues;
  pg::TextArray partitions;
  for (int64_t left = Between(1, 3); left > 0; --left) {
    queues.Add(Queue());
    partitions.Add(Partition());
  }
  pg::Params params;
  params.Add(std::move(queues)).Add(std::move(partitions));
  const auto answers = Call(storage::kEnsurePartitions, std::move(params));
  if (!answers.ok()) return;
  const pg::Rows& rows = answers.real.rows[0];
  for (int row = 0; row < rows.rows(); ++row) partitions_.push_back(rows.Int4(row, 2));
}

void RandomCalls::FindPartitions() {
  pg::TextArray queues;
  pg::TextArray partitions;
  for (int64_t left = Between(1, 3); left > 0; --left) {
    queues.Add(Queue());
    partitions.Add(Partition());
  }
  pg::Params params;
  params.Add(std::move(queues)).Add(std::move(partitions));
  Call(storage::kFindPartitions, std::move(params));
}

void RandomCalls::FindPopNames() {
  pg::TextArray queues;
  pg::TextArray groups;
  pg::TextArray partitions;
  for (int64_t left = Between(1, 3); left > 0; --left) {
    queues.Add(Queue());
    groups.Add(Group());
    Chance(50) ? partitions.AddNull() : partitions.Add(Partition());
  }
  pg::Params params;
  params.Add(std::move(queues)).Add(std::move(groups)).Add(std::move(partitions));
  Call(storage::kFindPopNames, std::move(params));
}

void RandomCalls::EnsureGroups() {
  static const std::vector<std::string> kModes{"all", "new", "time"};
  std::set<std::pair<std::string, std::string>> names;
  for (int64_t left = Between(1, 3); left > 0; --left) names.emplace(Queue(), Group());
  pg::TextArray queues;
  pg::TextArray groups;
  pg::TextArray modes;
  pg::TimestampTzArray times;
  for (const auto& [queue, group] : names) {
    queues.Add(queue);
    groups.Add(group);
    const std::string& mode = OneOf(kModes);
    modes.Add(mode);
    mode == "time" ? times.Add(twins_.now_micros() - Between(0, 60'000'000)) : times.AddNull();
  }
  pg::Params params;
  params.Add(std::move(queues)).Add(std::move(groups)).Add(std::move(modes));
  params.Add(std::move(times));
  const auto answers = Call(storage::kEnsureGroups, std::move(params));
  if (!answers.ok()) return;
  const pg::Rows& rows = answers.real.rows[0];
  for (int row = 0; row < rows.rows(); ++row) groups_.push_back(rows.Int4(row, 2));
}

void RandomCalls::FindFamily() {
  pg::Params params;
  const bool task = Chance(50);
  if (task && Chance(50)) {
    params.Null(pg::oid::kText);
  } else {
    params.Text(fmt::format("shop{}", Between(1, 3)));
  }
  task ? params.Text("orders") : params.Null(pg::oid::kText);
  params.Text(Group()).Text(Chance(50) ? "all" : "new").Null(pg::oid::kTimestampTz);
  Call(storage::kFindFamily, std::move(params));
}

// ---- the log

void RandomCalls::LoadIds() {
  pg::Params params;
  params.Int4(PartitionId());
  Chance(50) ? params.Null(pg::oid::kInt8) : params.Int8(Between(0, 20));
  params.Int8(Between(0, 200));
  Call(storage::kLoadIds, std::move(params));
}

void RandomCalls::IndexUntimed() {
  pg::Params params;
  params.Int4(PartitionId());
  Call(storage::kIndexUntimed, std::move(params));
}

void RandomCalls::Heartbeat() {
  pg::Params params;
  params.Int8(Between(1, 2));
  Call(storage::kHeartbeat, std::move(params));
}

void RandomCalls::ResolveBatch() {
  pg::Params params;
  params.Int8(Between(1, 2)).Int8(Between(1, batches_ + 2));
  Call(storage::kResolveBatch, std::move(params));
}

void RandomCalls::Fetch() {
  pg::Int4Array partitions;
  pg::Int8Array bases;
  for (int64_t left = Between(1, 3); left > 0; --left) {
    const auto [partition, base] = OneOf(bases_);
    partitions.Add(partition);
    bases.Add(base);
  }
  pg::Params params;
  params.Add(std::move(partitions)).Add(std::move(bases));
  Call(storage::kFetch, std::move(params));
}

void RandomCalls::Tail() {
  const auto make = [&](const std::string& since, int32_t limit, int64_t own) {
    pg::Params params;
    since.empty() ? params.Null(pg::oid::kText) : params.Text(since);
    params.Int4(limit).Int8(own).Int8(own);
    return params;
  };
  const int32_t limit = Chance(80) ? 100 : 2;
  const int64_t own = Between(1, 3);
  pg::Params real = make(real_since_, limit, own);
  pg::Params simulated = make(simulated_since_, limit, own);
  const auto answers = Call(storage::kTail, std::move(real), std::move(simulated));
  if (!answers.ok()) return;
  const auto last = [](const pg::Rows& rows) {
    for (int row = 0; row < rows.rows(); ++row) {
      if (!rows.IsNull(row, 2)) return std::string(rows.Text(row, 2));
    }
    return std::string();
  };
  real_since_ = last(answers.real.rows[0]);
  simulated_since_ = last(answers.simulated.rows[0]);
}

// ---- administration

void RandomCalls::Configure() {
  static const std::vector<std::string> kOptions{
      R"({"retryLimit": 0, "retryDelay": 0})",
      R"({"retryLimit": 2, "retryDelay": 1500, "maxDeliveries": 3})",
      R"({"delayedProcessing": 2})",
      R"({"delayedProcessing": 0, "windowBuffer": 0, "leaseTime": 20})",
      R"({"windowBuffer": 2})",
      R"({"retentionEnabled": true, "retentionSeconds": 60})",
      R"({"retentionEnabled": true, "retentionSeconds": 0, "completedRetentionSeconds": 5})",
      R"({"maxWaitTimeSeconds": 90, "priority": 4})",
      R"({"retentionEnabled": false, "maxWaitTimeSeconds": 0, "maxSize": 1000})",
      R"({"encryptionEnabled": true})",
      R"({"encryptionEnabled": false})",
      "{}",
  };
  pg::Params params;
  params.Text(Queue());
  Chance(70) ? params.Null(pg::oid::kText) : params.Text(fmt::format("shop{}", Between(1, 3)));
  Chance(70) ? params.Null(pg::oid::kText) : params.Text("orders");
  params.Jsonb(OneOf(kOptions)).Bool(Chance(40));
  Call(storage::kConfigure, std::move(params));
}

void RandomCalls::Delete() {
  pg::Params params;
  switch (Between(1, 3)) {
    case 1:
      params.Text(Queue());
      Call(storage::kDeleteQueue, std::move(params));
      return;
    case 2:
      params.Text(Queue()).Text(Partition());
      Call(storage::kDeletePartition, std::move(params));
      return;
    default:
      params.Text(Group());
      Chance(30) ? params.Null(pg::oid::kText) : params.Text(Queue());
      params.Bool(Chance(50));
      Call(storage::kDeleteGroup, std::move(params));
  }
}

void RandomCalls::Seek() {
  static const std::vector<std::string> kModes{"end", "after", "offset"};
  pg::Params params;
  params.Text(Queue()).Text(Group());
  Chance(50) ? params.Null(pg::oid::kText) : params.Text(Partition());
  params.Text(OneOf(kModes)).TimestampTz(twins_.now_micros() - Between(0, 60'000'000));
  params.Int8(Between(-1, 40)).Int4(0).Int4(static_cast<int32_t>(Between(1, 10)));
  Call(storage::kSeek, std::move(params));
}

void RandomCalls::SweepProgress() {
  pg::Params params;
  params.Int4(Chance(50) ? 0 : PartitionId()).Int4(Chance(50) ? 0 : GroupId());
  params.Int4(static_cast<int32_t>(Between(1, 20)));
  Call(storage::kSweepProgress, std::move(params));
}

void RandomCalls::SweepSegments() {
  pg::Params params;
  params.Int4(Chance(70) ? 0 : PartitionId()).Int4(static_cast<int32_t>(Between(1, 20)));
  params.Int4(static_cast<int32_t>(Chance(50) ? 1000 : Between(1, 10)));
  Call(storage::kSweepSegments, std::move(params));
}

void RandomCalls::SweepBatches() {
  pg::Params params;
  params.Int4(0).Int4(100'000).Int8(0);
  Call(storage::kSweepBatches, std::move(params));
}

}  // namespace queen::simulator
