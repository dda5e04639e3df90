#include <algorithm>
#include <map>
#include <set>

#include "simulator/database/procedures/ledger.h"
#include "simulator/database/procedures/log.h"
#include "simulator/database/procedures/procedures.h"
#include "simulator/database/procedures/push.h"
#include "storage/txn_time.h"

namespace queen::simulator {
namespace {

constexpr const char* kQueued = "queued";

bool HasLines(std::optional<std::string_view> text, int32_t count) {
  return !text || std::count(text->begin(), text->end(), '\n') == count - 1;
}

void CheckLines(const PushRequest& request) {
  for (size_t i = 0; i < request.partitions.size(); ++i) {
    const int32_t count = request.counts.At(i);
    if (!request.payloads[i] || !HasLines(request.payloads[i], count) ||
        !HasLines(request.txns[i], count) || !HasLines(request.metas[i], count)) {
      throw SqlError{"QN011", "the number of lines differs from the number of messages", ""};
    }
  }
}

// Whether a segment might hold a transactionId that is stored.
bool IsSuspect(const Transaction& reader, const Catalog& catalog, const PushRequest& request,
               size_t i, const std::optional<LogEnd>& end) {
  if (!request.txn_mins[i]) return false;
  const int64_t known_from = request.known_froms[i].value_or(0);
  const int64_t known_to = request.known_tos[i].value_or(0);
  const bool behind = known_from > 0 || (end && end->base_seq >= known_to);
  if (request.untimed[i].value_or(false) && (behind || !request.known_untimed)) return true;
  if (!request.time_mins[i]) return false;
  if (behind) return true;
  const int32_t partition_id = request.partitions.At(i);
  const DedupKey from{partition_id, std::string(*request.txn_mins[i])};
  const DedupKey to{partition_id, std::string(*request.txn_maxs[i]) + '\0'};
  return catalog.dedup.First(reader, from, to).first != nullptr;
}

SegmentRow RowOf(const PushRequest& request, size_t i, int64_t created_at) {
  auto texts = std::make_shared<SegmentTexts>();
  texts->payloads = *request.payloads[i];
  if (request.txns[i]) texts->txns = std::string(*request.txns[i]);
  if (request.metas[i]) texts->meta = std::string(*request.metas[i]);
  SegmentRow row;
  row.count = request.counts.At(i);
  row.created_at = created_at;
  if (texts->txns) {
    row.time_min = request.time_mins[i].value_or(std::numeric_limits<int64_t>::max());
    row.time_max = request.time_maxs[i].value_or(std::numeric_limits<int64_t>::min());
    row.untimed = request.untimed[i].value_or(false);
  }
  row.texts = std::move(texts);
  return row;
}

// Ids whose time is far from that of their segment.
Task<void> InsertKeyed(Transaction& writer, Catalog& catalog, int32_t partition_id,
                       int64_t base_seq, const SegmentRow& row) {
  if (!row.texts->txns) co_return;
  if (row.time_min >= row.created_at - kDedupWindowMicros &&
      row.time_max <= row.created_at + kDedupWindowMicros) {
    co_return;
  }
  int64_t seq = base_seq;
  for (const std::string_view txn : LinesOf(*row.texts->txns)) {
    const auto inside = storage::TimeInside(txn);
    if (inside && (*inside < row.created_at - kDedupWindowMicros ||
                   *inside > row.created_at + kDedupWindowMicros)) {
      DedupKey key{partition_id, std::string(txn)};
      const bool inserted = co_await catalog.dedup.Insert(writer, std::move(key), DedupRow{seq});
      if (!inserted) throw SqlError{"23505", "duplicate key value in dedup", ""};
    }
    ++seq;
  }
}

}  // namespace

Task<void> LockPartitions(Transaction& writer, const Array<int32_t>& partitions) {
  std::set<int32_t> sorted;
  for (size_t i = 0; i < partitions.size(); ++i) sorted.insert(partitions.At(i));
  for (const int32_t id : sorted) co_await writer.Lock({kPartitionLockClass, id});
}

Task<std::vector<PushedRow>> Push(Transaction& writer, Catalog& catalog,
                                  const PushRequest& request) {
  const size_t segments = request.partitions.size();
  CheckLines(request);
  std::set<int32_t> locked;
  if (request.wait) {
    co_await LockPartitions(writer, request.partitions);
  } else {
    for (size_t i = 0; i < segments; ++i) {
      const int32_t id = request.partitions.At(i);
      if (writer.TryLock({kPartitionLockClass, id})) locked.insert(id);
    }
  }

  const int64_t now = writer.Now();
  co_await writer.NextStatement();
  std::vector<PushedRow> rows(segments);
  std::vector<size_t> suspects;
  std::map<int32_t, int64_t> before;  // messages of earlier rows
  for (size_t i = 0; i < segments; ++i) {
    const int32_t id = request.partitions.At(i);
    const auto end = EndOfLog(writer, catalog, id);
    const PartitionRow* partition = catalog.partitions.Find(writer, id);
    const QueueRow* queue =
        partition == nullptr ? nullptr : catalog.queues.Find(writer, partition->queue_id);
    PushedRow& row = rows[i];
    row.ordinal = static_cast<int32_t>(i + 1);
    row.base_seq = (end ? end->seq_end : 0) + before[id];
    row.created_at = std::max(now, end ? end->created_at + end->count : now) + before[id];
    before[id] += request.counts.At(i);
    row.status = kQueued;
    if (!request.wait && locked.count(id) == 0) {
      row.status = "busy";
    } else if (queue == nullptr) {
      row.status = "gone";
    } else if (queue->encryption_enabled != request.encrypted[i].value_or(false)) {
      row.status = "stale";
    } else if (IsSuspect(writer, catalog, request, i, end)) {
      suspects.push_back(i);
    }
  }

  std::vector<PushedRow> duplicates;
  if (!suspects.empty()) {
    co_await writer.NextStatement();
    std::set<int32_t> tainted;
    for (const size_t i : suspects) {
      const int32_t id = request.partitions.At(i);
      const std::vector<FoundTransaction> found =
          FindTransactions(writer, catalog, id, request.txns[i], request.known_froms[i].value_or(0),
                           request.known_tos[i].value_or(0), request.known_untimed);
      for (const FoundTransaction& one : found) {
        duplicates.push_back({rows[i].ordinal, "duplicate", one.seq, one.created_at, one.line});
      }
      if (found.empty()) continue;
      tainted.insert(id);
      rows[i].status = "duplicate";
    }
    if (request.wait) {
      std::set<int32_t> untimed;
      for (const size_t i : suspects) {
        if (request.untimed[i].value_or(false)) untimed.insert(request.partitions.At(i));
      }
      for (const int32_t id : untimed) {
        co_await writer.NextStatement();
        (void)co_await IndexPartition(writer, catalog, id);
      }
    }
    if (!duplicates.empty()) AwaitStandby(writer);
    for (size_t i = 0; i < segments; ++i) {
      if (rows[i].status == kQueued && tainted.count(request.partitions.At(i)) > 0) {
        rows[i].status = "again";
      }
    }
  }

  co_await writer.NextStatement();
  std::vector<int32_t> noted;
  std::vector<int64_t> base_seqs;
  for (size_t i = 0; i < segments; ++i) {
    if (rows[i].status != kQueued) continue;
    const int32_t id = request.partitions.At(i);
    const SegmentRow row = RowOf(request, i, rows[i].created_at);
    const SegmentKey key{id, rows[i].base_seq};
    const bool inserted = co_await catalog.segments.Insert(writer, key, row);
    if (!inserted) throw SqlError{"23505", "duplicate key value in segments", ""};
    co_await InsertKeyed(writer, catalog, id, rows[i].base_seq, row);
    noted.push_back(id);
    base_seqs.push_back(rows[i].base_seq);
  }
  if (request.n && !noted.empty()) {
    const BatchKey key{request.broker.value_or(0), *request.n};
    co_await NoteBatch(writer, catalog, key, std::move(noted), std::move(base_seqs));
  }
  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [](const PushedRow& row) { return row.status == "duplicate"; }),
             rows.end());
  rows.insert(rows.end(), duplicates.begin(), duplicates.end());
  co_return rows;
}

