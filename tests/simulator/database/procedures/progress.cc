// Rows of queen.progress and queen.dead_letters, written in one place.
#include <algorithm>

#include "simulator/database/procedures/lane.h"
#include "simulator/database/procedures/log.h"

namespace queen::simulator {

std::pair<const ProgressKey*, const ProgressRow*> NewestProgress(const Transaction& reader,
                                                                 const Catalog& catalog,
                                                                 LaneId lane) {
  return catalog.progress.Last(reader, {lane, 0}, {lane, kSeqEnd});
}

Task<bool> InsertProgress(Transaction& writer, Catalog& catalog, ProgressKey key, ProgressRow row) {
  if (row.stamp == 0) row.stamp = static_cast<int64_t>(writer.all().random()());
  const auto lease = row.lease_id;
  const bool inserted = co_await catalog.progress.Insert(writer, key, std::move(row));
  if (inserted && lease) catalog.progress_by_lease.Add(*lease, key);
  co_return inserted;
}

Task<bool> DropIfStale(Transaction& writer, Catalog& catalog, ProgressKey key) {
  const auto [newest, row] = NewestProgress(writer, catalog, key.lane);
  if (newest == nullptr || newest->epoch <= key.epoch) co_return false;
  (void)co_await catalog.progress.Delete(writer, key);
  co_return true;
}

Task<void> InsertDeadLetters(Transaction& writer, Catalog& catalog,
                             std::vector<DeadMessage> messages) {
  co_await writer.NextStatement();
  std::map<DeadLetterKey, DeadLetterRow> letters;  // sorted, as the INSERT is
  for (const DeadMessage& message : messages) {
    const auto [key, segment] = SegmentAt(writer, catalog, message.lane.partition_id, message.seq);
    if (segment == nullptr || segment->texts == nullptr ||
        message.seq >= key->base_seq + segment->count) {
      continue;
    }
    const int64_t line = message.seq - key->base_seq;
    DeadLetterRow row;
    row.created_at = segment->created_at + line;
    row.payload = LineOf(segment->texts->payloads, line);
    if (row.payload.empty()) continue;
    if (segment->texts->txns) {
      const std::string_view txn = LineOf(*segment->texts->txns, line);
      if (!txn.empty()) row.txn = txn;
    }
    row.error = message.error;
    row.retry_count = message.failures;
    letters.emplace(DeadLetterKey{message.lane, message.seq}, std::move(row));
  }
  for (const auto& [key, row] : letters) {
    for (;;) {  // ON CONFLICT DO UPDATE
      const bool inserted = co_await catalog.dead_letters.Insert(writer, key, row);
      if (inserted) break;
      co_await writer.NextStatement();
      const DeadLetterRow& letter = row;
      const bool updated =
          co_await catalog.dead_letters.Update(writer, key, [&letter](DeadLetterRow& old) {
            old.error = letter.error;
            old.retry_count = letter.retry_count;
          });
      if (updated) break;
    }
  }
}

}  // namespace queen::simulator
