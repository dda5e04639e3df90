// Slots: the N connections of one worker. A slot is free when its connection is up and takes
// another batch; whoever has work asks for a free slot, and hears through on_free when there is one
// again. Nothing is queued here beyond the pipeline depth: what piles up is the caller's next
// batch.
//
//   open --Close--> draining (takes no batch; closes each connection after its last answer)
//                   --> closed (done runs)
//
// Belongs to the loop's thread. Callbacks run on it, and except for the destructor's never inside a
// call to this class; they may call Execute and Close, but only Close's `done` may destroy it. A
// connection that cannot be made (max_connections reached, 53300) stays in its backoff while the
// others work.
#pragma once

#include <memory>
#include <vector>

#include "loop/timer.h"
#include "pg/batch.h"
#include "pg/connect_options.h"
#include "pg/connection.h"
#include "pg/connection_log.h"

namespace queen::pg {

class Slots final : private Connection::Listener {
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

  // REQUIRES: options.Validate() is ok, count > 0, pipeline_depth > 0
  Slots(Loop& loop, const ConnectOptions& options, int count, int pipeline_depth = 1);
  // Without Close: cuts the connections; batches in flight end kUnknown, before this returns.
  ~Slots();

  // Begins to connect. Once.
  void Start(Events events);

  // The free slot with the fewest batches, or kNone.
  int FindFree() const;
  bool IsFree(int slot) const;

  // Sends on that slot, or on the one FindFree gives. When it cannot take it the callback gets
  // kFailure with `sent` false: kShuttingDown after Close, kDatabaseUnavailable when the slot (no
  // slot) is up, kOverloaded when it is (all are) busy, kPayloadTooLarge above Batch::kBytesMax.
  void Execute(Batch batch, BatchCallback callback);
  void ExecuteOn(int slot, Batch batch, BatchCallback callback);

  // Takes no more batches, waits for those in flight, closes, then runs `done` on the loop. Call
  // Loop::Stop not before that. Once.
  void Close(UniqueFunction<void()> done);

  bool closing() const { return closing_; }
  Counts counts() const;
  // Why the last attempt to connect failed; ok() when none did since the last success.
  const ConnectFailure& last_failure() const { return last_failure_; }
  // For tests and diagnostics.
  const Connection& connection(int slot) const { return *connections_[static_cast<size_t>(slot)]; }

 private:
  // The others begin so long after the first is up: where connections are scarce, each worker and
  // the administration get one before any gets a second.
  static constexpr int64_t kOthersAfterMs = 500;

  void StartOthers();
  void OnUp(Connection& connection) override;
  void OnDown(Connection& connection, const Status& reason) override;
  void OnConnectFailed(Connection& connection, const ConnectFailure& failure) override;
  void OnFree(Connection& connection) override;

  int SlotOf(const Connection& connection) const;
  void Answer(BatchCallback callback, Status status);
  void CloseIfDrained(Connection& connection);

  Loop& loop_;
  Events events_;
  const std::shared_ptr<ConnectionLog> log_;
  ConnectFailure last_failure_;
  std::vector<std::unique_ptr<Connection>> connections_;
  bool closing_ = false;
  bool first_was_up_ = false;
  Timer others_;
  UniqueFunction<void()> closed_;  // Close's done, until it is posted
};

}  // namespace queen::pg
