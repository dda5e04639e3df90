#include "bench/ledger.h"

#include <algorithm>
#include <cassert>

namespace queen::bench {

Verdict& Verdict::operator+=(const Verdict& other) {
  lost += other.lost;
  duplicated += other.duplicated;
  reordered += other.reordered;
  unexpected += other.unexpected;
  return *this;
}

Ledger::Ledger(uint64_t run, uint32_t producers, uint32_t partitions, uint32_t groups)
    : run_(run),
      producers_(producers),
      partitions_(partitions),
      groups_(groups),
      lanes_(size_t{producers} * partitions),
      ends_(lanes_.size() * groups) {}

uint32_t Ledger::Send(uint32_t producer, uint32_t partition) {
  assert(producer < producers_ && partition < partitions_);
  return lanes_[LaneOf(producer, partition)].sent++;
}

void Ledger::Confirm(uint32_t producer, uint32_t partition, uint32_t count) {
  Lane& lane = lanes_[LaneOf(producer, partition)];
  lane.confirmed += count;
  assert(lane.confirmed <= lane.sent);
  confirmed_ += count;
}

bool Ledger::Receive(uint32_t group, const Stamp& stamp) {
  assert(group < groups_);
  if (stamp.run != run_ || stamp.producer >= producers_ || stamp.partition >= partitions_) {
    ++unexpected_;
    return false;
  }
  const size_t lane = LaneOf(stamp.producer, stamp.partition);
  if (stamp.seq >= lanes_[lane].sent) {
    ++unexpected_;
    return false;
  }
  const size_t index = lanes_.size() * group + lane;
  uint32_t& end = ends_[index];
  if (stamp.seq < end) {
    if (!FillGap(index, stamp.seq)) {
      ++duplicated_;
      return false;
    }
    ++reordered_;
  } else {
    if (stamp.seq > end) open_gaps_[index].emplace(end, stamp.seq);
    end = stamp.seq + 1;
  }
  ++received_;
  return true;
}

bool Ledger::FillGap(size_t index, uint32_t seq) {
  const auto of_lane = open_gaps_.find(index);
  if (of_lane == open_gaps_.end()) return false;
  Gaps& gaps = of_lane->second;
  auto gap = gaps.upper_bound(seq);
  if (gap == gaps.begin()) return false;
  --gap;
  const uint32_t end = gap->second;
  if (seq >= end) return false;
  gap->second = seq;
  if (gap->first == seq) gaps.erase(gap);
  if (seq + 1 < end) gaps.emplace(seq + 1, end);
  if (gaps.empty()) open_gaps_.erase(of_lane);
  return true;
}

bool Ledger::complete() const { return backlog() == 0; }

uint64_t Ledger::backlog() const {
  const uint64_t wanted = confirmed_ * groups_;
  return wanted > received_ ? wanted - received_ : 0;
}

uint64_t Ledger::MissingBelow(size_t index, uint32_t limit) const {
  const auto of_lane = open_gaps_.find(index);
  if (of_lane == open_gaps_.end()) return 0;
  uint64_t missing = 0;
  for (const auto& [begin, end] : of_lane->second) {
    if (begin < limit) missing += std::min(end, limit) - begin;
  }
  return missing;
}

Verdict Ledger::Judge(bool all) const {
  Verdict verdict{.duplicated = duplicated_, .reordered = reordered_, .unexpected = unexpected_};
  for (size_t i = 0; i < ends_.size(); ++i) {
    const uint32_t confirmed = lanes_[i % lanes_.size()].confirmed;
    verdict.lost += MissingBelow(i, confirmed);
    if (all && confirmed > ends_[i]) verdict.lost += confirmed - ends_[i];
  }
  return verdict;
}

}  // namespace queen::bench
