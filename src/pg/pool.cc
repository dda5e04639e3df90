#include "pg/pool.h"

namespace queen::pg {

Pool::Pool(Loop& loop, const ConnectOptions& connect, const Options& options)
    : loop_(loop),
      options_(options),
      expiry_(loop, [this] { ExpireWaiting(); }),
      slots_(loop, connect, options.connections) {}

Pool::~Pool() {
  closing_ = true;
  std::deque<Waiting> waiting = std::move(queue_);
  for (Waiting& entry : waiting) entry.callback(NotSent(Status(Code::kShuttingDown)));
}

void Pool::Start() {
  Slots::Events events;
  events.on_free = [this](int) { SendWaiting(); };
  slots_.Start(std::move(events));
}

Status Pool::Refusal() const {
  if (closing_) return Status(Code::kShuttingDown);
  if (slots_.counts().up > 0) return Status(Code::kOverloaded);
  return Status(Code::kDatabaseUnavailable, slots_.last_failure().status.message());
}

void Pool::Answer(BatchCallback callback, Status status) {
  loop_.Post([callback = std::move(callback), result = NotSent(std::move(status))]() mutable {
    callback(std::move(result));
  });
}

void Pool::Execute(Batch batch, BatchCallback callback) {
  loop_.AssertOwner();
  if (closing_) return Answer(std::move(callback), Refusal());
  if (queue_.empty() && slots_.FindFree() != Slots::kNone) {
    return slots_.Execute(std::move(batch), std::move(callback));
  }
  if (options_.wait_ms == 0 && slots_.counts().up == 0) {
    return Answer(std::move(callback), Refusal());
  }
  if (queue_.size() >= options_.queue_max) {
    return Answer(std::move(callback), Status(Code::kOverloaded));
  }
  queue_.push_back({std::move(batch), std::move(callback), loop_.NowMillis() + options_.wait_ms});
  if (!expiry_.IsActive()) expiry_.Start(options_.wait_ms);
}

void Pool::SendWaiting() {
  while (!queue_.empty() && slots_.FindFree() != Slots::kNone) {
    Waiting next = std::move(queue_.front());
    queue_.pop_front();
    slots_.Execute(std::move(next.batch), std::move(next.callback));
  }
}

void Pool::ExpireWaiting() {
  const int64_t now_ms = loop_.NowMillis();
  while (!queue_.empty() && queue_.front().deadline_ms <= now_ms) {
    Waiting late = std::move(queue_.front());
    queue_.pop_front();
    Answer(std::move(late.callback), Refusal());
  }
  if (!queue_.empty()) expiry_.Start(queue_.front().deadline_ms - now_ms);
}

void Pool::Close(UniqueFunction<void()> done) {
  loop_.AssertOwner();
  closing_ = true;
  expiry_.Stop();
  for (Waiting& entry : queue_) Answer(std::move(entry.callback), Status(Code::kShuttingDown));
  queue_.clear();
  slots_.Close(std::move(done));
}

}  // namespace queen::pg
