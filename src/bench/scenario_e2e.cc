// e2e: how long a message takes from the moment it should have been sent to its receipt by a
// consumer that waits for it; at a fixed rate (paced.h), or one message at a time (--idle).
#include "base/clock.h"
#include "bench/measurement.h"
#include "bench/paced.h"
#include "bench/phases.h"
#include "bench/scenarios.h"

namespace queen::bench {
namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr int64_t kMicrosPerMilli = 1'000;
// Unmeasured: they make the partitions and the group.
constexpr int kFirst = 10;

// One message from push to ack, and the pause after it. False: it stalled.
bool OneMessage(Workload& workload, Producers& producers, Consumers& consumers, Stats& pushes) {
  Run& run = workload.run;
  Quota one(1);
  producers.Start(one, pushes);
  const bool done = run.Until(
      [&] { return producers.idle() && workload.ledger.complete() && consumers.acked(); });
  producers.Stop();
  return done && run.For(run.options().pause_ms * kMicrosPerMilli);
}

void RunIdle(Run& run, Resources& resources, Report& report) {
  const Options& options = run.options();
  Workload workload(run, run.queue(), 1, options.partitions, 1);
  Producers::Shape producer = ProducerShape(options);
  producer.connections = 1;
  Consumers::Shape consumer = ConsumerShape(options);
  consumer.connections = 1;
  Stats pushes;
  Producers producers(workload, producer);
  Consumers consumers(workload, consumer);
  if (!producers.Open() || !consumers.Open()) return;

  run.progress().Begin("e2e, idle", &workload.ledger);
  consumers.Start();
  bool alive = true;
  for (int i = 0; alive && i < kFirst; ++i) {
    alive = OneMessage(workload, producers, consumers, pushes);
  }
  Measurement measurement(run, resources,
                          {.workload = &workload, .pushes = &pushes, .consumers = &consumers});
  const int64_t end_us = SteadyMicros() + options.seconds * kMicrosPerSecond;
  for (int64_t i = 0;
       alive && (options.messages > 0 ? i < options.messages : SteadyMicros() < end_us); ++i) {
    alive = OneMessage(workload, producers, consumers, pushes);
  }
  measurement.End();
  ReportRow end_to_end = measurement.Row("end to end", consumers.meters().delivery);
  end_to_end.spent = measurement.spent();
  report.rows.push_back(std::move(end_to_end));
  report.rows.push_back(measurement.Row("  push", pushes));
  report.rows.push_back(measurement.Row("  ack", consumers.meters().ack));
  report.series = std::move(measurement).series();
  DrainToEnd(workload, consumers);
  Settle(workload, true, report);
  DeleteQueue(run, run.queue());
}

}  // namespace

void RunE2e(Run& run, Resources& resources, Report& report) {
  if (run.options().idle) {
    RunIdle(run, resources, report);
  } else {
    RunPaced(run, resources, report);
  }
}

}  // namespace queen::bench
