#include "bench/phases.h"

#include <fmt/format.h>

namespace queen::bench {

Producers::Shape ProducerShape(const Options& options) {
  return {.connections = options.producers,
          .batch = options.push_batch,
          .partitions_per_push = options.partitions_per_push,
          .partitions = options.partitions,
          .payload_bytes = options.payload_bytes,
          .transaction_ids = !options.no_transaction_ids};
}

Consumers::Shape ConsumerShape(const Options& options) {
  return {.connections = options.consumers,
          .batch = options.pop_batch,
          .partitions_per_pop = options.partitions_per_pop,
          .groups = options.groups};
}

bool Fill(Workload& workload, Producers& producers, int64_t messages, int64_t batch) {
  workload.run.progress().Begin("fill", &workload.ledger);
  Quota quota(static_cast<uint64_t>((messages + batch - 1) / batch));
  Stats unused;
  producers.Start(quota, unused);
  const bool filled = workload.run.Until([&] { return quota.left() == 0 && producers.idle(); });
  producers.Stop();
  return workload.run.Until([&] { return producers.idle(); }) && filled;
}

void DrainToEnd(Workload& workload, Consumers& consumers) {
  Run& run = workload.run;
  if (!run.stalled()) run.Until([&] { return workload.ledger.complete(); });
  consumers.Stop();
  if (run.Until([&] { return consumers.idle(); })) consumers.SweepExtras();
}

void Settle(const Workload& workload, bool drained, Report& report) {
  report.pushed += workload.ledger.confirmed();
  report.received += workload.ledger.received();
  report.verdict += workload.ledger.Judge(drained);
}

void DeleteQueue(Run& run, const std::string& queue) {
  if (run.options().keep_queue) return;
  run.progress().Begin("delete the queue", nullptr);
  const Run::Answer answer =
      run.Call(run.target().DeleteHead("/api/v1/resources/queues/" + PercentEncode(queue)));
  if (answer.status != 200) {
    run.errors().Add(fmt::format("deleting the queue: {} {}", answer.status, answer.body));
  }
}

}  // namespace queen::bench
