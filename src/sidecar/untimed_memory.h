// UntimedMemory: which transactionIds without a time inside are stored in one partition, as hashes,
// for a run of offsets [from, to) without gaps. From 0 on it covers everything the partition holds,
// and a push whose ids it does not know needs no look at the database. It grows with the broker's
// own pushes, and by pages that are loaded from the log: backwards to the beginning, and forwards
// over what others have written.
//
// It only ever says "not in [from, to), for certain"; a hash that is known is left to the database.
// Ids that retention has removed stay until their part is dropped, which is only doubt.
//
// All memories of a process share one UntimedRoom, which says how much they take together.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <span>

#include "sidecar/id_set.h"

namespace queen::sidecar {

// What the memories of a process may take. Any thread.
struct UntimedRoom {
  explicit UntimedRoom(size_t max) : bytes_max(max) {}
  const size_t bytes_max;
  std::atomic<size_t> bytes = 0;

  bool IsFull() const { return bytes > bytes_max; }
  // Whether more may be loaded: the rest is for what is pushed.
  bool MayLoad() const { return bytes < bytes_max / 2; }
};

class UntimedMemory {
 public:
  // Of so many ids a part is dropped or kept as a whole; each part is a look for every id.
  static constexpr size_t kIdsPerPart = size_t{1024} * 1024;
  // Behind a larger gap it begins anew.
  static constexpr int64_t kGapMax = 100'000;

  explicit UntimedMemory(UntimedRoom& room) : room_(room) {}
  ~UntimedMemory() { Clear(); }
  UntimedMemory(const UntimedMemory&) = delete;
  UntimedMemory& operator=(const UntimedMemory&) = delete;

  // The offsets covered; equal when nothing is.
  int64_t from() const { return from_; }
  int64_t to() const { return to_; }
  bool empty() const { return from_ == to_; }
  // What is known to be stored behind `to`.
  int64_t gap() const { return end_ - to_; }

  // Whether it is certain that an id with this hash is not stored at an offset in [from, to).
  bool IsNew(uint64_t hash) const;

  // Offsets [base_seq, base_seq + count) were stored by us, with these ids. Behind a gap nothing is
  // learnt but the end.
  void Append(int64_t base_seq, int64_t count, std::span<const uint64_t> hashes);

  // A page was loaded: everything that is stored in [to(), to) or [from, from()).
  void Extend(int64_t to, std::span<const uint64_t> hashes);
  void ExtendBack(int64_t from, std::span<const uint64_t> hashes);

  // Forgets the oldest part; with the last one everything.
  void DropOldest();
  void Clear();

 private:
  struct Part {
    int64_t from;
    IdSet ids;
  };

  void Insert(IdSet& ids, std::span<const uint64_t> hashes);

  UntimedRoom& room_;
  int64_t from_ = 0;
  int64_t to_ = 0;
  int64_t end_ = 0;        // >= to_
  std::list<Part> parts_;  // by offset; the first begins at from_. A list: most are empty
};

}  // namespace queen::sidecar
