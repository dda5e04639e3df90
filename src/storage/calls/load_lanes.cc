#include "storage/calls/load_lanes.h"

#include <array>

#include "storage/calls/columns.h"
#include "storage/calls/progress_columns.h"

namespace queen::storage::load_lanes {
namespace {

namespace oid = pg::oid;

constexpr std::array<Column, 10> kRuleColumns{{
    {"ordinal", oid::kInt4},
    {"queue_id", oid::kInt4},
    {"version", oid::kInt8},
    {"lease_time", oid::kInt4},
    {"retry_limit", oid::kInt4},
    {"retry_delay", oid::kInt4},
    {"max_deliveries", oid::kInt4},
    {"delayed_processing", oid::kInt4},
    {"window_buffer", oid::kInt4},
    {"expires_after", oid::kInt4},
}};
enum RulePlace {
  kOrdinal,
  kQueueId,
  kVersion,
  kLeaseTime,
  kRetryLimit,
  kRetryDelay,
  kMaxDeliveries,
  kDelayedProcessing,
  kWindowBuffer,
  kExpiresAfter,
  kFirstOfProgress,
};

constexpr std::array<Column, 12> kLogColumns{{
    {"from_seq", oid::kInt8},
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
    {"now", oid::kTimestampTz},
}};
enum LogPlace {
  kFromSeq = kFirstOfProgress + static_cast<int>(kProgressColumns.size()),
  kSeqEnd,
  kLiveEnd,
  kNewestAt,
  kSegmentBases,
  kSegmentCounts,
  kSegmentTimes,
  kSegmentBytes,
  kKnownEnd,
  kHidden,
  kPartitionName,
  kNow,
};

engine::QueueRules ReadRules(const pg::Rows& rows, int row) {
  engine::QueueRules rules;
  rules.queue = QueueId{rows.Int4(row, kQueueId)};
  rules.version = rows.Int8(row, kVersion);
  rules.lease_seconds = rows.Int4(row, kLeaseTime);
  rules.retry_limit = rows.Int4(row, kRetryLimit);
  rules.retry_delay_ms = rows.Int4(row, kRetryDelay);
  rules.max_deliveries = rows.Int4(row, kMaxDeliveries);
  rules.delay_seconds = rows.Int4(row, kDelayedProcessing);
  rules.window_seconds = rows.Int4(row, kWindowBuffer);
  rules.expires_after_seconds = rows.Int4(row, kExpiresAfter);
  return rules;
}

std::vector<engine::SegmentSpan> ReadSegments(const pg::Rows& rows, int row) {
  std::vector<engine::SegmentSpan> segments;
  if (rows.IsNull(row, kSegmentBases)) return segments;
  pg::ArrayReader bases = rows.Array(row, kSegmentBases);
  pg::ArrayReader counts = rows.Array(row, kSegmentCounts);
  pg::ArrayReader times = rows.Array(row, kSegmentTimes);
  pg::ArrayReader bytes = rows.Array(row, kSegmentBytes);
  segments.reserve(bases.size());
  while (bases.Next() && counts.Next() && times.Next() && bytes.Next()) {
    segments.push_back({bases.Int8(), counts.Int4(), times.TimestampTz(), bytes.Int8()});
  }
  return segments;
}

engine::LogView ReadLog(const pg::Rows& rows, int row) {
  engine::LogView log;
  log.from = rows.Int8(row, kFromSeq);
  log.segments = ReadSegments(rows, row);
  log.known_end = rows.Int8(row, kKnownEnd);
  log.end = rows.Int8(row, kSeqEnd);
  log.live_end = rows.Int8(row, kLiveEnd);
  if (!rows.IsNull(row, kNewestAt)) log.newest_micros = rows.TimestampTz(row, kNewestAt);
  log.hidden = ReadBitmap(rows, row, kHidden);
  return log;
}

}  // namespace

const pg::Statement kStatement{"load_lanes",
                               "SELECT * FROM queen.load_lanes($1, $2, $3)",
                               {oid::kInt4Array, oid::kInt4Array, oid::kInt4Array}};

pg::Params Encode(const std::vector<engine::LaneAsk>& lanes) {
  pg::Int4Array partitions(lanes.size());
  pg::Int4Array groups(lanes.size());
  pg::Int4Array messages(lanes.size());
  for (const engine::LaneAsk& lane : lanes) {
    partitions.Add(lane.key.partition.value);
    groups.Add(lane.key.group.value);
    messages.Add(lane.messages);
  }
  pg::Params params(3);
  params.Add(std::move(partitions)).Add(std::move(groups)).Add(std::move(messages));
  return params;
}

Result<std::vector<Row>> Decode(const pg::Rows& rows) {
  QUEEN_RETURN_IF_ERROR(
      CheckColumns(kStatement.name, rows, {kRuleColumns, kProgressColumns, kLogColumns}));
  std::vector<Row> lanes(static_cast<size_t>(rows.rows()));
  for (int row = 0; row < rows.rows(); ++row) {
    Row& lane = lanes[static_cast<size_t>(row)];
    lane.index = static_cast<size_t>(rows.Int4(row, kOrdinal) - 1);
    lane.rules = ReadRules(rows, row);
    lane.progress = ReadProgress(rows, row, kFirstOfProgress);
    lane.log = ReadLog(rows, row);
    lane.partition_name = rows.Text(row, kPartitionName);
    lane.now_micros = rows.TimestampTz(row, kNow);
  }
  return lanes;
}

}  // namespace queen::storage::load_lanes
