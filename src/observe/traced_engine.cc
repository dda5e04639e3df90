#include "observe/traced_engine.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "storage/lines.h"

namespace queen::observe {
namespace {

using sidecar::AckItem;
using sidecar::AckOutcome;
using sidecar::Delivery;
using sidecar::PushItem;
using sidecar::PushOutcome;
using sidecar::Verdict;

std::string_view NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kCompleted:
      return "completed";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kDeadLetter:
      return "dlq";
    case Verdict::kRetry:
      return "retry";
  }
  return "";
}

// A text that all of several things share; "" if they do not.
class Shared {
 public:
  void Add(std::string_view text) {
    if (!any_) text_ = text;
    if (text != text_) text_.clear();
    any_ = true;
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
  bool any_ = false;
};

// The traces of meta lines that outlive it. Neighbours mostly have the same line, which is then
// parsed once.
class TraceReader {
 public:
  const TraceContext& Of(std::string_view meta) {
    if (meta != last_) {
      context_ = TraceOfMeta(meta);
      last_ = meta;
    }
    return context_;
  }

 private:
  std::string_view last_;
  TraceContext context_;
};

// The traces that items name themselves.
struct OwnTraces {
  std::vector<TraceContext> contexts;  // without repetitions in a row
  size_t items_without = 0;

  bool AreOne() const { return contexts.size() == 1 && items_without == 0; }
};

OwnTraces ReadOwnTraces(const RequestTrace& request, const std::vector<PushItem>& items) {
  OwnTraces own;
  TraceReader reader;
  for (const PushItem& item : items) {
    const TraceContext& context = reader.Of(item.meta);
    if (!context.valid() || context == request.span || context == request.caller) {
      ++own.items_without;
    } else if (own.contexts.empty() || own.contexts.back() != context) {
      own.contexts.push_back(context);
    }
  }
  return own;
}

void SetError(const Status& status, Span& span) {
  span.error = InfoOf(status.code()).name;
  span.error_text = status.message();
}

// What a push says of itself once it is answered.
void DescribePush(const std::vector<PushItem>& items, const std::vector<PushOutcome>& outcomes,
                  Span& span) {
  bool one_partition = true;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const PushOutcome& outcome = outcomes[i];
    if (!items[i].error.empty() || outcome.status == PushOutcome::Status::kFailed) ++span.failed;
    if (outcome.status != PushOutcome::Status::kQueued) continue;
    span.AddMessageId(EncodeMessageId(outcome.id));
    one_partition =
        one_partition && span.partition_id.value_or(outcome.id.partition) == outcome.id.partition;
    span.partition_id = outcome.id.partition;
  }
  if (!one_partition) span.partition_id.reset();
  if (span.failed == 0 || span.failed < items.size()) return;
  span.error = "failed";
  span.error_text = outcomes.front().error.empty() ? items.front().error : outcomes.front().error;
}

void DescribeAcks(const std::vector<AckItem>& items, const std::vector<AckOutcome>& outcomes,
                  Span& span) {
  Shared queue;
  Shared partition;
  std::string first_error;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].success) {
      queue.Add(outcomes[i].queue_name);
      partition.Add(outcomes[i].partition_name);
    } else if (++span.failed == 1) {
      first_error = items[i].error.empty() ? outcomes[i].error : items[i].error;
    }
  }
  span.queue = queue.Take();
  span.partition = partition.Take();
  if (span.failed == 0 || span.failed < items.size()) return;
  span.error = "refused";
  span.error_text = first_error;
}

}  // namespace

// ---- the life of a span

TracedEngine::Open TracedEngine::Begin(Operation operation, SpanKind kind,
                                       const TraceContext& context, const TraceContext& parent) {
  Open open;
  open.span.operation = operation;
  open.span.kind = kind;
  open.span.context = context;
  open.span.parent = parent.span_id;
  open.span.begin_micros = WallMicros();
  open.steady_micros = SteadyMicros();
  return open;
}

void TracedEngine::End(Open open) {
  open.span.end_micros = open.span.begin_micros + SteadyMicros() - open.steady_micros;
  tracer_.Record(std::move(open.span));
}

