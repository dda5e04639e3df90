// queen.load_ids and queen.index_untimed: the ids without a time inside.
#include <algorithm>

#include "simulator/database/procedures/log.h"
#include "simulator/database/procedures/procedures.h"
#include "simulator/database/procedures/push.h"

namespace queen::simulator {
namespace {

constexpr int64_t kSegmentsMax = 1000;
constexpr int64_t kIdsMax = 10'000;

// One row of the answer; false when the page is full.
class IdPage {
 public:
  explicit IdPage(Answer& answer) : answer_(answer) {}

  bool Add(const SegmentKey& key, const SegmentRow& row) {
    if (segments_ == kSegmentsMax) return false;
    ++segments_;
    const bool untimed = row.untimed.value_or(true);
    if (untimed) ids_ += row.count;
    if (segments_ > 1 && ids_ > kIdsMax) return false;
    answer_.Int8(key.base_seq).Int4(row.count);
    if (untimed && row.texts != nullptr && row.texts->txns) {
      answer_.Text(*row.texts->txns);
    } else {
      answer_.Null();
    }
    return true;
  }

 private:
  Answer& answer_;
  int64_t segments_ = 0;
  int64_t ids_ = 0;
};

int64_t RunsEnd(const Transaction& reader, const Catalog& catalog, int32_t partition_id) {
  const auto last = catalog.dedup_runs.Last(reader, {partition_id, 0}, {partition_id, kSeqEnd});
  return last.second == nullptr ? 0 : last.second->to_seq;
}

}  // namespace

Task<pg::Rows> LoadIds(Call& call) {
  const int32_t partition_id = *call.arguments.Int4(1);
  const auto from = call.arguments.Int8(2);
  const int64_t to = *call.arguments.Int8(3);
  Answer answer({{"base_seq", oid::kInt8}, {"count", oid::kInt4}, {"txns", oid::kText}});
  IdPage page(answer);
  const auto add = [&](const SegmentKey& key, const SegmentRow& row) { return page.Add(key, row); };
  const Table<SegmentKey, SegmentRow>& segments = call.catalog.segments;
  if (from) {
    segments.Walk(call.transaction, {partition_id, *from}, {partition_id, to}, add);
  } else {
    segments.WalkDown(call.transaction, {partition_id, 0}, {partition_id, to}, add);
  }
  co_return std::move(answer).Take();
}

Task<bool> IndexPartition(Transaction& writer, Catalog& catalog, int32_t partition_id) {
  constexpr int64_t kEnough = 64;
  constexpr int64_t kEnoughIds = 8192;
  constexpr int64_t kSegmentsAtOnce = 1024;
  if (!writer.TryLock({kLaneLockClass, partition_id})) co_return false;  // the class of both
  co_await writer.NextStatement();
  const int64_t from = RunsEnd(writer, catalog, partition_id);
  int64_t seen = 0;
  int64_t segments = 0;
  int64_t ids = 0;
  int64_t ids_seen = 0;
  std::optional<int64_t> from_seq;
  int64_t to_seq = 0;
  catalog.segments.Walk(writer, {partition_id, from}, {partition_id, kSeqEnd},
                        [&](const SegmentKey& key, const SegmentRow& row) {
                          if (++seen > kSegmentsAtOnce) return false;
                          if (row.untimed.value_or(false)) ids_seen += row.count;
                          if (seen > 1 && ids_seen >= kEnoughIds * 2) return false;
                          ++segments;
                          ids = ids_seen;
                          if (!from_seq) from_seq = key.base_seq;
                          to_seq = key.base_seq + row.count;
                          return true;
                        });
  if (segments == 0 || (segments < kEnough && ids < kEnoughIds)) co_return false;
  co_await writer.NextStatement();
  const RunKey key{partition_id, *from_seq};
  const bool inserted = co_await catalog.dedup_runs.Insert(writer, key, RunRow{to_seq});
  co_return inserted;
}

Task<pg::Rows> IndexUntimed(Call& call) {
  const int32_t partition_id = *call.arguments.Int4(1);
  co_await call.transaction.NextStatement();
  const bool indexed = co_await IndexPartition(call.transaction, call.catalog, partition_id);
  Answer answer({{"index_untimed", oid::kBool}});
  answer.Bool(indexed);
  co_return std::move(answer).Take();
}

}  // namespace queen::simulator
