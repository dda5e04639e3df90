#include "state/ready_ring.h"

#include <algorithm>
#include <functional>

namespace queen::state {
namespace {

constexpr size_t kStaleSlack = 64;

}  // namespace

bool ReadyRing::Add(PartitionId partition) {
  if (held_.Contains(partition.value)) return false;
  CancelLater(partition.value);
  if (!in_ready_.Insert(partition.value)) return false;
  ready_.push_back(partition.value);
  if (ready_.size() > 2 * in_ready_.size() + kStaleSlack) {
    IdSet kept;
    std::erase_if(ready_, [&](int32_t id) { return !in_ready_.Contains(id) || !kept.Insert(id); });
  }
  if (on_added_) on_added_(partition);
  return true;
}

void ReadyRing::AddAt(PartitionId partition, int64_t at_ms) {
  if (in_ready_.Contains(partition.value)) return;
  if (const auto known = later_.find(partition.value);
      known != later_.end() && known->second.at_ms <= at_ms) {
    return;
  }
  SetLater(partition.value, at_ms);
}

bool ReadyRing::Push(PartitionId partition) {
  if (!IsHeld(partition)) {
    Add(partition);
    return true;
  }
  later_[partition.value].pushed = true;
  return false;
}

void ReadyRing::Hold(PartitionId partition, int64_t until_ms, int64_t whole_end) {
  in_ready_.Erase(partition.value);
  held_.Insert(partition.value);
  later_[partition.value].whole_end = whole_end;
  SetLater(partition.value, until_ms);
}

bool ReadyRing::Free(PartitionId partition) {
  if (!held_.Erase(partition.value)) return false;
  const bool pushed = later_[partition.value].pushed;
  CancelLater(partition.value);
  return pushed;
}

bool ReadyRing::EndLease(PartitionId partition, int64_t cursor) {
  if (!IsHeld(partition)) return true;
  const int64_t whole_end = later_[partition.value].whole_end;
  const bool pushed = Free(partition);
  return pushed || whole_end == 0 || cursor < whole_end;
}

std::optional<PartitionId> ReadyRing::Take() {
  while (!ready_.empty()) {
    const int32_t first = ready_.front();
    ready_.pop_front();
    if (in_ready_.Erase(first)) return PartitionId{first};
  }
  return std::nullopt;
}

void ReadyRing::Hint(PartitionId partition) {
  if (IsHeld(partition)) later_[partition.value].whole_end = 0;
  if (!hinted_.Insert(partition.value)) return;
  hints_.push_back(partition.value);
  ++hints_total_;
}

std::optional<PartitionId> ReadyRing::TakeHint() {
  if (hints_.empty()) return std::nullopt;
  const int32_t first = hints_.front();
  hints_.pop_front();
  hinted_.Erase(first);
  return PartitionId{first};
}

void ReadyRing::Doubt(size_t count_max) {
  for (size_t i = 0; i < count_max; ++i) {
    const auto partition = Take();
    if (!partition) return;
    Hint(*partition);
  }
}

std::vector<PartitionId> ReadyRing::MoveDue(int64_t now_ms) {
  std::vector<PartitionId> moved;
  while (!due_.empty() && due_.front().first <= now_ms) {
    const PartitionId partition{due_.front().second};
    held_.Erase(partition.value);
    if (Add(partition)) moved.push_back(partition);
  }
  return moved;
}

std::optional<int64_t> ReadyRing::next_due_ms() const {
  if (due_.empty()) return std::nullopt;
  return due_.front().first;
}

void ReadyRing::Clear() {
  const int64_t hints_total = hints_total_;
  *this = ReadyRing(std::move(on_added_));
  hints_total_ = hints_total;
}

void ReadyRing::SetLater(int32_t partition, int64_t at_ms) {
  later_[partition].at_ms = at_ms;
  due_.emplace_back(at_ms, partition);
  std::push_heap(due_.begin(), due_.end(), std::greater<>());
  DropStale();
}

void ReadyRing::CancelLater(int32_t partition) {
  if (later_.erase(partition) > 0) DropStale();
}

bool ReadyRing::IsStale(const Due& due) const {
  const auto known = later_.find(due.second);
  return known == later_.end() || known->second.at_ms != due.first;
}

void ReadyRing::DropStale() {
  if (due_.size() > 2 * later_.size() + kStaleSlack) {
    due_.clear();
    for (const auto& [partition, later] : later_) due_.emplace_back(later.at_ms, partition);
    std::make_heap(due_.begin(), due_.end(), std::greater<>());
  }
  while (!due_.empty() && IsStale(due_.front())) {
    std::pop_heap(due_.begin(), due_.end(), std::greater<>());
    due_.pop_back();
  }
}

}  // namespace queen::state