// ---- push

// nullopt: there is no span to export.
std::optional<TracedEngine::Open> TracedEngine::BeginSend(Operation operation,
                                                          const RequestTrace& trace,
                                                          const std::vector<PushItem>& items) {
  if (trace.caller.valid() && !trace.span.valid()) return std::nullopt;
  const OwnTraces own = ReadOwnTraces(trace, items);
  const bool below_own = !trace.caller.valid() && own.AreOne();
  const TraceContext parent = below_own ? own.contexts.front() : trace.caller;
  const TraceContext context = below_own ? tracer_.Start(parent) : trace.span;
  if (!context.valid()) return std::nullopt;
  Open open = Begin(operation, SpanKind::kProducer, context, parent);
  if (!below_own) {
    for (const TraceContext& linked : own.contexts) open.span.AddLink({linked, std::nullopt});
  }
  Shared queue;
  Shared partition;
  for (const PushItem& item : items) {
    queue.Add(item.queue);
    partition.Add(item.partition);
  }
  open.span.queue = queue.Take();
  if (!open.span.queue.empty()) open.span.partition = partition.Take();
  open.span.messages = items.size();
  return open;
}

void TracedEngine::Push(sidecar::PushRequest request) {
  std::optional<Open> begun = BeginSend(Operation::kPush, request.trace, request.items);
  if (!begun) return engine_.Push(std::move(request));
  request.done = [this, open = *std::move(begun), done = std::move(request.done)](
                     sidecar::PushRequest& answered,
                     Result<std::vector<PushOutcome>> result) mutable {
    if (result.ok()) {
      DescribePush(answered.items, *result, open.span);
    } else {
      SetError(result.status(), open.span);
    }
    End(std::move(open));
    done(answered, std::move(result));
  };
  engine_.Push(std::move(request));
}

// ---- pop

sidecar::CancelPop TracedEngine::Pop(sidecar::PopRequest request, sidecar::PopDone done) {
  if (!request.trace.span.valid()) return engine_.Pop(std::move(request), std::move(done));
  Open begun =
      Begin(Operation::kPop, SpanKind::kConsumer, request.trace.span, request.trace.caller);
  begun.span.queue = request.queue;
  begun.span.group = request.group;
  sidecar::PopDone traced = [this, open = std::move(begun), auto_ack = request.auto_ack,
                             done = std::move(done)](Result<sidecar::PopResult> result) mutable {
    EndPop(std::move(open), auto_ack, result);
    done(std::move(result));
  };
  return engine_.Pop(std::move(request), std::move(traced));
}

void TracedEngine::EndPop(Open open, bool auto_ack, const Result<sidecar::PopResult>& result) {
  Span& span = open.span;
  if (!result.ok()) {
    SetError(result.status(), span);
    return End(std::move(open));
  }
  if (result->deliveries.empty()) return;
  span.queue = result->deliveries.front().queue_name;
  if (result->deliveries.size() == 1) {
    span.partition = result->deliveries.front().partition_name;
    span.partition_id = result->deliveries.front().partition;
  }
  if (result->leased) span.lease_id = result->lease_id;
  span.waited = result->parked;
  span.auto_ack = auto_ack;
  for (const Delivery& delivery : result->deliveries) AddDelivery(delivery, auto_ack, span);
  End(std::move(open));
}

void TracedEngine::AddDelivery(const Delivery& delivery, bool auto_ack, Span& span) {
  std::vector<std::string_view> metas;
  std::vector<std::string_view> txns;
  TraceReader reader;
  for (const storage::SegmentPtr& segment : delivery.segments) {
    const auto count = static_cast<size_t>(segment->count);
    const auto column = [](const std::string& text) {
      return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
    };
    const bool readable = storage::SplitNullableLines(column(segment->meta), count, metas).ok() &&
                          storage::SplitNullableLines(column(segment->txns), count, txns).ok();
    const int64_t end = std::min(segment->end_seq(), delivery.end);
    for (int64_t seq = std::max(segment->base_seq, delivery.cursor); seq < end; ++seq) {
      if (!delivery.Delivers(seq)) continue;
      ++span.messages;
      const Uuid id = EncodeMessageId({.created_millis = segment->CreatedMicros(seq) / 1'000,
                                       .partition = delivery.partition,
                                       .seq = seq});
      span.AddMessageId(id);
      if (!readable || segment->meta.empty()) continue;
      const auto place = static_cast<size_t>(seq - segment->base_seq);
      const SpanLink link{reader.Of(metas[place]), id};
      if (!link.context.valid()) continue;
      span.AddLink(link);
      if (auto_ack) continue;
      const std::string_view txn = txns[place];
      tracer_.messages().Add(delivery.partition, txn.empty() ? id.ToString() : txn, link);
    }
  }
}

