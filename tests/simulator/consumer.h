// Consumer: pops of one queue for one group, and does with what it gets whatever clients do: acks
// all, one by one, some and fails others, hands back, renews, comes too late, forgets it, leaves
// while it waits.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sidecar/requests.h"
#include "simulator/simulation.h"

namespace queen::simulator {

class Consumer {
 public:
  Consumer(Simulation& world, std::string queue, std::string group, bool auto_ack, bool patient)
      : world_(world),
        queue_(std::move(queue)),
        group_(std::move(group)),
        auto_ack_(auto_ack),
        patient_(patient) {}

  void Start() { NextSoon(); }

  // ---- what it waits for

  const std::string& queue() const { return queue_; }
  const std::string& group() const { return group_; }
  // A pop that waits is on its way, since then; 0: none.
  int64_t waits_since() const { return waits_since_; }
  int64_t waits_at() const { return waits_at_; }  // that broker
  const std::optional<std::string>& waits_for() const { return partition_; }

 private:
  using Batch = std::vector<Received>;
  using ReadyLanes = std::map<int32_t, int64_t>;  // partition -> epoch

  void NextSoon();
  bool Waits();
  void Next();
  void OnAnswer(const PopCall& call, const ReadyLanes& ready_before,
                std::optional<Result<sidecar::PopResult>> answer);
  void CheckNothing(const PopCall& call, const ReadyLanes& ready_before);
  ReadyLanes ReadyNow();
  void Handle(const Uuid& lease, Batch batch);
  void AckAll(const Uuid& lease, const Batch& batch, int64_t after_micros);
  void AckEach(const Uuid& lease, Batch batch);
  void JudgeEach(const Uuid& lease, const Batch& batch);
  void HandBack(const Uuid& lease, const Batch& batch);
  void Transact(const Uuid& lease, const Batch& batch);
  void OnTransacted(Truth::Bundle bundle, std::optional<Result<sidecar::TransactionResult>> answer);
  void RenewAndAck(const Uuid& lease, const Batch& batch);
  void Say(const Uuid& lease, const std::vector<std::pair<Received, sidecar::Verdict>>& verdicts,
           int repeats, UniqueFunction<void()> then);
  void After(int64_t micros, UniqueFunction<void()> then);

  Simulation& world_;
  const std::string queue_;
  const std::string group_;
  const bool auto_ack_;
  const bool patient_;  // waits for messages most of the time
  int64_t pops_ = 0;
  int64_t waits_since_ = 0;
  int64_t waits_at_ = 0;
  std::optional<std::string> partition_;
};

}  // namespace queen::simulator
