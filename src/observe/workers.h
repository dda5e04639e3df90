// Workers: what each worker says of itself. A worker's loop publishes a snapshot of its plain
// numbers every few milliseconds; whoever reads metrics takes the last one, on any thread, and asks
// no loop.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "http/counters.h"
#include "metrics/registry.h"
#include "pg/storage.h"
#include "sidecar/sidecar.h"

namespace queen::observe {

struct WorkerSnapshot {
  http::Counters http;
  pg::Storage::Counts slots;
  std::array<sidecar::OperationStats, sidecar::kOperationCount> batches{};
  bool database_up = false;
  int64_t push_items_waiting = 0;
  int64_t ack_items_waiting = 0;
  int64_t transaction_items_waiting = 0;
  int64_t pops_open = 0;     // on their way or waiting
  int64_t pops_waiting = 0;  // of these, parked
  sidecar::HasPendingStats has_pending;
  int64_t lanes = 0;
  int64_t lane_hits = 0;
  int64_t lane_misses = 0;
  int64_t leases_handed_over = 0;
  int64_t segment_cache_hits = 0;
  int64_t segment_cache_misses = 0;
  int64_t segment_cache_bytes = 0;
  int64_t partitions_known = 0;
};

// On the worker's loop.
WorkerSnapshot TakeSnapshot(sidecar::Sidecar& sidecar, const http::Counters& counters);

class Workers {
 public:
  // Registers the metrics made of snapshots. `registry` outlives this; writer i is worker i.
  explicit Workers(metrics::Registry& registry);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Any thread.
  void Publish(size_t worker, const WorkerSnapshot& snapshot);
  WorkerSnapshot Get(size_t worker) const;
  size_t size() const { return places_.size(); }
  // The sum of `read(snapshot)` over all workers.
  template <typename Read>
  int64_t Sum(Read read) const {
    int64_t sum = 0;
    for (size_t worker = 0; worker < size(); ++worker) {
      sum += static_cast<int64_t>(read(Get(worker)));
    }
    return sum;
  }

 private:
  struct Place {
    mutable std::mutex mutex;
    WorkerSnapshot snapshot;  // guarded by it
  };

  std::vector<std::unique_ptr<Place>> places_;
};

}  // namespace queen::observe