void TracedEngine::GiveBack(std::string group, sidecar::PopResult result) {
  engine_.GiveBack(std::move(group), std::move(result));
}

// ---- ack

void TracedEngine::AddAck(const AckItem& item, Span& span) {
  if (!item.partition) return;
  const std::optional<SpanLink> link = tracer_.messages().Find(*item.partition, item.txn);
  if (!link) return;
  span.AddLink(*link);
  if (span.operation == Operation::kAck) span.AddMessageId(*link->message_id);
}

void TracedEngine::Ack(sidecar::AckRequest request) {
  if (!request.trace.span.valid()) return engine_.Ack(std::move(request));
  Open begun = Begin(Operation::kAck, SpanKind::kClient, request.trace.span, request.trace.caller);
  Shared group;
  Shared verdict;
  for (const AckItem& item : request.items) {
    AddAck(item, begun.span);
    group.Add(item.group);
    verdict.Add(NameOf(item.verdict));
  }
  begun.span.group = group.Take();
  begun.span.verdict = verdict.Take();
  begun.span.messages = request.items.size();
  request.done = [this, open = std::move(begun), done = std::move(request.done)](
                     sidecar::AckRequest& answered,
                     Result<std::vector<AckOutcome>> result) mutable {
    if (result.ok()) {
      DescribeAcks(answered.items, *result, open.span);
    } else {
      SetError(result.status(), open.span);
    }
    End(std::move(open));
    done(answered, std::move(result));
  };
  engine_.Ack(std::move(request));
}

// ---- transaction

void TracedEngine::Transaction(sidecar::TransactionRequest request) {
  const Operation operation = request.cycle ? Operation::kStreamCycle : Operation::kTransaction;
  std::optional<Open> begun = BeginSend(operation, request.trace, request.pushes);
  if (!begun) return engine_.Transaction(std::move(request));
  if (request.pushes.empty()) begun->span.kind = SpanKind::kClient;
  for (const sidecar::TransactionAck& ack : request.acks) AddAck(ack.item, begun->span);
  begun->span.messages += request.acks.size();
  request.done = [this, open = *std::move(begun), done = std::move(request.done)](
                     sidecar::TransactionRequest& answered,
                     Result<sidecar::TransactionResult> result) mutable {
    if (!result.ok()) {
      SetError(result.status(), open.span);
    } else if (!result->refusal.ok()) {
      SetError(result->refusal, open.span);
    } else {
      for (const MessageId& id : result->pushed) open.span.AddMessageId(EncodeMessageId(id));
    }
    End(std::move(open));
    done(answered, std::move(result));
  };
  engine_.Transaction(std::move(request));
}

// ---- the rest has no spans

void TracedEngine::RegisterStreamQuery(sidecar::StreamQueryRequest request,
                                       sidecar::StreamQueryDone done) {
  engine_.RegisterStreamQuery(std::move(request), std::move(done));
}

void TracedEngine::GetStreamState(sidecar::StreamStateRequest request,
                                  sidecar::StreamStateDone done) {
  engine_.GetStreamState(std::move(request), std::move(done));
}

void TracedEngine::Renew(sidecar::RenewRequest request, sidecar::RenewDone done) {
  engine_.Renew(request, std::move(done));
}

void TracedEngine::QueueChanged(const std::optional<std::string>& queue) {
  engine_.QueueChanged(queue);
}

}  // namespace queen::observe
