#include "observe/metrics.h"

#include <array>
#include <cmath>

#include "base/clock.h"
#include "base/json_writer.h"
#include "metrics/process_stats.h"
#include "metrics/prometheus.h"

namespace queen::observe {
namespace {

constexpr auto kEngineOperations =
    std::to_array({Operation::kPush, Operation::kPop, Operation::kAck, Operation::kTransaction,
                   Operation::kRenewLease});

double Rounded(double value) { return std::round(value * 1'000) / 1'000; }

double MeanMs(int64_t micros, int64_t count) {
  return count == 0 ? 0 : Rounded(static_cast<double>(micros) / static_cast<double>(count) / 1e3);
}

void WriteTotal(JsonWriter& writer, std::string_view key, int64_t total, double rate) {
  writer.Key(key);
  writer.BeginObject();
  writer.Field("total", total);
  writer.Field("rate", Rounded(rate));
  writer.EndObject();
}

void WriteOperations(JsonWriter& writer, const Operations& operations) {
  writer.Key("operations");
  writer.BeginObject();
  for (const Operation operation : kEngineOperations) {
    const OperationTotals totals = operations.Totals(operation);
    writer.Key(NameOf(operation));
    writer.BeginObject();
    writer.Field("count", static_cast<int64_t>(totals.count));
    writer.Field("avg_ms", MeanMs(static_cast<int64_t>(totals.total_micros),
                                  static_cast<int64_t>(totals.timed)));
    writer.Field("items", static_cast<int64_t>(totals.items));
    writer.EndObject();
  }
  writer.EndObject();
}

void WriteSidecar(JsonWriter& writer, const Workers& workers, const Operations& operations) {
  using Snapshot = WorkerSnapshot;
  constexpr auto kPops = static_cast<size_t>(sidecar::Operation::kPop);
  const auto sum = [&workers](auto read) { return workers.Sum(read); };
  writer.Key("sidecar");
  writer.BeginObject();
  writer.Key("connections");
  writer.BeginObject();
  writer.Field("total", sum([](const Snapshot& s) { return s.slots.total; }));
  writer.Field("busy", sum([](const Snapshot& s) { return s.slots.busy; }));
  writer.EndObject();
  writer.Key("queue");
  writer.BeginObject();
  writer.Field("pending", sum([](const Snapshot& s) {
                 return s.push_items_waiting + s.ack_items_waiting + s.transaction_items_waiting +
                        s.pops_open - s.pops_waiting;
               }));
  // Answers reach their requests in the turn in which they come: none ever waits.
  writer.Field("completed", int64_t{0});
  writer.EndObject();
  WriteOperations(writer, operations);
  writer.Key("pop_batch");
  writer.BeginObject();
  const int64_t batches = sum([](const Snapshot& s) { return s.batches[kPops].count; });
  const int64_t items = sum([](const Snapshot& s) { return s.batches[kPops].items; });
  const int64_t micros = sum([](const Snapshot& s) { return s.batches[kPops].total_micros; });
  writer.Field("count", batches);
  writer.Field("items", items);
  writer.Field(
      "avg_items",
      batches == 0 ? 0.0 : Rounded(static_cast<double>(items) / static_cast<double>(batches)));
  writer.Field("avg_ms", MeanMs(micros, batches));
  writer.EndObject();
  writer.Key("has_pending");
  writer.BeginObject();
  writer.Field("checks", sum([](const Snapshot& s) { return s.has_pending.checks; }));
  writer.Field("hits", sum([](const Snapshot& s) { return s.has_pending.hits; }));
  writer.Field("misses", sum([](const Snapshot& s) { return s.has_pending.misses; }));
  writer.EndObject();
  writer.EndObject();
}

}  // namespace

Metrics::Metrics(size_t worker_count)
    : registry(worker_count),
      operations(registry),
      workers(registry),
      refusals(registry),
      queues(registry),
      database(registry),
      started_ms_(SteadyMillis()) {}

Metrics::Totals Metrics::Now() {
  const state::QueueTotals all = queues.All();
  return {.at_ms = SteadyMillis(),
          .requests = workers.Sum([](const WorkerSnapshot& s) { return s.http.requests; }),
          .messages = all.pushed + all.buffered};
}

void Metrics::Sample() {
  const Totals now = Now();
  const std::lock_guard lock(mutex_);
  samples_.push_back(now);
  if (samples_.size() > kRateSeconds + 1) samples_.pop_front();
}

Metrics::Rates Metrics::RatesUntil(const Totals& now) const {
  const std::lock_guard lock(mutex_);
  if (samples_.empty() || now.at_ms <= samples_.front().at_ms) return {};
  const Totals& then = samples_.front();
  const double seconds = static_cast<double>(now.at_ms - then.at_ms) / 1e3;
  return {.requests = static_cast<double>(now.requests - then.requests) / seconds,
          .messages = static_cast<double>(now.messages - then.messages) / seconds};
}

std::string Metrics::Prometheus() {
  queues.Merge();
  return metrics::RenderPrometheus(registry);
}

std::string Metrics::Json() {
  queues.Merge();
  const Totals now = Now();
  const Rates rates = RatesUntil(now);
  const PoolCounts pool = database.pool();
  const metrics::CpuTimes cpu = metrics::ProcessCpuTimes();
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Field("uptime", Rounded(static_cast<double>(now.at_ms - started_ms_) / 1e3));
  WriteTotal(writer, "requests", now.requests, rates.requests);
  WriteTotal(writer, "messages", now.messages, rates.messages);
  writer.Key("database");
  writer.BeginObject();
  writer.Field("poolSize", pool.size);
  writer.Field("idleConnections", pool.idle);
  writer.Field("waitingRequests", pool.waiting);
  writer.EndObject();
  writer.Key("memory");
  writer.BeginObject();
  writer.Field("rss", static_cast<int64_t>(metrics::ResidentBytes()));
  writer.EndObject();
  writer.Key("cpu");
  writer.BeginObject();
  writer.Field("user", static_cast<int64_t>(cpu.user_seconds * 1e6));
  writer.Field("system", static_cast<int64_t>(cpu.system_seconds * 1e6));
  writer.EndObject();
  WriteSidecar(writer, workers, operations);
  writer.EndObject();
  return out;
}

}  // namespace queen::observe
