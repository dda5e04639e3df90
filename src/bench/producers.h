// Producers: the connections that push to a workload. Each sends one request at a time, asks the
// Source for the next when it is free, and checks that every message was stored. A push that fails
// is an error and is sent again, unchanged, after a pause: with transactionIds that is harmless.
// Without them it may store messages twice, which the ledger then shows.
//
// Pushes go to the partitions in turn, so that connections seldom meet at one.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "bench/source.h"
#include "bench/stats.h"
#include "bench/workload.h"

namespace queen::bench {

class Producers {
 public:
  struct Shape {
    int64_t connections = 1;
    int64_t batch = 1;
    int64_t partitions_per_push = 1;
    int64_t partitions = 1;
    int64_t payload_bytes = 200;
    bool transaction_ids = true;
  };

  // REQUIRES: the workload's ledger has room for these connections and partitions
  Producers(Workload& workload, const Shape& shape);
  ~Producers();

  // Connects all; false when that fails, which is then recorded as an error.
  bool Open();

  // Sends what `source` gives, and records it in `stats`. Ends an earlier Start.
  // REQUIRES: both live until idle() after Stop
  void Start(Source& source, Stats& stats);
  // Connections that have nothing to do ask the source again.
  void Kick();
  // No new pushes, and no second tries.
  void Stop();
  // Nothing is in flight, and nothing waits to be tried again.
  bool idle() const { return busy_ == 0; }

 private:
  class Producer;

  uint32_t NextPartition();

  Workload& workload_;
  const Shape shape_;
  Source* source_ = nullptr;
  Stats* stats_ = nullptr;
  uint64_t cursor_ = 0;
  int busy_ = 0;
  std::deque<Producer*> free_;
  std::vector<std::unique_ptr<Producer>> producers_;
};

}  // namespace queen::bench
