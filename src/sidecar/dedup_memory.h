// DedupMemory: what one process remembers of the transactionIds it stored in one partition, so that
// most pushes need no look at stored lines. It covers a run of offsets [from, to) without gaps. Of
// the newest segments it keeps the ids (half of each), of all older ones only the greatest: UUIDv7
// rise with time, so a fresh id is above it. Ids without a time inside are not its business: they
// are in queen.dedup, which is always asked.
//
// It only ever says "not in [from, to), for certain"; any doubt is left to the database.
//
// There is one per partition pushed to, so it is small: 80 bytes, and for each segment of the last
// seconds 56 and 8 per id.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/uuid.h"

namespace queen::sidecar {

class DedupMemory {
 public:
  static constexpr size_t kSegmentsMax = 64;
  // Segments whose ids are so much older than the newest are remembered by the greatest id only.
  static constexpr int64_t kAgeMaxMs = 5'000;

  // The offsets covered; equal when nothing is.
  int64_t from() const { return from_; }
  int64_t to() const { return to_; }

  // Whether it is certain that this id, which has a time inside, is not stored at an offset in
  // [from, to).
  bool IsNew(std::string_view txn) const;

  // Offsets [base_seq, base_seq + count) were stored, with these ids that have a time inside.
  // A gap before base_seq means that somebody else has written: what was known before is dropped.
  void Append(int64_t base_seq, int64_t count, const std::vector<std::string_view>& txns);

  // Of every segment only the greatest id is kept, as of the older ones.
  void ForgetIds();

  void Clear() { *this = DedupMemory(); }

 private:
  struct Segment {
    Uuid min;
    Uuid max;
    std::vector<uint64_t> ids;  // their low halves, sorted
    bool MayHold(const Uuid& id) const;
  };

  void ForgetOld();

  int64_t from_ = 0;
  int64_t to_ = 0;
  Uuid older_max_;  // the greatest of the segments no longer in newest_
  Uuid max_;        // the greatest of all
  std::vector<Segment> newest_;
};

}  // namespace queen::sidecar
