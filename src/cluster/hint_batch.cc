#include "cluster/hint_batch.h"

#include <utility>

namespace queen::cluster {
namespace {

bool Has(PeerSet set, size_t slot) { return (set >> slot & 1) != 0; }

}  // namespace

void HintBatch::Add(const Key& key, PeerSet to, PartitionId id, std::string_view partition) {
  const auto [hint, is_new] = hints_[key].try_emplace(id.value);
  if (is_new) {
    hint->second.partition = partition;
    ++hints_count_;
  }
  hint->second.to |= to;
}

void HintBatch::AddPushed(PeerSet to, std::string_view queue, PartitionId id,
                          std::string_view partition) {
  Add({false, std::string(queue), ""}, to, id, partition);
}

void HintBatch::AddFreed(PeerSet to, std::string_view queue, std::string_view group, PartitionId id,
                         std::string_view partition) {
  Add({true, std::string(queue), std::string(group)}, to, id, partition);
}

std::vector<Record> HintBatch::RecordsFor(size_t slot) const {
  std::vector<Record> records;
  if (maintenance_) records.emplace_back(MaintenanceChanged{});
  if (changed_.size() > kChangedMax) {
    records.emplace_back(QueueChanged{});
  } else {
    for (const std::string& queue : changed_) records.emplace_back(QueueChanged{queue});
  }
  for (const auto& [key, hints] : hints_) {
    std::vector<HintedPartition> partitions;
    for (const auto& [id, hint] : hints) {
      if (Has(hint.to, slot)) partitions.push_back({PartitionId{id}, hint.partition});
    }
    if (partitions.empty()) continue;
    if (key.freed) {
      records.emplace_back(PartitionFree{key.queue, key.group, std::move(partitions)});
    } else {
      records.emplace_back(MessageAvailable{key.queue, std::move(partitions)});
    }
  }
  return records;
}

}  // namespace queen::cluster
