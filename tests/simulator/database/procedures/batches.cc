// What becomes of write transactions: heartbeat, require_database, resolve_batch, tail_batches.
#include <algorithm>
#include <map>

#include "simulator/database/procedures/ledger.h"
#include "simulator/database/procedures/procedures.h"

namespace queen::simulator {

Task<pg::Rows> Heartbeat(Call& call) {
  const BatchKey key{*call.arguments.Int8(1),
                     -call.catalog.sql_batches.Next(call.transaction.all().log())};
  co_await NoteBatch(call.transaction, call.catalog, key, {}, {});
  Answer answer({{"id", oid::kText}});
  answer.Text(call.catalog.identity.ToString());
  co_return std::move(answer).Take();
}

Task<pg::Rows> RequireDatabase(Call& call) {
  const auto id = call.arguments.Uuid(1);
  if (id != call.catalog.identity) {
    throw SqlError{"QN013", "this is not the database " + (id ? id->ToString() : "<NULL>"), ""};
  }
  Answer answer({{"require_database", oid::kVoid}});
  answer.Text("");
  co_return std::move(answer).Take();
}

Task<pg::Rows> ResolveBatch(Call& call) {
  Transaction& transaction = call.transaction;
  Catalog& catalog = call.catalog;
  const BatchKey key{*call.arguments.Int8(1), *call.arguments.Int8(2)};
  co_await transaction.NextStatement();
  std::vector<int64_t> mark{-1};
  const bool inserted = co_await InsertBatch(transaction, catalog, key, {}, mark);
  Answer answer({{"committed", oid::kBool},
                 {"partitions", oid::kInt4Array},
                 {"base_seqs", oid::kInt8Array},
                 {"created_ats", oid::kTimestampTzArray}});
  if (inserted) {
    answer.Bool(false).Null().Null().Null();
    co_return std::move(answer).Take();
  }
  AwaitStandby(transaction);
  co_await transaction.NextStatement();
  if (const BatchRow* row = catalog.batches.Find(transaction, key)) {
    std::vector<std::optional<int64_t>> times;
    // unnest of arrays of different lengths fills the shorter one with nulls
    for (size_t i = 0; i < std::max(row->partitions.size(), row->base_seqs.size()); ++i) {
      const SegmentRow* segment = nullptr;
      if (i < row->partitions.size() && i < row->base_seqs.size()) {
        segment = catalog.segments.Find(transaction, {row->partitions[i], row->base_seqs[i]});
      }
      times.push_back(segment == nullptr ? std::nullopt : std::optional(segment->created_at));
    }
    answer.Bool(row->base_seqs != mark).Int4s(row->partitions).Int8s(row->base_seqs).Times(times);
  }
  co_return std::move(answer).Take();
}

Task<pg::Rows> TailBatches(Call& call) {
  Transaction& transaction = call.transaction;
  const Catalog& catalog = call.catalog;
  const auto since = call.arguments.Text(1);
  const auto limit = static_cast<size_t>(*call.arguments.Int4(2));
  const int64_t own_first = *call.arguments.Int8(3);
  const int64_t own_last = *call.arguments.Int8(4);
  size_t found = 0;
  std::set<int32_t> touched;
  const auto look_at = [&](const std::set<BatchKey>& keys, Xid xid) {
    for (const BatchKey& key : keys) {
      const BatchRow* row = catalog.batches.Find(transaction, key);
      const int64_t broker = std::abs(key.broker);
      if (row == nullptr || row->xid != xid || row->partitions.empty() ||
          (broker >= own_first && broker <= own_last)) {
        continue;
      }
      if (++found > limit) return;
      touched.insert(row->partitions.begin(), row->partitions.end());
    }
  };
  if (since) {
    const Snapshot before = Snapshot::FromText(std::string(*since));
    for (auto at = catalog.batches_by_xid.LowerBound(before.xmax);
         at != catalog.batches_by_xid.end() && found <= limit; ++at) {
      look_at(at->second, at->first);
    }
    for (const Xid xid : before.active) look_at(catalog.batches_by_xid.Of(xid), xid);
  }
  const bool truncated = found > limit;
  if (truncated) touched.clear();

  std::map<int32_t, std::vector<int32_t>> queues;
  for (const int32_t id : touched) {
    if (id <= 0) continue;
    const PartitionRow* partition = catalog.partitions.Find(transaction, id);
    if (partition != nullptr) queues[partition->queue_id].push_back(id);
  }
  Answer answer({{"queue_id", oid::kInt4},
                 {"partitions", oid::kInt4Array},
                 {"next_since", oid::kText},
                 {"truncated", oid::kBool},
                 {"namespace", oid::kText},
                 {"task", oid::kText}});
  for (const auto& [queue_id, ids] : queues) {
    answer.Int4(queue_id).Int4s(ids).Null().Null().Null().Null();
  }
  for (const int32_t id : touched) {
    if (id > 0) continue;
    const QueueRow* queue = catalog.queues.Find(transaction, -id);
    answer.Int4(-id).Null().Null().Null();
    if (queue == nullptr) {
      answer.Null().Null();
    } else {
      answer.Text(queue->queue_namespace).Text(queue->task);
    }
  }
  answer.Null().Null().Text(transaction.snapshot().ToText()).Bool(truncated).Null().Null();
  co_return std::move(answer).Take();
}

}  // namespace queen::simulator
