// UntimedKeeper: keeps the memories of ids without a time inside (UntimedMemory) of a worker's
// partitions: filled, within the room of the process, and backed by an index in the database for
// whoever has no memory.
//
//   fill    a memory that does not begin at 0, or that others have written behind, is extended by a
//   page of the log,
//           one page in flight, partitions in turn. A page that no longer fits where the memory is
//           now is thrown away.
//   room    when the memories of the process take too much, the least recently used of this worker
//   lose their oldest
//           part, the one just used last.
//   index   after so many segments or ids of a partition the database is asked to index them
//   (index_untimed).
//
// Nothing depends on it for being right: what a memory does not cover the database searches. On the
// worker's loop.
#pragma once

#include <deque>
#include <list>
#include <optional>
#include <span>
#include <unordered_set>

#include "base/ids.h"
#include "sidecar/lookups.h"
#include "sidecar/untimed_memory.h"

namespace queen::sidecar {

class UntimedKeeper {
 public:
  // Fewer messages of others are left to the search of each push.
  static constexpr int64_t kGapLoadMin = 64;
  // As index_untimed takes them.
  static constexpr int64_t kIndexIds = 8'192;
  static constexpr int64_t kIndexSegments = 64;

  // What is kept of one partition. Forget it before it goes.
  struct Entry {
    explicit Entry(UntimedRoom& room) : memory(room) {}
    UntimedMemory memory;
    PartitionId id;
    int64_t unindexed_ids = 0;
    int64_t unindexed_segments = 0;
    bool waits = false;  // to be extended
    bool in_use = false;
    std::list<Entry*>::iterator place;  // in used_, while in_use
  };

  // REQUIRES: both outlive this
  UntimedKeeper(Lookups& lookups, UntimedRoom& room) : lookups_(lookups), room_(room) {}

  UntimedRoom& room() { return room_; }

  // A segment of ours was stored, with these ids.
  void OnStored(Entry& entry, PartitionId id, int64_t base_seq, int64_t count,
                std::span<const uint64_t> hashes);

  // The partition is another one, or its database may be.
  void Forget(Entry& entry);

 private:
  struct Page {  // asked for: [from, to), or with no from backwards from to
    std::optional<int64_t> from;
    int64_t to = 0;
  };

  void Use(Entry& entry);
  void MakeRoom();
  void Fill(Entry& entry);
  std::optional<Page> NextPage(const Entry& entry) const;
  void LoadNext();
  void OnLoaded(const Page& page, const pg::BatchResult& result);
  void Take(Entry& entry, const Page& page, const pg::Rows& rows) const;
  void NoteUnindexed(Entry& entry, size_t ids);
  void IndexNext();

  Lookups& lookups_;
  UntimedRoom& room_;
  std::list<Entry*> used_;  // those with a memory, the least recently used first
  std::deque<Entry*> waiting_;
  bool loading_ = false;
  Entry* loading_entry_ = nullptr;  // nullptr while loading_: it was forgotten
  std::deque<PartitionId> to_index_;
  std::unordered_set<int32_t> index_wanted_;  // those in to_index_
  bool indexing_ = false;
};

}  // namespace queen::sidecar
