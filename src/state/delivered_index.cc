#include "state/delivered_index.h"

namespace queen::state {

void DeliveredRange::Add(std::string_view txn, int64_t seq) {
  if (const auto uuid = Uuid::ParseCanonical(txn)) {
    uuids.emplace_back(*uuid, seq);
  } else {
    texts.emplace_back(txn, seq);
  }
}

void DeliveredIndex::Add(DeliveredRange range) {
  Shard& shard = shards_[static_cast<size_t>(range.partition.value) % kShards];
  Generation forgotten;  // freed without the lock
  const std::lock_guard lock(shard.mutex);
  if (shard.current.count >= generation_max_) {
    forgotten = std::exchange(shard.previous, std::exchange(shard.current, {}));
  }
  Partition& partition = shard.current.partitions[range.partition.value];
  partition.queue_name = std::move(range.queue_name);
  partition.partition_name = std::move(range.partition_name);
  partition.groups[std::move(range.group)] = range.group_id;
  const size_t before = partition.uuids.size() + partition.texts.size();
  // The last one counts: when retention has taken a message, its transactionId may come again.
  for (const auto& [txn, seq] : range.uuids) partition.uuids.insert_or_assign(txn, seq);
  for (auto& [txn, seq] : range.texts) partition.texts.insert_or_assign(std::move(txn), seq);
  shard.current.count += partition.uuids.size() + partition.texts.size() - before;
}

std::optional<AckTarget> DeliveredIndex::Find(PartitionId partition, std::string_view group,
                                              std::string_view txn) const {
  const Shard& shard = ShardOf(partition);
  const std::lock_guard lock(shard.mutex);
  auto target = FindIn(shard.current, partition, group, txn);
  if (!target) target = FindIn(shard.previous, partition, group, txn);
  ++(target ? shard.lookups.hits : shard.lookups.misses);
  return target;
}

DeliveredIndex::Lookups DeliveredIndex::lookups() const {
  Lookups total;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    total.hits += shard.lookups.hits;
    total.misses += shard.lookups.misses;
  }
  return total;
}

std::string DeliveredIndex::QueueOf(PartitionId partition) const {
  const Shard& shard = ShardOf(partition);
  const std::lock_guard lock(shard.mutex);
  for (const Generation* generation : {&shard.current, &shard.previous}) {
    const auto known = generation->partitions.find(partition.value);
    if (known != generation->partitions.end()) return known->second.queue_name;
  }
  return {};
}

std::optional<AckTarget> DeliveredIndex::FindIn(const Generation& generation, PartitionId id,
                                                std::string_view group, std::string_view txn) {
  const auto known = generation.partitions.find(id.value);
  if (known == generation.partitions.end()) return std::nullopt;
  const Partition& partition = known->second;
  const auto group_id = partition.groups.find(group);
  if (group_id == partition.groups.end()) return std::nullopt;
  const std::optional<int64_t> seq = partition.SeqOf(txn);
  if (!seq) return std::nullopt;
  return AckTarget{partition.queue_name, partition.partition_name, group_id->second, seq};
}

std::optional<int64_t> DeliveredIndex::Partition::SeqOf(std::string_view txn) const {
  if (const auto uuid = Uuid::ParseCanonical(txn)) {
    const auto found = uuids.find(*uuid);
    return found == uuids.end() ? std::nullopt : std::optional(found->second);
  }
  const auto found = texts.find(txn);
  return found == texts.end() ? std::nullopt : std::optional(found->second);
}

void DeliveredIndex::Clear() {
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    shard.current = {};
    shard.previous = {};
  }
}

size_t DeliveredIndex::size() const {
  size_t total = 0;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    total += shard.current.count + shard.previous.count;
  }
  return total;
}

}  // namespace queen::state
