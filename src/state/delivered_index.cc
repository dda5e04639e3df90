#include "state/delivered_index.h"

namespace queen::state {

void DeliveredIndex::Add(DeliveredRange range) {
  Shard& shard = ShardOf(range.partition);
  const std::lock_guard lock(shard.mutex);
  Partition& partition = shard.partitions[range.partition.value];
  partition.queue_name = std::move(range.queue_name);
  partition.partition_name = std::move(range.partition_name);
  partition.groups[std::move(range.group)] = range.group_id;
  for (auto& [txn, seq] : range.messages) {
    if (!partition.messages.emplace(txn, seq).second) continue;
    partition.order.push_back(std::move(txn));
    shard.order.push_back(range.partition.value);
    ++shard.count;
  }
  while (shard.count > shard_max_) DropOldest(shard);
}

void DeliveredIndex::DropOldest(Shard& shard) {
  const auto partition = shard.partitions.find(shard.order.front());
  shard.order.pop_front();
  --shard.count;
  partition->second.messages.erase(partition->second.order.front());
  partition->second.order.pop_front();
  if (partition->second.order.empty()) shard.partitions.erase(partition);
}

std::optional<AckTarget> DeliveredIndex::Find(PartitionId partition, std::string_view group,
                                              std::string_view txn) const {
  const Shard& shard = const_cast<DeliveredIndex*>(this)->ShardOf(partition);
  const std::lock_guard lock(shard.mutex);
  const auto known = shard.partitions.find(partition.value);
  if (known == shard.partitions.end()) return std::nullopt;
  const auto group_id = known->second.groups.find(std::string(group));
  const auto seq = known->second.messages.find(std::string(txn));
  if (group_id == known->second.groups.end() || seq == known->second.messages.end()) {
    return std::nullopt;
  }
  return AckTarget{known->second.queue_name, known->second.partition_name, group_id->second,
                   seq->second};
}

void DeliveredIndex::Clear() {
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    shard.partitions.clear();
    shard.order.clear();
    shard.count = 0;
  }
}

size_t DeliveredIndex::size() const {
  size_t total = 0;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    total += shard.count;
  }
  return total;
}

}  // namespace queen::state
