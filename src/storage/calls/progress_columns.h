// A row of queen.progress as procedures answer it: the same columns in the same order everywhere.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "engine/lane.h"
#include "storage/calls/columns.h"

namespace queen::storage {

inline constexpr std::array<Column, 14> kProgressColumns{{
    {"epoch", pg::oid::kInt8},
    {"stamp", pg::oid::kInt8},
    {"cursor", pg::oid::kInt8},
    {"settled", pg::oid::kText},
    {"failed", pg::oid::kText},
    {"attempt_seqs", pg::oid::kInt8Array},
    {"attempt_counts", pg::oid::kInt4Array},
    {"lease_id", pg::oid::kUuid},
    {"lease_until", pg::oid::kTimestampTz},
    {"lease_end", pg::oid::kInt8},
    {"lease_seconds", pg::oid::kInt4},
    {"deliveries", pg::oid::kInt4},
    {"ready_at", pg::oid::kTimestampTz},
    {"window_end", pg::oid::kInt8},
}};

// REQUIRES: kProgressColumns stand in `rows` from `first` on, and the epoch is not null
engine::Progress ReadProgress(const pg::Rows& rows, int row, int first);

// A bitmap from text of '0' and '1'; empty for null.
engine::Bitmap ReadBitmap(const pg::Rows& rows, int row, int column);

// Attempts as two array literals, such as "{7,9}" and "{1,2}". REQUIRES: there are some
struct AttemptLiterals {
  std::string seqs;
  std::string counts;
};
AttemptLiterals ToLiterals(const std::vector<engine::Attempt>& attempts);

}  // namespace queen::storage
