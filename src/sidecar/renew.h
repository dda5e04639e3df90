// RenewQueue: lease extensions, all that wait in one call. Extending twice does no harm (a lease is
// never shortened), so every end that is not an answer goes again until the deadline.
#pragma once

#include <deque>
#include <vector>

#include "loop/timer.h"
#include "sidecar/requests.h"
#include "sidecar/scheduler.h"

namespace queen::sidecar {

class RenewQueue final : public Scheduler::Source {
 public:
  static constexpr size_t kWaitingMax = 50'000;
  static constexpr size_t kPerBatchMax = 500;
  static constexpr int64_t kDeadlineMs = 30'000;

  RenewQueue(Loop& loop, Scheduler& scheduler);

  void Submit(RenewRequest request, RenewDone done);

  // No slot will take it soon, or ever: answers whatever still waits.
  void Refuse(const Status& status);

  bool HasWork() const override { return !waiting_.empty(); }
  void SendOne() override;

 private:
  struct Renewal {
    RenewRequest request;
    RenewDone done;
    int64_t deadline_ms;
  };

  void OnRenewed(std::vector<Renewal> renewals, const pg::BatchResult& result);
  void GoAgain(Renewal renewal, const Status& status);

  Loop& loop_;
  Scheduler& scheduler_;
  std::deque<Renewal> waiting_;
  std::vector<Renewal> paused_;
  int64_t pause_ms_;  // grows while batches fail
  Timer pause_;
};

}  // namespace queen::sidecar
