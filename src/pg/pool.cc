#include "pg/pool.h"

#include <algorithm>

namespace queen::pg {

Pool::Pool(Loop& loop, const ConnectOptions& connect, const Options& options)
    : loop_(loop),
      options_(options),
      expiry_(loop, [this] { ExpireWaiting(); }),
      slots_(loop, connect, options.connections) {}

Pool::~Pool() {
  closing_ = true;
  for (Queue* queue : {&queue_, &pages_}) {
    Queue waiting = std::move(*queue);
    for (Waiting& entry : waiting) entry.callback(NotSent(Status(Code::kShuttingDown)));
  }
}

void Pool::Start() {
  Slots::Events events;
  events.on_free = [this](int) { SendWaiting(); };
  slots_.Start(std::move(events));
}

Status Pool::Refusal() const {
  if (closing_) return Status(Code::kShuttingDown);
  if (slots_.counts().up > 0) return Status(Code::kOverloaded);
  // Why is in the log; clients are not told where the database is.
  return Status(Code::kDatabaseUnavailable);
}

void Pool::Answer(BatchCallback callback, Status status) {
  loop_.Post([callback = std::move(callback), result = NotSent(std::move(status))]() mutable {
    callback(std::move(result));
  });
}

void Pool::Execute(Batch batch, BatchCallback callback) {
  Enqueue(queue_, std::move(batch), std::move(callback));
}

void Pool::ExecutePage(Batch batch, BatchCallback callback) {
  Enqueue(pages_, std::move(batch), std::move(callback));
}

void Pool::Enqueue(Queue& queue, Batch batch, BatchCallback callback) {
  loop_.AssertOwner();
  if (closing_ || (options_.wait_ms == 0 && slots_.counts().up == 0)) {
    return Answer(std::move(callback), Refusal());
  }
  if (waiting() >= options_.queue_max) {
    return Answer(std::move(callback), Status(Code::kOverloaded));
  }
  queue.push_back({std::move(batch), std::move(callback), loop_.NowMillis()});
  SendWaiting();
  if (!expiry_.IsActive()) StartExpiry();
}

void Pool::SendWaiting() {
  while (!closing_ && slots_.FindFree() != Slots::kNone) {
    const bool is_page = queue_.empty();
    if (is_page && (pages_.empty() || pages_sent_ >= options_.pages_max)) return;
    Queue& queue = is_page ? pages_ : queue_;
    Waiting next = std::move(queue.front());
    queue.pop_front();
    if (is_page) next.callback = CountedPage(std::move(next.callback));
    slots_.Execute(std::move(next.batch), std::move(next.callback));
  }
}

BatchCallback Pool::CountedPage(BatchCallback callback) {
  ++pages_sent_;
  return [this, callback = std::move(callback)](BatchResult result) mutable {
    --pages_sent_;
    SendWaiting();  // its slot may have been free before this was known
    callback(std::move(result));
  };
}

int64_t Pool::WaitMs() const {
  const bool down = slots_.counts().up == 0 && !slots_.last_failure().status.ok();
  return down ? std::min(options_.wait_ms, options_.down_wait_ms) : options_.wait_ms;
}

void Pool::StartExpiry() {
  if (waiting() == 0) return;
  int64_t since_ms = INT64_MAX;
  for (const Queue* queue : {&queue_, &pages_}) {
    if (!queue->empty()) since_ms = std::min(since_ms, queue->front().since_ms);
  }
  const int64_t left_ms = since_ms + WaitMs() - loop_.NowMillis();
  // A database that is lost meanwhile ends the wait sooner.
  expiry_.Start(std::clamp<int64_t>(left_ms, 0, options_.down_wait_ms));
}

void Pool::ExpireWaiting() {
  const int64_t expired_ms = loop_.NowMillis() - WaitMs();
  for (Queue* queue : {&queue_, &pages_}) {
    while (!queue->empty() && queue->front().since_ms <= expired_ms) {
      Waiting late = std::move(queue->front());
      queue->pop_front();
      Answer(std::move(late.callback), Refusal());
    }
  }
  StartExpiry();
}

void Pool::Close(UniqueFunction<void()> done) {
  loop_.AssertOwner();
  closing_ = true;
  expiry_.Stop();
  for (Queue* queue : {&queue_, &pages_}) {
    for (Waiting& entry : *queue) Answer(std::move(entry.callback), Status(Code::kShuttingDown));
    queue->clear();
  }
  slots_.Close(std::move(done));
}

}  // namespace queen::pg
