// FamilyPop: a pop that names no queue but a namespace and/or a task: any queue of that family, the
// highest priority first. It asks which queues there are, then pops each in turn without waiting;
// with `wait` it goes round again, at growing intervals, until its deadline.
//
// Lives on the worker's loop, kept alive by what it waits for.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loop/timer.h"
#include "sidecar/lookups.h"
#include "sidecar/requests.h"

namespace queen::sidecar {

class FamilyPop final : public std::enable_shared_from_this<FamilyPop> {
 public:
  struct Conditions {
    std::function<bool()> may_wait;  // false once the broker is going to stop
    std::function<bool()> paused;    // by maintenance: nothing is taken, and nobody asked
  };

  // REQUIRES: engine and lookups are those of the loop's worker and outlive it
  FamilyPop(Loop& loop, Engine& engine, Lookups& lookups, Conditions conditions, PopRequest request,
            PopDone done);

  void Start();
  // The client has gone.
  void Cancel();

 private:
  static constexpr int64_t kRoundFirstMs = 50;
  static constexpr int64_t kRoundMaxMs = 1'000;

  void OnQueues(const pg::BatchResult& result);
  void TryNext();
  void EndRound();
  void Finish(Result<PopResult> result);

  Loop& loop_;
  Engine& engine_;
  Lookups& lookups_;
  const Conditions conditions_;
  const PopRequest request_;
  PopDone done_;
  const int64_t deadline_ms_;
  std::vector<std::string> queues_;
  size_t next_ = 0;
  int64_t pause_ms_ = kRoundFirstMs;
  CancelPop cancel_current_;
  std::unique_ptr<Timer> pause_;
};

}  // namespace queen::sidecar
