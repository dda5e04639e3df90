// DedupMemory: what one process remembers of the transactionIds it stored in one partition, so that
// most pushes need no look at stored lines. It covers a run of offsets [from, to) without gaps. Of
// the newest segments it keeps the ids (as hashes), of all older ones only the greatest id: UUIDv7
// rise with time, so a fresh id is above it. Ids without a time inside are not its business: they
// are in queen.dedup, which is always asked.
//
// It only ever says "not in [from, to), for certain"; any doubt is left to the database.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace queen::sidecar {

class DedupMemory {
 public:
  static constexpr size_t kSegmentsMax = 64;

  // The offsets covered; equal when nothing is.
  int64_t from() const { return from_; }
  int64_t to() const { return to_; }

  // Whether it is certain that this id is not stored at an offset in [from, to).
  bool IsNew(std::string_view txn) const;

  // Offsets [base_seq, base_seq + count) were stored, with these ids that have a time inside.
  // A gap before base_seq means that somebody else has written: what was known before is dropped.
  void Append(int64_t base_seq, int64_t count, const std::vector<std::string_view>& txns);

  void Clear() { *this = DedupMemory(); }

 private:
  using Hashes = std::vector<uint64_t>;

  void ForgetOldest();

  int64_t from_ = 0;
  int64_t to_ = 0;
  std::string older_max_;  // the greatest id of the segments no longer in newest_
  struct Newest {
    Hashes hashes;
    std::string max;
  };
  std::deque<Newest> newest_;
  std::unordered_map<uint64_t, int32_t> counts_;  // hash -> in how many places of newest_
};

}  // namespace queen::sidecar
