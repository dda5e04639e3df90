#include "storage/calls/load_lanes.h"

#include "storage/calls/progress_columns.h"

namespace queen::storage {
namespace {

using namespace pg::oid;  // NOLINT(google-build-using-namespace): the table below is made of them

const pg::Statement kLoadLanes{"load_lanes",
                               "SELECT * FROM queen.load_lanes($1, $2, $3)",
                               {kInt4Array, kInt4Array, kInt4Array}};

enum Column {
  kOrdinal,
  kQueueId,
  kVersion,
  kLeaseTime,
  kRetryLimit,
  kRetryDelay,
  kMaxDeliveries,
  kDelay,
  kWindow,
  kExpires,
  kProgress,
  kFrom = kProgress + kProgressColumns,
  kEnd,
  kLiveEnd,
  kNewestAt,
  kBases,
  kCounts,
  kTimes,
  kBytes,
  kKnownEnd,
  kHidden,
  kPartitionName,
  kNow
};

engine::QueueRules ReadRules(const pg::Rows& rows, int row) {
  return {.queue = QueueId{rows.Int4(row, kQueueId)},
          .version = rows.Int8(row, kVersion),
          .lease_seconds = rows.Int4(row, kLeaseTime),
          .retry_limit = rows.Int4(row, kRetryLimit),
          .retry_delay_ms = rows.Int4(row, kRetryDelay),
          .max_deliveries = rows.Int4(row, kMaxDeliveries),
          .delay_seconds = rows.Int4(row, kDelay),
          .window_seconds = rows.Int4(row, kWindow),
          .expires_after_seconds = rows.Int4(row, kExpires)};
}

engine::LogView ReadLog(const pg::Rows& rows, int row) {
  engine::LogView log;
  log.from = rows.Int8(row, kFrom);
  log.end = rows.Int8(row, kEnd);
  log.live_end = rows.Int8(row, kLiveEnd);
  if (!rows.IsNull(row, kNewestAt)) log.newest_micros = rows.TimestampTz(row, kNewestAt);
  log.known_end = rows.Int8(row, kKnownEnd);
  if (!rows.IsNull(row, kHidden)) log.hidden = engine::Bitmap(rows.Text(row, kHidden));
  if (rows.IsNull(row, kBases)) return log;
  pg::ArrayReader bases = rows.Array(row, kBases);
  pg::ArrayReader counts = rows.Array(row, kCounts);
  pg::ArrayReader times = rows.Array(row, kTimes);
  pg::ArrayReader bytes = rows.Array(row, kBytes);
  log.segments.reserve(bases.size());
  while (bases.Next() && counts.Next() && times.Next() && bytes.Next()) {
    log.segments.push_back({bases.Int8(), counts.Int4(), times.TimestampTz(), bytes.Int8()});
  }
  return log;
}

}  // namespace

pg::Batch LoadLanes(const std::vector<engine::LaneAsk>& asks) {
  pg::Int4Array partitions(asks.size(), 4);
  pg::Int4Array groups(asks.size(), 4);
  pg::Int4Array messages(asks.size(), 4);
  for (const engine::LaneAsk& ask : asks) {
    partitions.Add(ask.key.partition.value);
    groups.Add(ask.key.group.value);
    messages.Add(ask.messages);
  }
  pg::Params params(3);
  params.Add(std::move(partitions)).Add(std::move(groups)).Add(std::move(messages));
  return {kLoadLanes, std::move(params)};
}

engine::LoadReply ReadLoadedLanes(const pg::Rows& rows, size_t asks) {
  engine::LoadReply reply;
  reply.lanes.resize(asks);
  for (int row = 0; row < rows.rows(); ++row) {
    reply.now_micros = rows.TimestampTz(row, kNow);
    engine::LoadedLane lane;
    lane.progress = ReadProgress(rows, row, kProgress);
    lane.rules = ReadRules(rows, row);
    lane.log = ReadLog(rows, row);
    lane.partition_name = rows.Text(row, kPartitionName);
    reply.lanes[static_cast<size_t>(rows.Int4(row, kOrdinal)) - 1] = std::move(lane);
  }
  return reply;
}

}  // namespace queen::storage
