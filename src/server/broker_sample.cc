#include "server/broker_sample.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "metrics/process_stats.h"
#include "server/worker.h"

namespace queen::server {
namespace {

using admin::BrokerSample;
using admin::Gauge;

constexpr std::array<sidecar::Operation, admin::kCallKinds> kOperations = {
    sidecar::Operation::kPush, sidecar::Operation::kPop, sidecar::Operation::kAck,
    sidecar::Operation::kTransaction, sidecar::Operation::kRenewLease};

// On the worker's loop.
BrokerSample SampleOf(const sidecar::Shards::Shard& shard, int64_t asked_micros) {
  BrokerSample sample;
  sidecar::Sidecar& sidecar = *shard.sidecar;
  sample.queues = shard.activity->Snapshot();
  shard.activity->RestartAgeMax();
  sidecar.pop().ForEachAwaited(
      [&sample](const std::string& queue, const std::string& /*group*/, size_t waiting) {
        sample.waiting_on[queue] += static_cast<int64_t>(waiting);
      });
  const sidecar::Scheduler& scheduler = sidecar.scheduler();
  for (size_t i = 0; i < kOperations.size(); ++i) {
    const sidecar::OperationStats& stats = scheduler.stats(kOperations[i]);
    sample.calls[i] = {stats.count, stats.items, stats.total_micros};
  }
  const pg::Storage::Counts slots = scheduler.slots();
  sample.of(Gauge::kSlotsBusy) = slots.busy;
  sample.of(Gauge::kSlotsTotal) = slots.total;
  sample.of(Gauge::kWaitingPolls) = static_cast<double>(sidecar.pop().waiting());
  const size_t pops_on_their_way = sidecar.pop().open() - sidecar.pop().waiting();
  sample.of(Gauge::kQueuedItems) =
      static_cast<double>(sidecar.push().items_waiting() + sidecar.ack().items_waiting()) +
      static_cast<double>(pops_on_their_way);
  sample.of(Gauge::kGroupsBackedOff) =
      static_cast<double>(sidecar.pop().backoff().groups_backed_off);
  sample.of(Gauge::kLoopLagMs) = static_cast<double>(SteadyMicros() - asked_micros) / 1'000;
  return sample;
}

void Add(BrokerSample& to, BrokerSample of_worker) {
  std::ranges::move(of_worker.queues, std::back_inserter(to.queues));
  for (const auto& [queue, waiting] : of_worker.waiting_on) to.waiting_on[queue] += waiting;
  for (size_t i = 0; i < admin::kCallKinds; ++i) {
    to.calls[i].count += of_worker.calls[i].count;
    to.calls[i].items += of_worker.calls[i].items;
    to.calls[i].micros += of_worker.calls[i].micros;
  }
  const double lag = std::max(to.of(Gauge::kLoopLagMs), of_worker.of(Gauge::kLoopLagMs));
  for (size_t i = 0; i < admin::kGauges; ++i) to.gauges[i] += of_worker.gauges[i];
  to.of(Gauge::kLoopLagMs) = lag;
}

// What belongs to the process and not to a worker.
void AddProcess(BrokerSample& sample, const Shared& shared) {
  const auto count = [&shared](observe::Operation operation) {
    return static_cast<int64_t>(shared.metrics.operations.Totals(operation).count);
  };
  sample.push_requests = count(observe::Operation::kPush);
  sample.ack_requests = count(observe::Operation::kAck);
  sample.transactions =
      count(observe::Operation::kTransaction) + count(observe::Operation::kStreamCycle);
  sample.errors = static_cast<int64_t>(shared.metrics.operations.Errors());
  const metrics::CpuTimes cpu = metrics::ProcessCpuTimes();
  sample.cpu_user_micros = static_cast<int64_t>(cpu.user_seconds * 1e6);
  sample.cpu_system_micros = static_cast<int64_t>(cpu.system_seconds * 1e6);
  sample.of(Gauge::kRssBytes) = static_cast<double>(metrics::ResidentBytes());
  if (shared.buffer) {
    sample.of(Gauge::kBufferedMessages) =
        static_cast<double>(shared.buffer->stats().pending_messages);
  }
}

}  // namespace

void GatherBrokerSample(const Shared& shared, Loop& here,
                        UniqueFunction<void(const BrokerSample&)> done) {
  struct Gathering {
    BrokerSample sample;
    size_t left = 0;
    UniqueFunction<void(const BrokerSample&)> done;
  };
  auto gathering = std::make_shared<Gathering>();
  const auto& shards = shared.shards.shards;
  gathering->left = shards.size();
  gathering->done = std::move(done);
  for (const sidecar::Shards::Shard& shard : shards) {
    shard.loop->Post([&shared, &here, &shard, gathering, asked = SteadyMicros()]() mutable {
      here.Post(
          [&shared, gathering = std::move(gathering), sample = SampleOf(shard, asked)]() mutable {
            Add(gathering->sample, std::move(sample));
            if (--gathering->left > 0) return;
            AddProcess(gathering->sample, shared);
            gathering->done(gathering->sample);
          });
    });
  }
}

}  // namespace queen::server
