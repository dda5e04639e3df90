// ObservedEngine: the engine as a worker's API sees it, with every operation measured on the way
// through (Operations) and what it did to each queue counted (state::QueueActivity). It changes no
// request and no answer. Belongs to the worker's loop, like the engine it stands before.
//
// Where an answer does not name a queue it is found in the index of delivered messages; what is not
// found there counts for QueueActivity::kOtherQueues. An ack of everything up to a message counts
// as one.
#pragma once

#include "observe/operations.h"
#include "sidecar/requests.h"
#include "state/delivered_index.h"
#include "state/queue_activity.h"

namespace queen::observe {

class ObservedEngine final : public sidecar::Engine {
 public:
  // What it is given outlives it, and outlives every `done` that it hands on.
  ObservedEngine(sidecar::Engine& engine, Operations::Writer operations,
                 state::QueueActivity& activity, const state::DeliveredIndex& delivered)
      : engine_(engine), operations_(operations), activity_(activity), delivered_(delivered) {}

  void Push(sidecar::PushRequest request) override;
  sidecar::CancelPop Pop(sidecar::PopRequest request, sidecar::PopDone done) override;
  void GiveBack(std::string group, sidecar::PopResult result) override;
  void Ack(sidecar::AckRequest request) override;
  void Transaction(sidecar::TransactionRequest request) override;
  void RegisterStreamQuery(sidecar::StreamQueryRequest request,
                           sidecar::StreamQueryDone done) override;
  void GetStreamState(sidecar::StreamStateRequest request, sidecar::StreamStateDone done) override;
  void Renew(sidecar::RenewRequest request, sidecar::RenewDone done) override;
  void QueueChanged(const std::optional<std::string>& queue) override;

 private:
  template <typename Value>
  UniqueFunction<void(Result<Value>)> Timed(Operation operation,
                                            UniqueFunction<void(Result<Value>)> done);
  void OnPushed(const sidecar::PushRequest& request, int64_t begun,
                const Result<std::vector<sidecar::PushOutcome>>& result);
  void OnPopped(const std::string& queue, bool auto_ack, int64_t begun,
                const Result<sidecar::PopResult>& result);
  int64_t CountDelivery(const sidecar::Delivery& delivery, bool auto_ack);
  void OnAcked(const sidecar::AckRequest& request, int64_t begun,
               const Result<std::vector<sidecar::AckOutcome>>& result);
  void OnTransaction(const sidecar::TransactionRequest& request, int64_t begun,
                     const Result<sidecar::TransactionResult>& result);
  static void CountVerdict(state::QueueTotals& totals, sidecar::Verdict verdict, bool dead_lettered,
                           int64_t messages);

  sidecar::Engine& engine_;
  Operations::Writer operations_;
  state::QueueActivity& activity_;
  const state::DeliveredIndex& delivered_;
};

}  // namespace queen::observe
