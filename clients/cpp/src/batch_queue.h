// BatchQueue: messages that wait for their request, in order, and when a batch of them is to leave.
// It knows no threads and no clock: the producer's lane gives it the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "queen/producer.h"

namespace queen::client {

struct PendingMessage {
  NewMessage message;
  Producer::OnOutcome on_outcome;
  size_t bytes = 0;
};

class BatchQueue {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit BatchQueue(const ProducerOptions& options) : options_(options) {}

  void Add(PendingMessage pending, Time now);

  // What is here leaves without waiting for more.
  void Hurry() { hurried_ = waiting_.size(); }

  bool empty() const { return waiting_.empty(); }
  // Whether a batch is to leave: full, old enough, or hurried.
  bool IsDue(Time now) const;
  // When one will be, if nothing more comes; nullopt when empty.
  std::optional<Time> due_at() const;

  // The next batch: within both limits, and at least one message. REQUIRES: !empty()
  std::vector<PendingMessage> Take();

 private:
  struct Entry {
    PendingMessage pending;
    Time since;
  };

  const ProducerOptions options_;
  std::deque<Entry> waiting_;
  size_t bytes_ = 0;
  size_t hurried_ = 0;  // so many at the front
};

}  // namespace queen::client
