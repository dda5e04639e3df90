// Slots: the N connections of one worker. A slot is free when its connection is up and takes
// another batch; whoever has work asks for a free slot, and hears through on_free when there is one
// again. Nothing is queued here beyond the pipeline depth: what piles up is the caller's next
// batch.
//
//   open --Close--> draining (takes no batch; closes each connection after its last answer)
//                   --> closed (done runs)
//
// Belongs to the loop's thread. A connection that cannot be made (max_connections reached, 53300)
// stays in its backoff while the others work.
#pragma once

#include <memory>
#include <vector>

#include "loop/timer.h"
#include "pg/batch.h"
#include "pg/connect_options.h"
#include "pg/connection.h"
#include "pg/connection_log.h"
#include "pg/storage.h"

namespace queen::pg {

class Slots final : public Storage, private Connection::Listener {
 public:
  // REQUIRES: options.Validate() is ok, count > 0, pipeline_depth > 0
  Slots(Loop& loop, const ConnectOptions& options, int count, int pipeline_depth = 1);
  ~Slots() override;

  void Start(Events events) override;
  int FindFree() const override;
  bool IsFree(int slot) const;

  void Execute(Batch batch, BatchCallback callback) override;
  // As Execute, on that slot.
  void ExecuteOn(int slot, Batch batch, BatchCallback callback);
  void Close(UniqueFunction<void()> done) override;

  bool closing() const { return closing_; }
  Counts counts() const override;
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
