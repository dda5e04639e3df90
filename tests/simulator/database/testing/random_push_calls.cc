// Pushes and transactions of RandomCalls.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "simulator/database/testing/random_calls.h"
#include "storage/calls/push_and_lease.h"
#include "storage/procedures.h"
#include "storage/txn_time.h"

namespace queen::simulator {
namespace {

// What the broker says about the transactionIds of a segment.
struct Summary {
  std::optional<std::string> least;
  std::optional<std::string> greatest;
  std::optional<int64_t> time_min;
  std::optional<int64_t> time_max;
  std::optional<bool> untimed;
};

Summary Summarise(const std::vector<std::string>& txns) {
  Summary summary;
  for (const std::string& txn : txns) {
    if (txn.empty()) continue;
    summary.least = std::min(summary.least.value_or(txn), txn);
    summary.greatest = std::max(summary.greatest.value_or(txn), txn);
    const auto time = storage::TimeInside(txn);
    summary.untimed = summary.untimed.value_or(false) || !time;
    if (!time) continue;
    summary.time_min = std::min(summary.time_min.value_or(*time), *time);
    summary.time_max = std::max(summary.time_max.value_or(*time), *time);
  }
  return summary;
}

template <typename Array, typename Value>
void AddOrNull(Array& array, const std::optional<Value>& value) {
  value ? array.Add(*value) : array.AddNull();
}

}  // namespace

std::vector<RandomCalls::Segment> RandomCalls::RandomSegments(bool always_txns) {
  std::vector<Segment> segments(static_cast<size_t>(Between(1, 3)));
  std::set<std::pair<int32_t, std::string>> used;  // once per partition
  for (Segment& segment : segments) {
    segment.partition = PartitionId();
    segment.has_txns = always_txns || Chance(70);
    for (int64_t left = Between(1, 4); left > 0; --left) {
      std::string txn = segment.has_txns && (always_txns || Chance(85)) ? Txn() : "";
      if (!txn.empty() && !used.emplace(segment.partition, txn).second) txn.clear();
      segment.txns.push_back(txn);
    }
    segment.has_txns = std::any_of(segment.txns.begin(), segment.txns.end(),
                                   [](const std::string& txn) { return !txn.empty(); });
  }
  return segments;
}

void RandomCalls::AddSegments(const std::vector<Segment>& segments, bool wait, int64_t known_to,
                              pg::Params& params, bool transaction) {
  pg::Int4Array partitions;
  pg::Int4Array counts;
  pg::TextArray payloads;
  pg::TextArray txns;
  pg::TextArray metas;
  pg::TextArray txn_mins;
  pg::TextArray txn_maxs;
  pg::TimestampTzArray time_mins;
  pg::TimestampTzArray time_maxs;
  pg::BoolArray untimed;
  pg::Int8Array known_froms;
  pg::Int8Array known_tos;
  for (const Segment& segment : segments) {
    partitions.Add(segment.partition);
    counts.Add(static_cast<int32_t>(segment.txns.size()));
    std::vector<std::string> lines;
    for (size_t i = 0; i < segment.txns.size(); ++i)
      lines.push_back(fmt::format("{{\"n\":{}}}", i));
    payloads.Add(fmt::format("{}", fmt::join(lines, "\n")));
    const Summary summary = Summarise(segment.txns);
    segment.has_txns ? txns.Add(fmt::format("{}", fmt::join(segment.txns, "\n"))) : txns.AddNull();
    metas.AddNull();
    AddOrNull(txn_mins, summary.least);
    AddOrNull(txn_maxs, summary.greatest);
    AddOrNull(time_mins, summary.time_min);
    AddOrNull(time_maxs, summary.time_max);
    AddOrNull(untimed, summary.untimed);
    known_froms.Add(0);
    known_tos.Add(known_to);
  }
  if (!transaction) params.Bool(wait);
  params.Add(std::move(partitions)).Add(std::move(counts)).Add(std::move(payloads));
  params.Add(std::move(txns)).Add(std::move(metas)).Add(std::move(txn_mins));
  params.Add(std::move(txn_maxs)).Add(std::move(time_mins)).Add(std::move(time_maxs));
  params.Add(std::move(untimed));
  if (!transaction) params.Add(std::move(known_froms)).Add(std::move(known_tos));
}

void RandomCalls::Push() {
  const std::vector<Segment> segments = RandomSegments(false);
  pg::Params params(17);
  params.Int8(Between(1, 2));
  // A key that was resolved before is refused.
  Chance(80) ? params.Int8(Chance(90) ? ++batches_ : Between(1, batches_ + 1))
             : params.Null(pg::oid::kInt8);
  AddSegments(segments, Chance(50), 0, params, false);
  if (Chance(90)) {
    params.Null(pg::oid::kBoolArray);
  } else {
    pg::BoolArray encrypted;
    for (size_t i = 0; i < segments.size(); ++i) encrypted.Add(true);
    params.Add(std::move(encrypted));
  }
  params.Bool(false);
  const auto answers = Call(storage::kPushMessages, std::move(params));
  if (!answers.ok()) return;
  const pg::Rows& rows = answers.real.rows[0];
  for (int row = 0; row < rows.rows(); ++row) {
    if (rows.Text(row, 1) != "queued") continue;
    const auto place = static_cast<size_t>(rows.Int4(row, 0) - 1);
    bases_.emplace_back(segments[place].partition, rows.Int8(row, 2));
  }
}

// A segment to the partition of each of some lanes, and a lease on what is pushed there.
void RandomCalls::PushAndLease() {
  if (lanes_.empty()) return LoadLanes();
  std::vector<Segment> segments = RandomSegments(false);
  std::vector<storage::push_and_lease::Lease> real;
  std::vector<storage::push_and_lease::Lease> simulated;
  std::set<std::pair<int32_t, int32_t>> taken;
  for (size_t i = 0; i < segments.size(); ++i) {
    const size_t back = Chance(70) ? 1 : static_cast<size_t>(Between(1, 10));
    const Lane& lane = lanes_[lanes_.size() - std::min(back, lanes_.size())];
    const bool first = std::none_of(
        segments.begin(), segments.begin() + static_cast<int64_t>(i),
        [&](const Segment& other) { return other.partition == lane.key.partition.value; });
    if (!first || !taken.emplace(lane.key.partition.value, lane.key.group.value).second) continue;
    segments[i].partition = lane.key.partition.value;
    engine::LaneAppend append = RandomAppend(lane);
    engine::Progress next;
    next.stamp = append.next.stamp;
    next.cursor = lane.real.log.end;
    next.deliveries = append.next.deliveries;
    next.lease = engine::Lease{LeaseId(), 0, next.cursor + 1, 30};
    append.next = next;
    append.lease_ms = 30'000;
    append.log_end = lane.real.log.end;
    real.push_back({append, static_cast<int32_t>(i)});
    append.prev_stamp = lane.simulated.progress.stamp;
    simulated.push_back({append, static_cast<int32_t>(i)});
  }
  if (real.empty()) return;
  const int64_t broker = Between(1, 2);
  const int64_t n = ++batches_;
  const auto params_with = [&](const std::vector<storage::push_and_lease::Lease>& leases) {
    pg::Params params(33);
    params.Int8(broker).Int8(n);
    AddSegments(segments, false, 0, params, false);
    params.Null(pg::oid::kBoolArray).Bool(false);
    storage::push_and_lease::AddLeases(leases, params);
    return params;
  };
  const auto answers =
      Call(storage::push_and_lease::kStatement, params_with(real), params_with(simulated));
  if (!answers.ok()) return;
  const auto real_rows = storage::push_and_lease::Decode(answers.real.rows[0]);
  const auto simulated_rows = storage::push_and_lease::Decode(answers.simulated.rows[0]);
  ASSERT_TRUE(real_rows.ok() && simulated_rows.ok());
  ASSERT_EQ(real_rows->leases.size(), simulated_rows->leases.size());
  for (size_t i = 0; i < real_rows->leases.size(); ++i) {
    const auto& newest = real_rows->leases[i].newest;
    const auto& other = simulated_rows->leases[i].newest;
    if (!newest || !other) continue;
    const engine::LaneKey key = real[real_rows->leases[i].index].append.key;
    Lane next = *std::find_if(lanes_.rbegin(), lanes_.rend(),
                              [&](const Lane& lane) { return lane.key == key; });
    next.real.progress = *newest;
    next.simulated.progress = *other;
    lanes_.push_back(std::move(next));
  }
}

void RandomCalls::Transaction() {
  static const std::vector<std::string> kKinds{"completed", "completed", "completed",
                                               "failed",    "dlq",       "retry"};
  std::vector<Segment> segments;
  if (Chance(60)) segments = RandomSegments(Chance(50));
  pg::Params params(24);
  params.Int8(Between(1, 2));
  Chance(80) ? params.Int8(++batches_) : params.Null(pg::oid::kInt8);
  AddSegments(segments, true, 0, params, true);
  pg::Int4Array push_indexes;
  int32_t index = 0;
  for (const Segment& segment : segments) {
    for (size_t i = 0; i < segment.txns.size(); ++i) push_indexes.Add(index++);
  }
  params.Add(std::move(push_indexes));

  pg::Int4Array indexes;
  pg::Int4Array partitions;
  pg::Int4Array groups;
  pg::UuidArray leases;
  pg::TextArray txns;
  pg::Int8Array seqs;
  pg::TextArray kinds;
  pg::BoolArray cumulatives;
  pg::TextArray errors;
  pg::UuidArray required;
  int64_t acks = segments.empty() ? Between(1, 3) : Between(0, 3);
  if (lanes_.empty()) acks = 0;
  for (; acks > 0; --acks) {
    const Lane& lane = OneOf(lanes_);
    indexes.Add(index++);
    partitions.Add(lane.key.partition.value);
    Chance(80) ? groups.Add(lane.key.group.value) : groups.AddNull();
    const auto& lease = lane.real.progress.lease;
    lease&& Chance(60) ? leases.Add(lease->id) : leases.AddNull();
    const bool known = Chance(80);
    txns.Add(known ? "known" : OneOf(txns_));
    known ? seqs.Add(lane.real.progress.cursor + Between(0, 2)) : seqs.AddNull();
    kinds.Add(OneOf(kKinds));
    cumulatives.Add(Chance(30));
    Chance(50) ? errors.AddNull() : errors.Add("it broke");
  }
  if (Chance(20)) required.Add(OneOf(leases_));
  params.Add(std::move(indexes)).Add(std::move(partitions)).Add(std::move(groups));
  params.Add(std::move(leases)).Add(std::move(txns)).Add(std::move(seqs)).Add(std::move(kinds));
  params.Add(std::move(cumulatives)).Add(std::move(errors)).Add(std::move(required));
  params.Null(pg::oid::kBoolArray);
  Call(storage::kExecuteTransaction, std::move(params));
}

}  // namespace queen::simulator
