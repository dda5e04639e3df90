#include "storage/calls/progress_columns.h"

namespace queen::storage {
namespace {

enum Column {
  kEpoch,
  kStamp,
  kCursor,
  kSettled,
  kFailed,
  kAttemptSeqs,
  kAttemptCounts,
  kLeaseId,
  kLeaseUntil,
  kLeaseEnd,
  kLeaseSeconds,
  kDeliveries,
  kReadyAt,
  kWindowEnd
};

}  // namespace

engine::Progress ReadProgress(const pg::Rows& rows, int row, int first) {
  const auto has = [&](Column column) { return !rows.IsNull(row, first + column); };
  engine::Progress progress;
  progress.epoch = rows.Int8(row, first + kEpoch);
  progress.stamp = rows.Int8(row, first + kStamp);
  progress.cursor = rows.Int8(row, first + kCursor);
  if (has(kSettled)) progress.settled = engine::Bitmap(rows.Text(row, first + kSettled));
  if (has(kFailed)) progress.failed = engine::Bitmap(rows.Text(row, first + kFailed));
  if (has(kAttemptSeqs)) {
    pg::ArrayReader seqs = rows.Array(row, first + kAttemptSeqs);
    pg::ArrayReader counts = rows.Array(row, first + kAttemptCounts);
    while (seqs.Next() && counts.Next()) progress.attempts.push_back({seqs.Int8(), counts.Int4()});
  }
  if (has(kLeaseId)) {
    progress.lease =
        engine::Lease{rows.Uuid(row, first + kLeaseId), rows.TimestampTz(row, first + kLeaseUntil),
                      rows.Int8(row, first + kLeaseEnd), rows.Int4(row, first + kLeaseSeconds)};
  }
  progress.deliveries = rows.Int4(row, first + kDeliveries);
  if (has(kReadyAt)) progress.ready_at_micros = rows.TimestampTz(row, first + kReadyAt);
  if (has(kWindowEnd)) progress.window_end = rows.Int8(row, first + kWindowEnd);
  return progress;
}

}  // namespace queen::storage
