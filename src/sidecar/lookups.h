// Lookups: small questions that need no batching (which queues does a namespace have?), first come,
// first served, through the scheduler like everything else.
#pragma once

#include <deque>

#include "sidecar/scheduler.h"

namespace queen::sidecar {

class Lookups final : public Scheduler::Source {
 public:
  static constexpr size_t kWaitingMax = 10'000;

  explicit Lookups(Scheduler& scheduler) : scheduler_(scheduler) {}

  // The callback may run inside this call when the question cannot be asked.
  void Ask(const pg::Statement& statement, pg::Params params, pg::BatchCallback callback) {
    Ask(pg::Batch(statement, std::move(params)), std::move(callback));
  }
  void Ask(pg::Batch batch, pg::BatchCallback callback);

  // No slot will take it soon, or ever: answers whatever still waits.
  void Refuse(const Status& status);

  bool HasWork() const override { return !waiting_.empty(); }
  void SendOne() override;

 private:
  struct Question {
    pg::Batch batch;
    pg::BatchCallback callback;
  };

  Scheduler& scheduler_;
  std::deque<Question> waiting_;
};

}  // namespace queen::sidecar
