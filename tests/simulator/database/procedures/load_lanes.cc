#include <algorithm>

#include "simulator/database/procedures/lane.h"
#include "simulator/database/procedures/log.h"
#include "simulator/database/procedures/procedures.h"
#include "simulator/database/procedures/progress_answer.h"

namespace queen::simulator {
namespace {

struct Segments {
  std::vector<int64_t> bases;
  std::vector<int32_t> counts;
  std::vector<std::optional<int64_t>> times;
  std::vector<int64_t> bytes;
  std::optional<int64_t> listed_end;
};

Segments ListSegments(const Transaction& reader, const Catalog& catalog, int32_t partition_id,
                      const LaneState& lane, int64_t messages) {
  Segments segments;
  if (!lane.live_end || lane.cursor >= *lane.live_end) return segments;
  const auto holding = SegmentAt(reader, catalog, partition_id, lane.cursor);
  if (holding.first == nullptr) return segments;
  const Bits settled = lane.Settled();
  const int64_t want = std::min(kSpanMax, settled ? BitsBehindZero(settled, messages) : messages);
  catalog.segments.Walk(
      reader, {partition_id, holding.first->base_seq}, {partition_id, lane.cursor + want},
      [&](const SegmentKey& key, const SegmentRow& row) {
        if (row.texts == nullptr) return true;
        segments.bases.push_back(key.base_seq);
        segments.counts.push_back(row.count);
        segments.times.emplace_back(row.created_at);
        segments.bytes.push_back(static_cast<int64_t>(row.texts->payloads.size() +
                                                      row.texts->txns.value_or("").size() +
                                                      row.texts->meta.value_or("").size()));
        segments.listed_end = key.base_seq + row.count;
        return static_cast<int64_t>(segments.bases.size()) < messages;
      });
  return segments;
}

std::vector<AnswerColumn> Columns() {
  std::vector<AnswerColumn> columns{
      {"ordinal", oid::kInt4},        {"queue_id", oid::kInt4},
      {"version", oid::kInt8},        {"lease_time", oid::kInt4},
      {"retry_limit", oid::kInt4},    {"retry_delay", oid::kInt4},
      {"max_deliveries", oid::kInt4}, {"delayed_processing", oid::kInt4},
      {"window_buffer", oid::kInt4},  {"expires_after", oid::kInt4}};
  AddProgressColumns(columns);
  for (const AnswerColumn& column :
       std::initializer_list<AnswerColumn>{{"from_seq", oid::kInt8},
                                           {"seq_end", oid::kInt8},
                                           {"live_end", oid::kInt8},
                                           {"newest_at", oid::kTimestampTz},
                                           {"segment_bases", oid::kInt8Array},
                                           {"segment_counts", oid::kInt4Array},
                                           {"segment_times", oid::kTimestampTzArray},
                                           {"segment_bytes", oid::kInt8Array},
                                           {"known_end", oid::kInt8},
                                           {"hidden", oid::kText},
                                           {"partition_name", oid::kText},
                                           {"now", oid::kTimestampTz}}) {
    columns.push_back(column);
  }
  return columns;
}

}  // namespace

Task<pg::Rows> LoadLanes(Call& call) {
  const Array<int32_t> partitions = call.arguments.Int4s(1);
  const Array<int32_t> groups = call.arguments.Int4s(2);
  const Array<int32_t> messages = call.arguments.Int4s(3);
  const int64_t now = call.transaction.Now();
  Answer answer(Columns());
  for (size_t i = 0; i < partitions.size(); ++i) {
    const LaneId id{partitions.At(i), groups.At(i)};
    const auto lane = StateOf(call.transaction, call.catalog, id, now);
    if (!lane) continue;
    const QueueRow& queue = *lane->queue;
    answer.Int4(static_cast<int32_t>(i + 1))
        .Int4(lane->partition->queue_id)
        .Int8(queue.version)
        .Int4(queue.lease_time)
        .Int4(queue.retry_limit)
        .Int4(queue.retry_delay)
        .Int4(queue.max_deliveries)
        .Int4(queue.delayed_processing)
        .Int4(queue.window_buffer)
        .Int4(lane->expires_after.value_or(0));
    if (lane->progress != nullptr) {
      AddProgress(answer, lane->epoch, *lane->progress);
    } else {
      ProgressRow start;
      start.cursor = lane->old_cursor;
      AddProgress(answer, 0, start);
    }
    const Segments segments = ListSegments(call.transaction, call.catalog, id.partition_id, *lane,
                                           std::max<int64_t>(messages[i].value_or(1), 1));
    answer.Int8(lane->cursor)
        .Int8(lane->seq_end.value_or(0))
        .Int8(lane->live_end.value_or(0))
        .Time(lane->newest_at)
        .Int8sOrNull(segments.bases)
        .Int4sOrNull(segments.counts);
    if (segments.times.empty()) {
      answer.Null();
    } else {
      answer.Times(segments.times);
    }
    answer.Int8sOrNull(segments.bytes)
        .Int8(segments.listed_end && segments.listed_end < lane->live_end
                  ? *segments.listed_end
                  : lane->seq_end.value_or(0))
        .Null()
        .Text(lane->partition->name)
        .Time(now);
  }
  co_return std::move(answer).Take();
}

}  // namespace queen::simulator
