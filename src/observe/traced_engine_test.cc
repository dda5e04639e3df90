#include "observe/traced_engine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "observe/fake_engine.h"

namespace queen::observe {
namespace {

using sidecar::AckOutcome;
using sidecar::PushOutcome;
using sidecar::Verdict;

// A context of its own for each number.
TraceContext ContextOf(uint8_t number) {
  TraceContext context;
  context.trace_id.fill(number);
  context.span_id.fill(number);
  context.flags = TraceContext::kSampled;
  return context;
}

std::string MetaOf(const TraceContext& context) {
  return fmt::format(R"({{"headers":{{"traceparent":"{}"}}}})", context.ToTraceparent());
}

const TraceContext kCaller = ContextOf(1);
const TraceContext kSpan = ContextOf(2);
const TraceContext kProducer = ContextOf(3);
const TraceContext kOther = ContextOf(4);

class TracedEngineTest : public testing::Test {
 protected:
  static config::Tracing Config() {
    config::Tracing config;
    config.endpoint = "http://127.0.0.1:1";
    config.sampler = "always_on";
    config.queue_size = 4;
    return config;
  }

  static sidecar::PushItem ItemOf(std::string_view partition, std::string meta = "") {
    sidecar::PushItem item;
    item.queue = "q";
    item.partition = partition;
    item.meta = std::move(meta);
    return item;
  }

