// Pool: Slots with a queue in front, for callers that just want an answer (administration,
// background work). First in, first out; the queue is bounded and every wait has a deadline. Pages
// have a queue of their own behind that of all others, and at most `pages_max` connections at once:
// slow ones keep nobody else from his answer.
//
//   over `queue_max` waiting          kOverloaded, at once
//   nothing up                        kDatabaseUnavailable, after `wait_ms` (at once when 0), or
//                                     `down_wait_ms` where the last try to connect has failed
//   all busy for `wait_ms`            kOverloaded
//   after Close                       kShuttingDown, also for those still waiting
// All of them are kFailure with `sent` false. Callbacks never run inside a call to this class.
#pragma once

#include <climits>
#include <deque>

#include "loop/timer.h"
#include "pg/slots.h"

namespace queen::pg {

class Pool {
 public:
  struct Options {
    int connections = 4;
    size_t queue_max = 1'000;
    int64_t wait_ms = 5'000;
    int64_t down_wait_ms = INT64_MAX;
    int pages_max = INT_MAX;
  };

  // REQUIRES: connect.Validate() is ok
  Pool(Loop& loop, const ConnectOptions& connect, const Options& options);
  ~Pool();  // as ~Slots; those still waiting end kShuttingDown

  // Begins to connect. Once.
  void Start();

  void Query(const Statement& statement, Params params, BatchCallback callback) {
    Execute(Batch(statement, std::move(params)), std::move(callback));
  }
  void Execute(Batch batch, BatchCallback callback);
  // The same for a page: something to look at, that changes nothing.
  void ExecutePage(Batch batch, BatchCallback callback);

  // As Slots::Close.
  void Close(UniqueFunction<void()> done);

  Slots::Counts counts() const { return slots_.counts(); }
  size_t waiting() const { return queue_.size() + pages_.size(); }
  const ConnectFailure& last_failure() const { return slots_.last_failure(); }

 private:
  struct Waiting {
    Batch batch;
    BatchCallback callback;
    int64_t since_ms;
  };
  using Queue = std::deque<Waiting>;

  void Answer(BatchCallback callback, Status status);
  void Enqueue(Queue& queue, Batch batch, BatchCallback callback);
  void SendWaiting();
  // A page is sent; it counts until it is answered.
  BatchCallback CountedPage(BatchCallback callback);
  void StartExpiry();
  void ExpireWaiting();
  // How long anybody waits as things are.
  int64_t WaitMs() const;
  // Why somebody who cannot be served is refused.
  Status Refusal() const;

  Loop& loop_;
  const Options options_;
  bool closing_ = false;
  Queue queue_;
  Queue pages_;
  int pages_sent_ = 0;  // and not answered
  Timer expiry_;        // set to the first deadline, or to when to look again, while somebody waits
  Slots slots_;
};

}  // namespace queen::pg
