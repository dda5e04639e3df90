#include "buffer/held_partitions.h"

namespace queen::buffer {
namespace {

std::string KeyOf(std::string_view queue, std::string_view partition) {
  std::string key(queue);
  key += '\0';
  key += partition;
  return key;
}

}  // namespace

void HeldPartitions::Add(std::string_view queue, std::string_view partition) {
  std::string key = KeyOf(queue, partition);
  const std::lock_guard lock(mutex_);
  ++records_[std::move(key)];
}

void HeldPartitions::Remove(std::string_view queue, std::string_view partition) {
  const std::string key = KeyOf(queue, partition);
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(key);
  if (found != records_.end() && --found->second == 0) records_.erase(found);
}

bool HeldPartitions::Contains(std::string_view queue, std::string_view partition) const {
  const std::string key = KeyOf(queue, partition);
  const std::lock_guard lock(mutex_);
  return records_.contains(key);
}

size_t HeldPartitions::size() const {
  const std::lock_guard lock(mutex_);
  return records_.size();
}

}  // namespace queen::buffer
