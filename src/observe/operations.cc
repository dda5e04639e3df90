#include "observe/operations.h"

#include <algorithm>

#include "base/code_count.h"

namespace queen::observe {
std::string_view NameOf(Operation operation) {
  switch (operation) {
    case Operation::kPush:
      return "push";
    case Operation::kPop:
      return "pop";
    case Operation::kAck:
      return "ack";
    case Operation::kTransaction:
      return "transaction";
    case Operation::kRenewLease:
      return "renew_lease";
    case Operation::kStreamCycle:
      return "stream_cycle";
    case Operation::kStreamQuery:
      return "stream_query";
    case Operation::kStreamState:
      return "stream_state";
  }
  return "";
}

Operations::Operations(metrics::Registry& registry) {
  for (size_t i = 0; i < kOperationCount; ++i) {
    const metrics::Labels labels = {{"operation", std::string(NameOf(static_cast<Operation>(i)))}};
    families_[i].count = &registry.AddCounter(
        "queen_operations_total", "Requests to the engine that were answered or failed.", labels);
    families_[i].items_failed = &registry.AddCounter(
        "queen_operation_items_failed_total",
        "Messages and acks that failed in a request that was answered.", labels);
    families_[i].duration = &registry.AddHistogram(
        "queen_operation_duration_seconds",
        "Time from the request to the engine's answer; without errors and without pops that "
        "waited for a message.",
        metrics::kMicrosAsSeconds, labels);
    families_[i].items =
        &registry.AddHistogram("queen_operation_items", "Messages, acks or leases in one request.",
                               metrics::kItems, labels);
  }
  pop_wait_ = &registry.AddHistogram(
      "queen_pop_wait_seconds",
      "Time from the request to the answer of pops that waited for a message.",
      metrics::kMicrosAsSeconds);
  for (size_t i = 0; i < registry.writers(); ++i) {
    errors_.push_back(std::make_unique<metrics::CounterGrid>(kOperationCount, kCodeCount));
  }
  registry.AddCollected(
      metrics::Kind::kCounter, "queen_operation_errors_total",
      "Requests to the engine that failed, or were refused as a whole, by error code.",
      [this](const metrics::Emit& emit) {
        for (size_t row = 0; row < kOperationCount; ++row) {
          for (size_t column = 0; column < kCodeCount; ++column) {
            uint64_t total = 0;
            for (const auto& grid : errors_) total += grid->value(row, column);
            if (total == 0) continue;
            emit({{"operation", std::string(NameOf(static_cast<Operation>(row)))},
                  {"code", std::string(InfoOf(static_cast<Code>(column)).name)}},
                 static_cast<double>(total));
          }
        }
      });
}

void Operations::Writer::Answered(Operation operation, size_t items, int64_t micros) {
  const Family& family = operations_.families_[static_cast<size_t>(operation)];
  family.count->of(worker_).Add();
  family.items->of(worker_).Record(items);
  family.duration->of(worker_).Record(static_cast<uint64_t>(std::max<int64_t>(micros, 0)));
}

void Operations::Writer::AnsweredAfterWait(size_t items, int64_t micros) {
  const Family& family = operations_.families_[static_cast<size_t>(Operation::kPop)];
  family.count->of(worker_).Add();
  family.items->of(worker_).Record(items);
  operations_.pop_wait_->of(worker_).Record(static_cast<uint64_t>(std::max<int64_t>(micros, 0)));
}

void Operations::Writer::Failed(Operation operation, Code code) {
  operations_.families_[static_cast<size_t>(operation)].count->of(worker_).Add();
  operations_.errors_[worker_]->Add(static_cast<size_t>(operation), static_cast<size_t>(code));
}

void Operations::Writer::ItemsFailed(Operation operation, size_t items) {
  if (items == 0) return;
  operations_.families_[static_cast<size_t>(operation)].items_failed->of(worker_).Add(items);
}

OperationTotals Operations::Totals(Operation operation) const {
  const Family& family = families_[static_cast<size_t>(operation)];
  const metrics::HistogramSnapshot items(*family.items);
  const metrics::HistogramSnapshot duration(*family.duration);
  return {.count = metrics::Total(*family.count),
          .items = items.sum(),
          .timed = duration.count(),
          .total_micros = duration.sum()};
}

uint64_t Operations::Errors() const {
  uint64_t total = 0;
  for (const auto& grid : errors_) {
    for (size_t row = 0; row < kOperationCount; ++row) {
      for (size_t column = 0; column < kCodeCount; ++column) total += grid->value(row, column);
    }
  }
  return total;
}

}  // namespace queen::observe
