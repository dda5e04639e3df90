// What is measured of every operation at the engine's boundary: how many, how they ended, how long
// they took and how much they carried. One object for the process; each worker writes its own part.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "metrics/registry.h"

namespace queen::observe {

enum class Operation {
  kPush,
  kPop,
  kAck,
  kTransaction,
  kRenewLease,
  kStreamCycle,
  kStreamQuery,
  kStreamState,
};
inline constexpr size_t kOperationCount = 8;
std::string_view NameOf(Operation operation);

// The sums of one operation over all workers.
struct OperationTotals {
  uint64_t count = 0;  // requests that were answered
  uint64_t items = 0;  // messages, acks or leases in them
  uint64_t timed = 0;  // those in total_micros: all but errors and pops that were parked
  uint64_t total_micros = 0;
};

class Operations {
 public:
  // Registers its metrics. `registry` outlives this.
  explicit Operations(metrics::Registry& registry);
  Operations(const Operations&) = delete;
  Operations& operator=(const Operations&) = delete;

  // The part of one worker, written by its thread only.
  class Writer {
   public:
    Writer(Operations& operations, size_t worker) : operations_(operations), worker_(worker) {}

    // A request was answered.
    void Answered(Operation operation, size_t items, int64_t micros);
    // A pop was answered that had been parked: it waited for a message, not for us.
    void AnsweredAfterWait(size_t items, int64_t micros);
    // A request ended with an error, or was refused as a whole.
    void Failed(Operation operation, Code code);
    // Items that failed in a request that was answered.
    void ItemsFailed(Operation operation, size_t items);

   private:
    Operations& operations_;
    const size_t worker_;
  };

  // Any thread.
  OperationTotals Totals(Operation operation) const;
  // Requests of every kind that failed, or were refused as a whole. Any thread.
  uint64_t Errors() const;

 private:
  struct Family {
    metrics::Counters* count;
    metrics::Counters* items_failed;
    metrics::Histograms* duration;
    metrics::Histograms* items;
  };

  std::array<Family, kOperationCount> families_{};
  metrics::Histograms* pop_wait_;
  std::vector<std::unique_ptr<metrics::CounterGrid>> errors_;  // per worker: operation x code
};

}  // namespace queen::observe
