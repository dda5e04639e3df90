#include "simulator/database/procedures/ledger.h"

#include <fmt/format.h>

namespace queen::simulator {

Task<bool> InsertBatch(Transaction& writer, Catalog& catalog, BatchKey key,
                       std::vector<int32_t> partitions, std::vector<int64_t> base_seqs) {
  BatchRow row;
  row.xid = writer.xid();
  row.partitions = std::move(partitions);
  row.base_seqs = std::move(base_seqs);
  row.created_at = writer.Now();
  const Xid xid = row.xid;
  const bool inserted = co_await catalog.batches.Insert(writer, key, std::move(row));
  if (inserted) catalog.batches_by_xid.Add(xid, key);
  co_return inserted;
}

Task<void> NoteBatch(Transaction& writer, Catalog& catalog, BatchKey key,
                     std::vector<int32_t> partitions, std::vector<int64_t> base_seqs) {
  const bool inserted =
      co_await InsertBatch(writer, catalog, key, std::move(partitions), std::move(base_seqs));
  if (!inserted) {
    throw SqlError{"23505", "duplicate key value violates unique constraint \"batches_pkey\"",
                   fmt::format("Key (broker, n)=({}, {}) already exists.", key.broker, key.n)};
  }
}

Task<void> Announce(Transaction& writer, Catalog& catalog, std::vector<int32_t> partitions,
                    int64_t broker) {
  if (partitions.empty()) co_return;
  const BatchKey key{broker, -catalog.sql_batches.Next(writer.all().log())};
  co_await NoteBatch(writer, catalog, key, std::move(partitions), {});
}

void AwaitStandby(Transaction& writer) { (void)writer.xid(); }

Task<void> RaiseVersions(Transaction& writer, Catalog& catalog, std::set<int32_t> queue_ids) {
  co_await writer.NextStatement();
  for (const int32_t id : queue_ids) {
    (void)co_await catalog.queues.Update(writer, id, [](QueueRow& row) { ++row.version; });
  }
}

}  // namespace queen::simulator
