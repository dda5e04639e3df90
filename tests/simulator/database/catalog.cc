#include "simulator/database/catalog.h"

namespace queen::simulator {

Catalog::Catalog()
    : queues([this](int32_t id, const QueueRow& row) { queues_by_name.Remove(row.name, id); }),
      partitions([this](int32_t id, const PartitionRow& row) {
        partitions_by_name.Remove({row.queue_id, row.name}, id);
        partitions_by_queue.Remove(row.queue_id, id);
      }),
      groups([this](int32_t id, const GroupRow& row) {
        groups_by_name.Remove({row.queue_id, row.name}, id);
        groups_by_queue.Remove(row.queue_id, id);
      }),
      progress([this](const ProgressKey& key, const ProgressRow& row) {
        if (row.lease_id) progress_by_lease.Remove(*row.lease_id, key);
      }),
      batches([this](const BatchKey& key, const BatchRow& row) {
        batches_by_xid.Remove(row.xid, key);
      }) {}

std::vector<AnyTable*> Catalog::AllTables() {
  return {&queues,       &partitions,    &groups,    &group_starts, &early_groups,
          &families,     &family_queues, &segments,  &dedup,        &progress,
          &dead_letters, &batches,       &dedup_runs};
}

std::vector<Sequence*> Catalog::AllSequences() {
  return {&queue_ids, &partition_ids, &group_ids, &family_ids, &sql_batches};
}

}  // namespace queen::simulator
