// Scheduler: shares a worker's PostgreSQL slots between the operations, so that none starves
// another. Each operation is a Source; whenever a slot is free, the sources that have work are
// asked in turn for one batch each. Natural batching follows: while all slots are busy, work piles
// up in its source and the next batch takes it all. A call costs PostgreSQL as much as a dozen of
// the rows it carries, so a few items wait for the source's batch on its way to come back, unless
// that takes long. With a hold (SIDECAR_MICRO_BATCH_WAIT_MS) they wait that long also while nothing
// is on its way.
//
// Sources are asked at the end of the loop's turn, so what arrived together goes together.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "loop/end_of_turn.h"
#include "loop/timer.h"
#include "pg/storage.h"

namespace queen::sidecar {

enum class Operation { kPush, kPop, kAck, kTransaction, kRenewLease };
inline constexpr size_t kOperationCount = 5;
std::string_view NameOf(Operation operation);

struct OperationStats {
  int64_t count = 0;  // batches sent
  int64_t items = 0;
  int64_t total_micros = 0;
};

class Scheduler {
 public:
  class Source {
   public:
    // The turn ends: the last chance to make work of what came in it.
    virtual void OnEndOfTurn() {}
    virtual bool HasWork() const = 0;
    // Is so much waiting that it should go at once, also while a batch is on its way?
    // REQUIRES: HasWork()
    virtual bool IsWorthAnother() const { return true; }
    // Sends one batch through Scheduler::Execute. REQUIRES: HasWork()
    virtual void SendOne() = 0;

   protected:
    ~Source() = default;
  };

  // How long work waits for a batch on its way before it goes all the same.
  static constexpr int64_t kPatienceMs = 5;

  // For IsWorthAnother: adds up what waits.
  class Pile {
   public:
    // Returns whether there is enough now.
    bool Add(size_t items, size_t bytes = 0) {
      items_ += items;
      bytes_ += bytes;
      return items_ >= kItems || bytes_ >= kBytes;
    }

   private:
    static constexpr size_t kItems = 64;
    static constexpr size_t kBytes = size_t{256} * 1024;

    size_t items_ = 0;
    size_t bytes_ = 0;
  };

  // `hold_ms`: how long a few items wait for more of them.
  Scheduler(Loop& loop, pg::Storage& storage, int64_t hold_ms);

  // `in_flight_max` batches of this source at once. REQUIRES: the source outlives this
  void Add(Source& source, Operation operation, int in_flight_max);

  // There is new work, or a slot has become free.
  void Wake() { end_of_turn_.Request(); }

  // From SendOne: sends `batch` on a free slot and counts it.
  void Execute(Source& source, int64_t items, pg::Batch batch, pg::BatchCallback callback);

  // Free slots, at least 1: how many parts a pile of work is best split into.
  int FreeSlots() const;
  bool AnyUp() const { return storage_.counts().up > 0; }

  const OperationStats& stats(Operation operation) const {
    return stats_[static_cast<size_t>(operation)];
  }
  pg::Storage::Counts slots() const { return storage_.counts(); }

 private:
  static constexpr int64_t kWaitsNot = -1;
  struct Entry {
    Source* source;
    Operation operation;
    int in_flight_max;
    int in_flight = 0;
    int64_t waits_since_ms = kWaitsNot;  // for a batch on its way, or for more items
  };

  void Run();
  bool MaySend(Entry& entry);
  void WakeIn(int64_t delay_ms);
  Entry& EntryOf(const Source& source);

  Loop& loop_;
  pg::Storage& storage_;
  const int64_t hold_ms_;
  std::vector<Entry> entries_;
  size_t next_ = 0;  // whose turn it is
  std::array<OperationStats, kOperationCount> stats_{};
  EndOfTurn end_of_turn_;
  Timer patience_;
  int64_t patience_ends_ms_ = 0;  // when the timer fires, while it is active
};

}  // namespace queen::sidecar
