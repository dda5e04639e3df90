// partitions: pops of any partition, with their acks, on queues that differ in nothing but their
// number of partitions. Every partition holds messages, each in a push of its own, and more wait
// than are popped.
#include <fmt/format.h>

#include <algorithm>

#include "bench/measurement.h"
#include "bench/numbers.h"
#include "bench/phases.h"
#include "bench/scenarios.h"

namespace queen::bench {
namespace {

constexpr int64_t kFillConnections = 4;
constexpr int64_t kFillBatch = 1'000;

bool FillPartitions(Workload& workload, int64_t partitions) {
  const Options& options = workload.run.options();
  const int64_t batch = std::min(kFillBatch, partitions);
  Producers producers(workload, {.connections = kFillConnections,
                                 .batch = batch,
                                 .partitions_per_push = batch,
                                 .partitions = partitions,
                                 .payload_bytes = options.payload_bytes,
                                 .transaction_ids = !options.no_transaction_ids});
  // Consumers in flight may take a pop each beyond the operations.
  const int64_t wanted = (options.operations + options.consumers) * options.pop_batch;
  const int64_t each = (wanted + partitions - 1) / partitions;
  return producers.Open() && Fill(workload, producers, each * partitions, batch);
}

void MeasureCount(Run& run, Resources& resources, int64_t partitions, Report& report) {
  const std::string queue = fmt::format("{}-{}", run.queue(), partitions);
  Workload workload(run, queue, kFillConnections, partitions, 1);
  Consumers consumers(workload, ConsumerShape(run.options()));
  if (FillPartitions(workload, partitions) && consumers.Open()) {
    run.progress().Begin(fmt::format("{} partitions", partitions), &workload.ledger);
    Measurement measurement(run, resources, {.consumers = &consumers});
    consumers.Start(static_cast<uint64_t>(run.options().operations));
    run.Until([&] { return consumers.idle(); });
    measurement.End();
    ReportRow row =
        measurement.Row((WithCommas(static_cast<uint64_t>(partitions)) + " partitions").c_str(),
                        consumers.meters().cycle);
    row.spent = measurement.spent();
    report.rows.push_back(std::move(row));
    report.rows.push_back(measurement.Row("  pop", consumers.meters().pop));
    report.rows.push_back(measurement.Row("  ack", consumers.meters().ack));
  }
  Settle(workload, false, report);
  DeleteQueue(run, queue);
}

}  // namespace

void RunPartitions(Run& run, Resources& resources, Report& report) {
  for (const int64_t count : run.options().counts) MeasureCount(run, resources, count, report);
}

}  // namespace queen::bench