PushRequest ReadPushRequest(const Arguments& in) {
  PushRequest request;
  request.broker = in.Int8(1);
  request.n = in.Int8(2);
  request.wait = in.Bool(3).value_or(false);
  request.partitions = in.Int4s(4);
  request.counts = in.Int4s(5);
  request.payloads = in.Texts(6);
  request.txns = in.Texts(7);
  request.metas = in.Texts(8);
  request.txn_mins = in.Texts(9);
  request.txn_maxs = in.Texts(10);
  request.time_mins = in.Times(11);
  request.time_maxs = in.Times(12);
  request.untimed = in.Bools(13);
  request.known_froms = in.Int8s(14);
  request.known_tos = in.Int8s(15);
  request.encrypted = in.Bools(16);
  request.known_untimed = in.Bool(17).value_or(false);
  return request;
}

Task<pg::Rows> PushMessages(Call& call) {
  const PushRequest request = ReadPushRequest(call.arguments);
  const std::vector<PushedRow> rows = co_await Push(call.transaction, call.catalog, request);
  Answer answer({{"ordinal", oid::kInt4},
                 {"status", oid::kText},
                 {"base_seq", oid::kInt8},
                 {"created_at", oid::kTimestampTz},
                 {"line", oid::kInt4}});
  for (const PushedRow& row : rows) {
    answer.Int4(row.ordinal)
        .Text(row.status)
        .Int8(row.base_seq)
        .Time(row.created_at)
        .Int4(row.line);
  }
  co_return std::move(answer).Take();
}

}  // namespace queen::simulator
