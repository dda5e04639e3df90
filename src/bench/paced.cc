#include "bench/paced.h"

#include "bench/measurement.h"
#include "bench/phases.h"

namespace queen::bench {
namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;

}  // namespace

void RunPaced(Run& run, Resources& resources, Report& report) {
  const Options& options = run.options();
  Workload workload(run, run.queue(), options.producers, options.partitions, 1);
  Stats pushes;
  Producers producers(workload, ProducerShape(options));
  Consumers consumers(workload, ConsumerShape(options));
  if (!producers.Open() || !consumers.Open()) return;

  run.progress().Begin(std::string(NameOf(options.scenario)), &workload.ledger);
  consumers.Start();
  Pace pace(run.loop(), static_cast<double>(options.rate) / static_cast<double>(options.push_batch),
            [&producers] { producers.Kick(); });
  producers.Start(pace, pushes);
  run.For(options.warmup_seconds * kMicrosPerSecond);
  Measurement measurement(run, resources,
                          {.workload = &workload, .pushes = &pushes, .consumers = &consumers});
  run.For(options.seconds * kMicrosPerSecond);
  measurement.End();

  ReportRow end_to_end = measurement.Row("end to end", consumers.meters().delivery);
  end_to_end.spent = measurement.spent();
  report.rows.push_back(std::move(end_to_end));
  report.rows.push_back(measurement.Row("  push", pushes));
  report.rows.push_back(measurement.Row("  ack", consumers.meters().ack));
  report.series = std::move(measurement).series();

  producers.Stop();
  run.Until([&] { return producers.idle(); });
  run.progress().Begin("drain the rest", &workload.ledger);
  DrainToEnd(workload, consumers);
  Settle(workload, true, report);
  DeleteQueue(run, run.queue());
}

}  // namespace queen::bench
