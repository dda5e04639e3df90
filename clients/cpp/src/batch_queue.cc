#include "batch_queue.h"

#include <cassert>

namespace queen::client {

void BatchQueue::Add(PendingMessage pending, Time now) {
  bytes_ += pending.bytes;
  waiting_.push_back({std::move(pending), now});
}

bool BatchQueue::IsDue(Time now) const {
  if (waiting_.empty()) return false;
  return hurried_ > 0 || waiting_.size() >= options_.batch_messages ||
         bytes_ >= options_.batch_bytes || now >= *due_at();
}

std::optional<BatchQueue::Time> BatchQueue::due_at() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.front().since + options_.linger;
}

std::vector<PendingMessage> BatchQueue::Take() {
  assert(!waiting_.empty());
  std::vector<PendingMessage> batch;
  size_t bytes = 0;
  while (!waiting_.empty() && (batch.empty() || batch.size() < options_.batch_messages)) {
    PendingMessage& next = waiting_.front().pending;
    if (!batch.empty() && bytes + next.bytes > options_.batch_bytes) break;
    bytes += next.bytes;
    bytes_ -= next.bytes;
    batch.push_back(std::move(next));
    waiting_.pop_front();
    if (hurried_ > 0) --hurried_;
  }
  return batch;
}

}  // namespace queen::client
