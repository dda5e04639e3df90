// AdminPool: the connections of administration and background work, apart from the sidecars', so
// that a slow question never waits in front of a push. Lives on one loop of its own; anybody may
// ask, and is answered on the loop he names.
#pragma once

#include "loop/loop.h"
#include "pg/pool.h"

namespace queen::admin {

class AdminPool {
 public:
  // On the loop's thread.
  AdminPool(Loop& loop, const pg::ConnectOptions& connect, int connections);

  // On the loop's thread, once: the schema is in place.
  void Start();
  // On the loop's thread, once. Whoever asks afterwards is refused.
  void Close(UniqueFunction<void()> done);

  // Any thread. `callback` runs on `caller`, unless that loop has ended.
  void Execute(Loop& caller, pg::Batch batch, pg::BatchCallback callback);
  // The same for a report, which may be slow: all reports together have half of the connections.
  void ExecutePage(Loop& caller, pg::Batch batch, pg::BatchCallback callback);

  Loop& loop() { return loop_; }
  // On the loop's thread.
  pg::Slots::Counts counts() const { return pool_.counts(); }
  size_t waiting() const { return pool_.waiting(); }

 private:
  using Way = void (pg::Pool::*)(pg::Batch batch, pg::BatchCallback callback);

  void Send(Way way, Loop& caller, pg::Batch batch, pg::BatchCallback callback);

  Loop& loop_;
  pg::Pool pool_;
  bool started_ = false;
};

}  // namespace queen::admin
