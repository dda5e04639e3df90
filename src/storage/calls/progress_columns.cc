#include "storage/calls/progress_columns.h"

#include <fmt/format.h>

#include <iterator>

namespace queen::storage {
namespace {

// In the order of kProgressColumns.
enum Place {
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
  kWindowEnd,
};

std::vector<engine::Attempt> ReadAttempts(const pg::Rows& rows, int row, int first) {
  std::vector<engine::Attempt> attempts;
  if (rows.IsNull(row, first + kAttemptSeqs)) return attempts;
  pg::ArrayReader seqs = rows.Array(row, first + kAttemptSeqs);
  pg::ArrayReader counts = rows.Array(row, first + kAttemptCounts);
  attempts.reserve(seqs.size());
  while (seqs.Next() && counts.Next()) attempts.push_back({seqs.Int8(), counts.Int4()});
  return attempts;
}

std::optional<engine::Lease> ReadLease(const pg::Rows& rows, int row, int first) {
  if (rows.IsNull(row, first + kLeaseId)) return std::nullopt;
  engine::Lease lease;
  lease.id = rows.Uuid(row, first + kLeaseId);
  lease.until_micros = rows.TimestampTz(row, first + kLeaseUntil);
  lease.end = rows.Int8(row, first + kLeaseEnd);
  if (!rows.IsNull(row, first + kLeaseSeconds)) {
    lease.seconds = rows.Int4(row, first + kLeaseSeconds);
  }
  return lease;
}

}  // namespace

engine::Bitmap ReadBitmap(const pg::Rows& rows, int row, int column) {
  if (rows.IsNull(row, column)) return {};
  return engine::Bitmap(rows.Text(row, column));
}

engine::Progress ReadProgress(const pg::Rows& rows, int row, int first) {
  engine::Progress progress;
  progress.epoch = rows.Int8(row, first + kEpoch);
  progress.stamp = rows.Int8(row, first + kStamp);
  progress.cursor = rows.Int8(row, first + kCursor);
  progress.settled = ReadBitmap(rows, row, first + kSettled);
  progress.failed = ReadBitmap(rows, row, first + kFailed);
  progress.attempts = ReadAttempts(rows, row, first);
  progress.lease = ReadLease(rows, row, first);
  progress.deliveries = rows.Int4(row, first + kDeliveries);
  if (!rows.IsNull(row, first + kReadyAt)) {
    progress.ready_at_micros = rows.TimestampTz(row, first + kReadyAt);
  }
  if (!rows.IsNull(row, first + kWindowEnd)) {
    progress.window_end = rows.Int8(row, first + kWindowEnd);
  }
  return progress;
}

AttemptLiterals ToLiterals(const std::vector<engine::Attempt>& attempts) {
  AttemptLiterals literals;
  char separator = '{';
  for (const engine::Attempt& attempt : attempts) {
    fmt::format_to(std::back_inserter(literals.seqs), "{}{}", separator, attempt.seq);
    fmt::format_to(std::back_inserter(literals.counts), "{}{}", separator, attempt.failures);
    separator = ',';
  }
  literals.seqs += '}';
  literals.counts += '}';
  return literals;
}

}  // namespace queen::storage
