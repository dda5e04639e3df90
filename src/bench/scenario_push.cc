// push: every connection pushes as fast as it is answered, for so many seconds or messages, to a
// queue that may have been filled before. Then
// the queue is drained, unmeasured, to see that everything is there, once and in order.
#include <algorithm>

#include "bench/measurement.h"
#include "bench/phases.h"
#include "bench/scenarios.h"

namespace queen::bench {
namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr int64_t kVerifyConnections = 8;
constexpr int64_t kVerifyBatch = 1'000;
constexpr int64_t kFillConnections = 4;
constexpr int64_t kFillBatch = 1'000;

// False: it could not be done.
bool FillFirst(Workload& workload) {
  const Options& options = workload.run.options();
  if (options.fill == 0) return true;
  Producers::Shape shape = ProducerShape(options);
  shape.connections = std::min(shape.connections, kFillConnections);
  shape.batch = kFillBatch;
  shape.partitions_per_push = 1;
  Producers producers(workload, shape);
  return producers.Open() && Fill(workload, producers, options.fill, kFillBatch);
}

// False: the broker could not be asked.
bool Verify(Workload& workload) {
  workload.run.progress().Begin("verify", &workload.ledger);
  Consumers consumers(workload, {.connections = kVerifyConnections, .batch = kVerifyBatch});
  if (!consumers.Open()) return false;
  consumers.Start();
  DrainToEnd(workload, consumers);
  return true;
}

}  // namespace

void RunPush(Run& run, Resources& resources, Report& report) {
  const Options& options = run.options();
  Workload workload(run, run.queue(), options.producers, options.partitions, 1);
  Stats stats;
  Producers producers(workload, ProducerShape(options));
  if (!producers.Open() || !FillFirst(workload)) return;

  run.progress().Begin("push", &workload.ledger);
  const bool counted = options.messages > 0;
  Quota quota(counted ? static_cast<uint64_t>((options.messages + options.push_batch - 1) /
                                              options.push_batch)
                      : UINT64_MAX);
  bool alive = true;
  if (!counted && options.warmup_seconds > 0) {
    producers.Start(quota, stats);
    alive = run.For(options.warmup_seconds * kMicrosPerSecond);
  }
  Measurement measurement(run, resources, {.workload = &workload, .pushes = &stats});
  if (alive) producers.Start(quota, stats);
  if (alive && counted) {
    run.Until([&] { return quota.left() == 0 && producers.idle(); });
  } else if (alive) {
    run.For(options.seconds * kMicrosPerSecond);
  }
  measurement.End();
  ReportRow row = measurement.Row("push", stats);
  row.spent = measurement.spent();
  report.rows.push_back(std::move(row));
  report.series = std::move(measurement).series();

  producers.Stop();
  run.Until([&] { return producers.idle(); });
  report.verified = !options.no_verify && !run.stalled() && Verify(workload);
  Settle(workload, report.verified, report);
  DeleteQueue(run, run.queue());
}

}  // namespace queen::bench
