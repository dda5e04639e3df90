// drain: a backlog is pushed first, then every connection pops and acks as fast as it is answered
// until each group has everything. With --with-push the producers go on meanwhile, for so many
// seconds, and the rest is drained afterwards, unmeasured.
#include "bench/measurement.h"
#include "bench/phases.h"
#include "bench/scenarios.h"

namespace queen::bench {
namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;

void AddDrainRows(const Measurement& measurement, Consumers& consumers, Report& report) {
  report.rows.push_back(measurement.Row("pop+ack", consumers.meters().cycle));
  report.rows.push_back(measurement.Row("  pop", consumers.meters().pop));
  report.rows.push_back(measurement.Row("  ack", consumers.meters().ack));
}

void MeasureDrain(Workload& workload, Resources& resources, Consumers& consumers, Report& report) {
  Run& run = workload.run;
  run.progress().Begin("drain", &workload.ledger);
  Measurement measurement(run, resources, {.workload = &workload, .consumers = &consumers});
  consumers.Start();
  run.Until([&] { return workload.ledger.complete() && consumers.acked(); });
  measurement.End();
  AddDrainRows(measurement, consumers, report);
  report.rows.front().spent = measurement.spent();
  report.series = std::move(measurement).series();
}

// Each message of a flat backlog is pushed once and delivered once in the measurement, so the cost
// of both is told per message: the mean of what went in and what came out.
ReportRow BothWays(const Measurement& measurement, const Stats& pushes, const Stats& cycle) {
  return {.name = "both",
          .seconds = measurement.seconds(),
          .messages = (pushes.messages + cycle.messages) / 2,
          .requests = pushes.requests + cycle.requests,
          .latency = std::nullopt,
          .spent = measurement.spent()};
}

void MeasureBoth(Workload& workload, Resources& resources, Producers& producers,
                 Consumers& consumers, Report& report) {
  Run& run = workload.run;
  const Options& options = run.options();
  run.progress().Begin("push and drain", &workload.ledger);
  Stats pushes;
  Quota quota(UINT64_MAX);
  producers.Start(quota, pushes);
  consumers.Start();
  run.For(options.warmup_seconds * kMicrosPerSecond);
  Measurement measurement(run, resources,
                          {.workload = &workload, .pushes = &pushes, .consumers = &consumers});
  run.For(options.seconds * kMicrosPerSecond);
  measurement.End();
  report.rows.push_back(measurement.Row("push", pushes));
  AddDrainRows(measurement, consumers, report);
  report.rows.push_back(BothWays(measurement, pushes, consumers.meters().cycle));
  report.series = std::move(measurement).series();
  report.show_series = true;
  producers.Stop();
  run.Until([&] { return producers.idle(); });
  run.progress().Begin("drain the rest", &workload.ledger);
}

}  // namespace

void RunDrain(Run& run, Resources& resources, Report& report) {
  const Options& options = run.options();
  Workload workload(run, run.queue(), options.producers, options.partitions, options.groups);
  Producers producers(workload, ProducerShape(options));
  Consumers consumers(workload, ConsumerShape(options));
  if (!producers.Open() || !consumers.Open()) return;
  report.verified = Fill(workload, producers, options.fill, options.push_batch);
  if (report.verified) {
    if (options.with_push) {
      MeasureBoth(workload, resources, producers, consumers, report);
    } else {
      MeasureDrain(workload, resources, consumers, report);
    }
    DrainToEnd(workload, consumers);
  }
  Settle(workload, report.verified, report);
  DeleteQueue(run, run.queue());
}

}  // namespace queen::bench
