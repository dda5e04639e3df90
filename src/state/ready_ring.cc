#include "state/ready_ring.h"

namespace queen::state {

bool ReadyRing::Add(PartitionId partition) {
  if (held_.contains(partition.value)) return false;
  CancelLater(partition.value);
  if (!in_ready_.insert(partition.value).second) return false;
  ready_.push_back(partition.value);
  return true;
}

void ReadyRing::AddAt(PartitionId partition, int64_t at_ms) {
  if (in_ready_.contains(partition.value)) return;
  if (const auto known = due_at_.find(partition.value); known != due_at_.end()) {
    if (known->second->first <= at_ms) return;
    CancelLater(partition.value);
  }
  due_at_[partition.value] = due_.emplace(at_ms, partition.value);
}

void ReadyRing::Hold(PartitionId partition, int64_t until_ms) {
  CancelLater(partition.value);
  if (in_ready_.erase(partition.value) > 0) std::erase(ready_, partition.value);
  held_.insert(partition.value);
  due_at_[partition.value] = due_.emplace(until_ms, partition.value);
}

void ReadyRing::Free(PartitionId partition) {
  if (held_.erase(partition.value) > 0) CancelLater(partition.value);
}

std::optional<PartitionId> ReadyRing::Take() {
  if (ready_.empty()) return std::nullopt;
  const int32_t first = ready_.front();
  ready_.pop_front();
  in_ready_.erase(first);
  return PartitionId{first};
}

std::vector<PartitionId> ReadyRing::MoveDue(int64_t now_ms) {
  std::vector<PartitionId> moved;
  while (!due_.empty() && due_.begin()->first <= now_ms) {
    const PartitionId partition{due_.begin()->second};
    held_.erase(partition.value);
    if (Add(partition)) moved.push_back(partition);
  }
  return moved;
}

std::optional<int64_t> ReadyRing::next_due_ms() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

void ReadyRing::Clear() {
  ready_.clear();
  in_ready_.clear();
  held_.clear();
  due_.clear();
  due_at_.clear();
}

void ReadyRing::CancelLater(int32_t partition) {
  const auto known = due_at_.find(partition);
  if (known == due_at_.end()) return;
  due_.erase(known->second);
  due_at_.erase(known);
}

}  // namespace queen::state
