// Storage: what a worker's engine needs of a database. It sends batches, hears how each ended, and
// hears when it may send again. Slots is the one that speaks to PostgreSQL.
//
// What every storage promises:
//   1. A batch is one transaction and ends in one of the three outcomes of pg/batch.h. Its callback
//      runs exactly once, on the owner's loop, never inside a call to this class except for the
//      destructor's.
//   2. When a slot is lost, on_down runs before the callbacks of the batches it had in flight.
//   3. Nothing is queued here: what cannot be sent at once is the caller's next batch.
//   4. Callbacks may call Execute and Close, but only Close's `done` may destroy it.
//
// Belongs to the loop's thread.
#pragma once

#include "base/unique_function.h"
#include "pg/batch.h"

namespace queen::pg {

class Storage {
 public:
  struct Events {
    // Slot `slot` takes a batch: after connecting (behind on_up) and after each answer.
    UniqueFunction<void(int slot)> on_free;
    UniqueFunction<void(int slot)> on_up;
    // Lost. Runs before the callbacks of the batches it had in flight.
    UniqueFunction<void(int slot, const Status& reason)> on_down;
  };
  struct Counts {
    int total = 0;
    int up = 0;
    int busy = 0;  // up, with a batch in flight
    int free = 0;  // up, takes a batch
  };
  static constexpr int kNone = -1;

  Storage() = default;
  // Without Close: batches in flight end kUnknown, before this returns.
  virtual ~Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  // Begins to connect. Once.
  virtual void Start(Events events) = 0;

  // The free slot with the fewest batches, or kNone.
  virtual int FindFree() const = 0;

  // Sends on the slot that FindFree gives. When there is none the callback gets kFailure with
  // `sent` false: kShuttingDown after Close, kDatabaseUnavailable when no slot is up, kOverloaded
  // when all are busy, kPayloadTooLarge above Batch::kBytesMax.
  virtual void Execute(Batch batch, BatchCallback callback) = 0;

  // Takes no more batches, waits for those in flight, closes, then runs `done` on the loop. Call
  // Loop::Stop not before that. Once.
  virtual void Close(UniqueFunction<void()> done) = 0;

  virtual Counts counts() const = 0;
};

}  // namespace queen::pg
