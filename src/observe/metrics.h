// Metrics: everything that is measured in the process, in one place, and the two documents made of
// it. Workers write their parts; both documents are made on the loop of administration, whatever
// PostgreSQL does, so that reading metrics holds up no worker.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "metrics/registry.h"
#include "observe/database_numbers.h"
#include "observe/operations.h"
#include "observe/queue_series.h"
#include "observe/refusals.h"
#include "observe/workers.h"

namespace queen::observe {

class Metrics {
 public:
  explicit Metrics(size_t worker_count);

  metrics::Registry registry;
  Operations operations;
  Workers workers;
  Refusals refusals;
  QueueSeries queues;
  DatabaseNumbers database;

  // Each second, one thread: what the rates are made of.
  void Sample();

  // GET /metrics/prometheus. Any thread.
  std::string Prometheus();
  // GET /metrics. Any thread.
  std::string Json();

 private:
  // Rates are over so many of the last seconds.
  static constexpr size_t kRateSeconds = 10;

  struct Totals {
    int64_t at_ms = 0;
    int64_t requests = 0;
    int64_t messages = 0;
  };
  struct Rates {
    double requests = 0;
    double messages = 0;
  };

  Totals Now();
  Rates RatesUntil(const Totals& now) const;

  const int64_t started_ms_;
  mutable std::mutex mutex_;
  std::deque<Totals> samples_;  // guarded by it, oldest first
};

}  // namespace queen::observe
