// popwave: W partitions with messages, W connections; all pop their own partition at the same
// moment. A wave lasts until the last one is answered. Acks follow, outside of the wave, and then
// the next wave.
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "bench/client.h"
#include "bench/measurement.h"
#include "bench/phases.h"
#include "bench/push_request.h"
#include "bench/replies.h"
#include "bench/scenarios.h"

namespace queen::bench {
namespace {

constexpr int kOk = 200;
// One, so that the messages of a partition have one order to be checked.
constexpr int64_t kFillConnections = 1;

// One connection with its partition: pops when told to, then acks when told to.
class Popper final : public Client::Listener {
 public:
  Popper(Workload& workload, uint32_t partition)
      : workload_(workload),
        request_(workload.run.target().GetHead(
            fmt::format("/api/v1/pop/queue/{}/partition/{}?batch={}", PercentEncode(workload.queue),
                        PartitionName(partition), workload.run.options().pop_batch))),
        client_(workload.run.loop(), workload.run.target(), *this) {}

  bool Connect() {
    client_.Open();
    return client_.open();
  }

  void Pop() {
    acking_ = false;
    messages_.clear();
    client_.Send(request_);
  }

  void Ack() {
    if (messages_.empty()) return;
    acking_ = true;
    client_.Send(ack_head_, ack_body_);
  }

  bool busy() const { return client_.busy(); }
  int64_t micros() const { return micros_; }
  size_t popped() const { return messages_.size(); }

  void OnReply(const Reply& reply) override {
    const std::string problem = acking_ ? CheckAck(reply) : TakePop(reply);
    if (problem.empty()) {
      workload_.run.Moved();
    } else {
      workload_.run.errors().Add(problem);
    }
  }

 private:
  std::string TakePop(const Reply& reply) {
    micros_ = reply.micros();
    if (reply.status != kOk) return "pop of a partition with messages: " + reply.Describe();
    if (const Status read = ReadPopReply(reply.body, messages_); !read.ok()) {
      return "pop: " + read.message();
    }
    for (const Delivered& message : messages_) {
      const auto stamp = ReadStamp(message.payload);
      if (stamp) {
        workload_.ledger.Receive(0, *stamp);
      } else {
        workload_.ledger.ReceiveForeign();
      }
    }
    WriteAckBody(messages_, "", ack_body_);
    ack_head_ = workload_.run.target().PostHead("/api/v1/ack/batch", ack_body_.size());
    return "";
  }

  std::string CheckAck(const Reply& reply) const {
    if (reply.status != kOk) return "ack: " + reply.Describe();
    const Result<AckOutcome> outcome = ReadAckReply(reply.body);
    if (!outcome.ok()) return "ack: " + outcome.status().message();
    return outcome->failed == 0 ? "" : "ack: " + outcome->first_error;
  }

  Workload& workload_;
  const std::string request_;
  Client client_;
  bool acking_ = false;
  int64_t micros_ = 0;
  std::vector<Delivered> messages_;  // only their number counts once the ack is written
  std::string ack_head_;
  std::string ack_body_;
};

using Poppers = std::vector<std::unique_ptr<Popper>>;

bool Answered(Run& run, const Poppers& poppers) {
  return run.Until([&] {
    return std::ranges::none_of(poppers, [](const auto& popper) { return popper->busy(); });
  });
}

// One wave and its acks. False: it stalled.
bool Wave(Run& run, const Poppers& poppers, Stats& pops, Stats& waves) {
  const int64_t began = SteadyMicros();
  for (const auto& popper : poppers) popper->Pop();
  if (!Answered(run, poppers)) return false;
  const int64_t wave_us = SteadyMicros() - began;
  uint64_t popped = 0;
  for (const auto& popper : poppers) {
    pops.Record(popper->popped(), 1, popper->micros());
    popped += popper->popped();
  }
  waves.Record(popped, poppers.size(), wave_us);
  for (const auto& popper : poppers) popper->Ack();
  return Answered(run, poppers);
}

bool FillEvenly(Workload& workload) {
  const Options& options = workload.run.options();
  Producers producers(workload, {.connections = kFillConnections,
                                 .batch = options.pops,
                                 .partitions_per_push = options.pops,
                                 .partitions = options.pops,
                                 .payload_bytes = options.payload_bytes,
                                 .transaction_ids = !options.no_transaction_ids});
  const int64_t each = options.rounds * options.pop_batch;
  return producers.Open() && Fill(workload, producers, options.pops * each, options.pops);
}

}  // namespace

void RunPopWave(Run& run, Resources& resources, Report& report) {
  const Options& options = run.options();
  Workload workload(run, run.queue(), kFillConnections, options.pops, 1);
  if (!FillEvenly(workload)) return;
  Poppers poppers;
  for (int64_t i = 0; i < options.pops; ++i) {
    poppers.push_back(std::make_unique<Popper>(workload, static_cast<uint32_t>(i)));
  }
  // One after the other: the listening socket's backlog is short.
  const bool connected = std::ranges::all_of(poppers, [&run](const auto& popper) {
    return run.Until([&popper] { return popper->Connect(); });
  });
  if (!connected) return;

  run.progress().Begin("popwave", &workload.ledger);
  Stats pops;
  Stats waves;
  Measurement measurement(run, resources, {});
  for (int64_t round = 0; round < options.rounds; ++round) {
    if (!Wave(run, poppers, pops, waves)) break;
  }
  measurement.End();
  ReportRow wave = measurement.Row("wave", waves);
  wave.seconds = waves.latency.mean() * static_cast<double>(waves.latency.count()) / 1e6;
  wave.spent = measurement.spent();
  ReportRow pop = measurement.Row("  pop", pops);
  pop.seconds = wave.seconds;
  report.rows = {std::move(wave), std::move(pop)};
  Settle(workload, true, report);
  DeleteQueue(run, run.queue());
}

}  // namespace queen::bench
