// Rows of queen.batches: one per write transaction of a broker, and what others are told.
#pragma once

#include <vector>

#include "simulator/database/catalog.h"

namespace queen::simulator {

// INSERT .. ON CONFLICT DO NOTHING: whether it was inserted.
Task<bool> InsertBatch(Transaction& writer, Catalog& catalog, BatchKey key,
                       std::vector<int32_t> partitions, std::vector<int64_t> base_seqs);
// The same without ON CONFLICT: throws 23505.
Task<void> NoteBatch(Transaction& writer, Catalog& catalog, BatchKey key,
                     std::vector<int32_t> partitions, std::vector<int64_t> base_seqs);

// queen.announce
Task<void> Announce(Transaction& writer, Catalog& catalog, std::vector<int32_t> partitions,
                    int64_t broker);

// queen.await_standby: the transaction writes, so that its commit waits.
void AwaitStandby(Transaction& writer);

// queen.raise_versions
Task<void> RaiseVersions(Transaction& writer, Catalog& catalog, std::set<int32_t> queue_ids);

}  // namespace queen::simulator