  static PushOutcome Queued(int32_t partition, int64_t seq) {
    PushOutcome outcome;
    outcome.status = PushOutcome::Status::kQueued;
    outcome.id = {1'000, PartitionId{partition}, seq};
    return outcome;
  }

  void Push(std::vector<sidecar::PushItem> items, const RequestTrace& trace,
            Result<std::vector<PushOutcome>> answer) {
    sidecar::PushRequest request;
    request.items = std::move(items);
    request.trace = trace;
    request.done = [this](sidecar::PushRequest&, Result<std::vector<PushOutcome>> result) {
      Answered(result);
    };
    traced_.Push(std::move(request));
    fake_.push.done(fake_.push, std::move(answer));
  }

  void Pop(const RequestTrace& trace, bool auto_ack, Result<sidecar::PopResult> answer) {
    sidecar::PopRequest request;
    request.queue = "q";
    request.group = "g";
    request.auto_ack = auto_ack;
    request.trace = trace;
    traced_.Pop(std::move(request),
                [this](Result<sidecar::PopResult> result) { Answered(result); });
    fake_.pop(std::move(answer));
  }

  void Ack(std::vector<sidecar::AckItem> items, const RequestTrace& trace,
           Result<std::vector<AckOutcome>> answer) {
    sidecar::AckRequest request;
    request.items = std::move(items);
    request.trace = trace;
    request.done = [this](sidecar::AckRequest&, Result<std::vector<AckOutcome>> result) {
      Answered(result);
    };
    traced_.Ack(std::move(request));
    fake_.ack.done(fake_.ack, std::move(answer));
  }

  static sidecar::AckItem AckOf(std::string txn, Verdict verdict = Verdict::kCompleted) {
    sidecar::AckItem item;
    item.partition = PartitionId{7};
    item.txn = std::move(txn);
    item.group = "g";
    item.verdict = verdict;
    return item;
  }

  // Messages a, b, c of partition 7, traced by kProducer, nobody and kOther; b was settled before.
  static sidecar::PopResult ThreeMessages() {
    auto segment = std::make_shared<storage::Segment>();
    segment->count = 3;
    segment->created_micros = WallMicros();
    segment->txns = "a\nb\nc";
    segment->meta = MetaOf(kProducer) + "\n\n" + MetaOf(kOther);
    sidecar::Delivery delivery;
    delivery.partition = PartitionId{7};
    delivery.queue_name = "q";
    delivery.partition_name = "p";
    delivery.end = 3;
    delivery.settled = "010";
    delivery.segments.push_back(segment);
    sidecar::PopResult result;
    result.leased = true;
    result.deliveries.push_back(std::move(delivery));
    return result;
  }

  static std::vector<TraceContext> LinksOf(const Span& span) {
    std::vector<TraceContext> contexts;
    for (const SpanLink& link : span.links) contexts.push_back(link.context);
    return contexts;
  }

  // The one span that was recorded since the last time.
  Span Recorded() {
    std::vector<Span> spans = tracing_.TakeSpans(0);
    EXPECT_EQ(spans.size(), 1U);
    return spans.empty() ? Span() : spans.front();
  }
  bool NothingRecorded() { return tracing_.TakeSpans(0).empty(); }

  template <typename Value>
  void Answered(const Result<Value>& result) {
    ++answers_;
    answered_ = result.ok() ? Code::kOk : result.status().code();
  }

  metrics::Registry registry_{1};
  Tracing tracing_{Config(), 1, registry_};
  FakeEngine fake_;
  TracedEngine traced_{fake_, {tracing_, 0}};
  Code answered_ = Code::kInternal;
  int answers_ = 0;
};

TEST_F(TracedEngineTest, APushIsBelowItsCallerAndLinkedToTheTracesOfItsMessages) {
  Push({ItemOf("p", MetaOf(kProducer)), ItemOf("p", MetaOf(kSpan)), ItemOf("p", MetaOf(kOther))},
       {kCaller, kSpan}, std::vector<PushOutcome>{Queued(7, 0), Queued(7, 1), Queued(7, 2)});
  EXPECT_EQ(answered_, Code::kOk);
  const Span span = Recorded();
  EXPECT_EQ(span.operation, Operation::kPush);
  EXPECT_EQ(span.kind, SpanKind::kProducer);
  EXPECT_EQ(span.context, kSpan);
  EXPECT_EQ(span.parent, kCaller.span_id);
  EXPECT_EQ(LinksOf(span), (std::vector{kProducer, kOther}));
  EXPECT_EQ(span.queue, "q");
  EXPECT_EQ(span.partition, "p");
  EXPECT_EQ(span.partition_id, PartitionId{7});
  EXPECT_EQ(span.messages, 3U);
  EXPECT_EQ(span.message_ids.size(), 3U);
  EXPECT_LE(span.begin_micros, span.end_micros);
  EXPECT_TRUE(span.error.empty());
}

TEST_F(TracedEngineTest, APushWithoutACallerIsBelowTheOneTraceOfItsMessages) {
  Push({ItemOf("p", MetaOf(kProducer)), ItemOf("r", MetaOf(kProducer))}, {{}, kSpan},
       std::vector<PushOutcome>{Queued(7, 0), Queued(8, 0)});
  const Span span = Recorded();
  EXPECT_EQ(span.parent, kProducer.span_id);
  EXPECT_EQ(span.context.trace_id, kProducer.trace_id);
  EXPECT_TRUE(span.links.empty());
  EXPECT_EQ(span.partition, "") << "of several";
  EXPECT_FALSE(span.partition_id);
}

TEST_F(TracedEngineTest, APushThatFailedSaysWhy) {
  PushOutcome failed;
  failed.error = "Queue is full";
  Push({ItemOf("p"), ItemOf("p")}, {kCaller, kSpan},
       std::vector<PushOutcome>{Queued(7, 0), failed});
  Span span = Recorded();
  EXPECT_EQ(span.failed, 1U);
  EXPECT_EQ(span.error, "") << "a part was stored";
  Push({ItemOf("p")}, {kCaller, kSpan}, std::vector<PushOutcome>{failed});
  span = Recorded();
  EXPECT_EQ(span.error, "failed");
  EXPECT_EQ(span.error_text, "Queue is full");
  Push({ItemOf("p")}, {kCaller, kSpan}, Status(Code::kDatabaseUnavailable, "away"));
  EXPECT_EQ(answered_, Code::kDatabaseUnavailable);
  span = Recorded();
  EXPECT_EQ(span.error, InfoOf(Code::kDatabaseUnavailable).name);
  EXPECT_EQ(span.error_text, "away");
}

TEST_F(TracedEngineTest, APopIsLinkedToWhatItDeliversAndItsAckToTheSame) {
  Pop({kCaller, kSpan}, false, ThreeMessages());
  Span span = Recorded();
  EXPECT_EQ(span.operation, Operation::kPop);
  EXPECT_EQ(span.kind, SpanKind::kConsumer);
  EXPECT_EQ(span.parent, kCaller.span_id);
  EXPECT_EQ(LinksOf(span), (std::vector{kProducer, kOther}));
  EXPECT_EQ(span.messages, 2U);
  EXPECT_EQ(span.group, "g");
  EXPECT_TRUE(span.lease_id);

  AckOutcome good;
  good.success = true;
  good.queue_name = "q";
  good.partition_name = "p";
  AckOutcome refused;
  refused.error = "Message not found";
  Ack({AckOf("c"), AckOf("a"), AckOf("unknown")}, {kCaller, kSpan},
      std::vector<AckOutcome>{good, good, refused});
  span = Recorded();
  EXPECT_EQ(span.operation, Operation::kAck);
  EXPECT_EQ(span.kind, SpanKind::kClient);
  EXPECT_EQ(LinksOf(span), (std::vector{kOther, kProducer}));
  EXPECT_EQ(span.queue, "q");
  EXPECT_EQ(span.verdict, "completed");
  EXPECT_EQ(span.failed, 1U);
  EXPECT_EQ(span.error, "");
  Ack({AckOf("a"), AckOf("c", Verdict::kFailed)}, {kCaller, kSpan},
      std::vector<AckOutcome>{refused, refused});
  span = Recorded();
  EXPECT_EQ(span.verdict, "") << "they differ";
  EXPECT_EQ(span.error, "refused");
  EXPECT_EQ(span.error_text, "Message not found");
  Ack({AckOf("a")}, {kCaller, kSpan}, Status(Code::kDatabaseUnavailable));
  EXPECT_EQ(Recorded().error, InfoOf(Code::kDatabaseUnavailable).name);
}

TEST_F(TracedEngineTest, APopThatDeliversNothingHasNoSpanAndOneThatFailsHas) {
  Pop({kCaller, kSpan}, false, sidecar::PopResult{});
  EXPECT_EQ(answered_, Code::kOk);
  EXPECT_TRUE(NothingRecorded());
  Pop({kCaller, kSpan}, false, Status(Code::kDatabaseUnavailable));
  EXPECT_EQ(Recorded().error, InfoOf(Code::kDatabaseUnavailable).name);
}

TEST_F(TracedEngineTest, WhatWasAckedOnDeliveryIsNotRemembered) {
  Pop({kCaller, kSpan}, true, ThreeMessages());
  EXPECT_TRUE(Recorded().auto_ack);
  Ack({AckOf("a")}, {kCaller, kSpan}, std::vector<AckOutcome>(1));
  EXPECT_TRUE(Recorded().links.empty());
}

TEST_F(TracedEngineTest, ATransactionIsAProducerOnlyIfItPushes) {
  Pop({kCaller, kSpan}, false, ThreeMessages());
  Recorded();
  const auto run = [&](bool pushes, bool cycle, Result<sidecar::TransactionResult> answer) {
    sidecar::TransactionRequest request;
    if (pushes) request.pushes.push_back(ItemOf("p"));
    if (cycle) request.cycle.emplace();
    request.acks.emplace_back().item = AckOf("a");
    request.trace = {kCaller, kSpan};
    request.done = [this](sidecar::TransactionRequest&,
                          const Result<sidecar::TransactionResult>& result) { Answered(result); };
    traced_.Transaction(std::move(request));
    fake_.transaction.done(fake_.transaction, std::move(answer));
    return Recorded();
  };
  sidecar::TransactionResult pushed;
  pushed.pushed.push_back({1'000, PartitionId{7}, 9});
  Span span = run(true, false, std::move(pushed));
  EXPECT_EQ(span.operation, Operation::kTransaction);
  EXPECT_EQ(span.kind, SpanKind::kProducer);
  EXPECT_EQ(span.messages, 2U);
  EXPECT_EQ(span.message_ids.size(), 1U);
  EXPECT_EQ(LinksOf(span), std::vector{kProducer});
  EXPECT_EQ(run(false, false, sidecar::TransactionResult{}).kind, SpanKind::kClient);
  EXPECT_EQ(run(false, true, sidecar::TransactionResult{}).operation, Operation::kStreamCycle);
  sidecar::TransactionResult refused;
  refused.refusal = Status(Code::kInvalidLease);
  EXPECT_EQ(run(true, false, std::move(refused)).error, InfoOf(Code::kInvalidLease).name);
  EXPECT_EQ(run(true, false, Status(Code::kDatabaseUnavailable)).error,
            InfoOf(Code::kDatabaseUnavailable).name);
}

TEST_F(TracedEngineTest, WhatIsNotSampledHasNoSpan) {
  Push({ItemOf("p", MetaOf(kProducer))}, {kCaller, {}}, std::vector<PushOutcome>{Queued(7, 0)});
  Pop({kCaller, {}}, false, ThreeMessages());
  Ack({AckOf("a")}, {kCaller, {}}, std::vector<AckOutcome>(1));
  EXPECT_EQ(answers_, 3);
  EXPECT_TRUE(NothingRecorded());
}

TEST_F(TracedEngineTest, AFullRingHoldsUpNobody) {
  for (int i = 0; i < 10; ++i) Pop({kCaller, kSpan}, false, ThreeMessages());
  EXPECT_EQ(answers_, 10);
  EXPECT_EQ(tracing_.TakeSpans(0).size(), 4U);
  EXPECT_EQ(tracing_.Totals().buffer_full, 6U);
}

TEST_F(TracedEngineTest, HandsOnWhatHasNoSpan) {
  sidecar::CancelPop cancel = traced_.Pop({}, [](const Result<sidecar::PopResult>&) {});
  cancel();
  EXPECT_TRUE(fake_.cancelled);
  traced_.GiveBack("g", {});
  EXPECT_EQ(fake_.given_back, "g");
  traced_.QueueChanged("q");
  EXPECT_EQ(fake_.changed, "q");
  Code registered = Code::kOk;
  traced_.RegisterStreamQuery({}, [&](const Result<sidecar::StreamQueryResult>& result) {
    registered = result.status().code();
  });
  EXPECT_EQ(registered, Code::kConflict);
  bool read = false;
  traced_.GetStreamState({}, [&](const Result<sidecar::StreamState>& state) { read = state.ok(); });
  EXPECT_TRUE(read);
  bool renewed = false;
  traced_.Renew({}, [&](const Result<sidecar::RenewResult>& result) { renewed = result.ok(); });
  EXPECT_TRUE(renewed);
  EXPECT_TRUE(NothingRecorded());
}

}  // namespace
}  // namespace queen::observe
