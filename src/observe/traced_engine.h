// TracedEngine: the engine as a worker's API sees it where spans are exported. It changes no
// request and no answer, and belongs to the worker's loop, like the engine it stands before.
//
//   push         PRODUCER, below the caller's span; below that of its messages if there is no
//   caller
//                and all of them name the same
//   pop          CONSUMER, linked to the traces of the messages it delivers. One that delivers
//                nothing has no span.
//   ack          CLIENT, linked to the traces of the messages it settles
//   transaction, stream_cycle
//                PRODUCER if it pushes, else CLIENT; linked as an ack is
//
// A message belongs to the trace that its headers name: its producer's, or the push's own where the
// producer named none (api/request_trace.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "observe/tracing.h"
#include "sidecar/requests.h"

namespace queen::observe {

class TracedEngine final : public sidecar::Engine {
 public:
  // What it is given outlives it, and outlives every `done` that it hands on.
  TracedEngine(sidecar::Engine& engine, Tracing::Tracer tracer)
      : engine_(engine), tracer_(tracer) {}

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
  // A span that has begun, and when on the steady clock.
  struct Open {
    Span span;
    int64_t steady_micros = 0;
  };

  static Open Begin(Operation operation, SpanKind kind, const TraceContext& context,
                    const TraceContext& parent);
  std::optional<Open> BeginSend(Operation operation, const RequestTrace& trace,
                                const std::vector<sidecar::PushItem>& items);
  void End(Open open);
  void EndPop(Open open, bool auto_ack, const Result<sidecar::PopResult>& result);
  void AddDelivery(const sidecar::Delivery& delivery, bool auto_ack, Span& span);
  void AddAck(const sidecar::AckItem& item, Span& span);

  sidecar::Engine& engine_;
  Tracing::Tracer tracer_;
};

}  // namespace queen::observe
