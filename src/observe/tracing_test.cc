#include "observe/tracing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "base/json_reader.h"
#include "metrics/prometheus.h"
#include "observe/span_exporter.h"

namespace queen::observe {
namespace {

TraceContext ContextOf(std::string_view traceparent) { return *TraceContext::Parse(traceparent); }

const TraceContext kSampledParent =
    ContextOf("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
const TraceContext kUnsampledParent =
    ContextOf("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");

// ---- which traces

TEST(Sampler, SaysWhatItsNameSays) {
  struct Case {
    std::string_view name;
    bool root, sampled, unsampled;  // without a parent, below such ones
  };
  for (const Case& one : std::initializer_list<Case>{
           {"always_on", true, true, true},
           {"always_off", false, false, false},
           {"traceidratio", false, false, false},
           {"parentbased_always_on", true, true, false},
           {"parentbased_always_off", false, true, false},
           {"parentbased_traceidratio", false, true, false},
       }) {
    const Sampler sampler(one.name, 0.0);
    EXPECT_EQ(sampler.Takes({}, kSampledParent.trace_id), one.root) << one.name;
    EXPECT_EQ(sampler.Takes(kSampledParent, kSampledParent.trace_id), one.sampled) << one.name;
    EXPECT_EQ(sampler.Takes(kUnsampledParent, kSampledParent.trace_id), one.unsampled) << one.name;
  }
}

TEST(Sampler, ARatioIsDecidedByTheEndOfTheTraceId) {
  const auto with_end = [](uint8_t byte) {
    std::array<uint8_t, 16> id{};
    id.fill(0xff);
    id[8] = byte;
    return id;
  };
  const Sampler quarter("traceidratio", 0.25);
  EXPECT_TRUE(quarter.Takes({}, with_end(0x00)));
  EXPECT_TRUE(quarter.Takes({}, with_end(0x3f)));
  EXPECT_FALSE(quarter.Takes({}, with_end(0x40)));
  EXPECT_FALSE(quarter.Takes({}, with_end(0xff)));
  EXPECT_TRUE(Sampler("traceidratio", 1.0).Takes({}, with_end(0xff)));
  EXPECT_TRUE(Sampler("parentbased_traceidratio", 0.25).Takes(kSampledParent, with_end(0xff)));
}

class TracingTest : public testing::Test {
 protected:
  static config::Tracing Config(std::string sampler) {
    config::Tracing config;
    config.endpoint = "http://127.0.0.1:1";
    config.sampler = std::move(sampler);
    config.queue_size = 2;
    return config;
  }

  metrics::Registry registry_{1};
};

TEST_F(TracingTest, ASpanIsBelowItsParentOrBeginsATrace) {
  Tracing tracing(Config("parentbased_always_on"), 1, registry_);
  const Tracing::Tracer tracer(tracing, 0);
  const TraceContext below = tracer.Start(kSampledParent);
  EXPECT_EQ(below.trace_id, kSampledParent.trace_id);
  EXPECT_NE(below.span_id, kSampledParent.span_id);
  EXPECT_TRUE(below.sampled());
  EXPECT_FALSE(tracer.Start(kUnsampledParent).valid());
  std::set<std::array<uint8_t, 16>> traces;
  std::set<std::array<uint8_t, 8>> spans;
  for (int i = 0; i < 100; ++i) {
    const TraceContext first = tracer.Start({});
    ASSERT_TRUE(first.valid());
    traces.insert(first.trace_id);
    spans.insert(first.span_id);
  }
  EXPECT_EQ(traces.size(), 100U);
  EXPECT_EQ(spans.size(), 100U);
}

TEST_F(TracingTest, WhatDoesNotFitIsDroppedAndCounted) {
  Tracing tracing(Config("always_on"), 1, registry_);
  Tracing::Tracer tracer(tracing, 0);
  for (int i = 0; i < 5; ++i) tracer.Record(Span());
  EXPECT_NE(metrics::RenderPrometheus(registry_).find(
                "queen_trace_spans_dropped_total{reason=\"buffer_full\"} 3\n"),
            std::string::npos);
}

TEST(SpanExporter, GivesABatchUpAfterFiveAttempts) {
  SpanRing ring(4);
  ring.Add(Span());
  ring.Add(Span());
  ExporterOptions options;
  options.url = "http://127.0.0.1:1/v1/traces";  // nobody listens
  options.schedule_delay_ms = 1;
  options.first_pause_ms = 1;
  SpanExporter exporter(std::move(options), {&ring});
  exporter.Start();
  for (int i = 0; i < 3'000 && exporter.given_up() == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(exporter.given_up(), 2U);
  EXPECT_EQ(exporter.sends_failed(), 5U);
  EXPECT_EQ(exporter.exported(), 0U);
}

TEST(TracesUrl, TheOneForTracesIsUsedAsItIs) {
  const auto url = [](std::string endpoint, std::string traces_endpoint) {
    config::Tracing config;
    config.endpoint = std::move(endpoint);
    config.traces_endpoint = std::move(traces_endpoint);
    return TracesUrl(config);
  };
  EXPECT_EQ(url("http://c:4318", ""), "http://c:4318/v1/traces");
  EXPECT_EQ(url("http://c:4318/", ""), "http://c:4318/v1/traces");
  EXPECT_EQ(url("https://c/otlp", ""), "https://c/otlp/v1/traces");
  EXPECT_EQ(url("http://c", "http://t/in"), "http://t/in");
}

TEST(ResourceOf, NamesTheServiceOnce) {
  config::Tracing config;
  config.service_name = "broker-1";
  config.resource_attributes = "service.name=x,deployment.environment=a%20b";
  const Resource resource = ResourceOf(config);
  ASSERT_EQ(resource.size(), 3U);
  EXPECT_EQ(resource[0].second, "broker-1");
  EXPECT_EQ(resource[1].first, "deployment.environment");
  EXPECT_EQ(resource[1].second, "a b");
  EXPECT_EQ(resource[2].first, "service.version");
}

// ---- on their way

TEST(SpanRing, GivesInOrderAndNeverMoreThanItHolds) {
  SpanRing ring(3);
  std::vector<Span> taken;
  size_t next = 0;
  const auto add = [&] {
    Span span;
    span.messages = next++;
    return ring.Add(std::move(span));
  };
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(add(), 1U);
    EXPECT_EQ(add(), 2U);
    ring.Take(1, taken);
    EXPECT_EQ(add(), 2U);
    EXPECT_EQ(add(), 3U);
    EXPECT_EQ(add(), 0U);
    ring.Take(10, taken);
  }
  EXPECT_EQ(ring.dropped(), 3U);
  ASSERT_EQ(taken.size(), 12U);
  for (size_t i = 0; i < taken.size(); ++i) EXPECT_EQ(taken[i].messages, i + i / 4) << i;
}

TEST(SpanRing, OneThreadAddsAndAnotherTakes) {
  SpanRing ring(8);
  constexpr size_t kSpans = 20'000;
  std::thread adder([&] {
    for (size_t i = 0; i < kSpans; ++i) {
      Span span;
      span.messages = i;
      span.queue = "a queue whose name is on the heap " + std::to_string(i);
      ring.Add(std::move(span));
    }
  });
  std::vector<Span> taken;
  while (taken.size() + ring.dropped() < kSpans) ring.Take(100, taken);
  adder.join();
  for (size_t i = 1; i < taken.size(); ++i) ASSERT_LT(taken[i - 1].messages, taken[i].messages);
}

// ---- whose trace

TEST(TraceOfMeta, IsThatOfItsHeaders) {
  const std::string good = kSampledParent.ToTraceparent();
  const auto of = [](std::string_view meta) {
    const TraceContext context = TraceOfMeta(meta);
    return context.valid() ? context.ToTraceparent() : "";
  };
  EXPECT_EQ(of(fmt::format(R"({{"headers":{{"a":"b","traceparent":"{}"}}}})", good)), good);
  EXPECT_EQ(of(fmt::format(R"( {{"x":[1], "headers" : {{"TraceParent": "{}"}} }})", good)), good);
  EXPECT_EQ(of(fmt::format(R"({{"traceparent":"{}","headers":{{}}}})", good)), "");
  EXPECT_EQ(of(fmt::format(R"({{"headers":{{"traceparent":"{}"}})", good)), "") << "cut short";
  for (const std::string_view meta :
       {"", "{}", R"({"headers":{"traceparent":"x"}})", R"({"headers":{"traceparent":1}})",
        R"({"headers":"traceparent"})", R"({"traceId":"0190a6e2-5b1c-7abc-8def-0123456789ab"})"}) {
    EXPECT_EQ(of(meta), "") << meta;
  }
}

TEST(MessageTraces, RemembersTheLastOnes) {
  MessageTraces traces(32);  // 2 of a shard's generation
  const SpanLink link{kSampledParent, Uuid{}};
  for (const std::string_view txn : {"a", "b", "c"}) traces.Add(PartitionId{1}, txn, link);
  for (const std::string_view txn : {"a", "b", "c"}) {
    EXPECT_TRUE(traces.Find(PartitionId{1}, txn)) << txn;
  }
  EXPECT_FALSE(traces.Find(PartitionId{2}, "a"));
  EXPECT_FALSE(traces.Find(PartitionId{17}, "a")) << "in the same shard";
  for (const std::string_view txn : {"d", "e"}) traces.Add(PartitionId{1}, txn, link);
  EXPECT_FALSE(traces.Find(PartitionId{1}, "a"));
  EXPECT_TRUE(traces.Find(PartitionId{1}, "c"));
}

// ---- as JSON

TEST(SpanJson, IsWhatOtlpSays) {
  Span span;
  span.operation = Operation::kPop;
  span.kind = SpanKind::kConsumer;
  span.context = ContextOf("00-4bf92f3577b34da6a3ce929d0e0e4736-1111111111111111-01");
  span.parent = kSampledParent.span_id;
  span.begin_micros = 1'700'000'000'000'001;
  span.end_micros = 1'700'000'000'000'250;
  span.queue = "a\"b";
  span.partition = "p";
  span.partition_id = PartitionId{7};
  span.group = "g";
  span.messages = 1;
  span.message_ids = {Uuid{}};
  span.waited = true;
  span.AddLink({kUnsampledParent, Uuid{}});
  const std::string json = WriteSpans({{"service.name", "queen"}}, "1.0", std::vector{span});
  ASSERT_TRUE(ParseJson(json).ok()) << json;
  const std::string pid = EncodePartitionId(PartitionId{7}).ToString();
  EXPECT_EQ(
      json,
      R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"queen"}}]},)"
      R"("scopeSpans":[{"scope":{"name":"queen","version":"1.0"},"spans":[)"
      R"({"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"1111111111111111","parentSpanId":"00f067aa0ba902b7",)"
      R"("flags":769,"name":"pop a\"b","kind":5,"startTimeUnixNano":"1700000000000001000","endTimeUnixNano":"1700000000000250000",)"
      R"("attributes":[{"key":"messaging.system","value":{"stringValue":"queen"}},)"
      R"({"key":"messaging.operation.name","value":{"stringValue":"pop"}},)"
      R"({"key":"messaging.operation.type","value":{"stringValue":"receive"}},)"
      R"({"key":"messaging.destination.name","value":{"stringValue":"a\"b"}},)"
      R"({"key":"messaging.destination.partition.id","value":{"stringValue":"p"}},)"
      R"({"key":"messaging.consumer.group.name","value":{"stringValue":"g"}},)"
      R"({"key":"messaging.batch.message_count","value":{"intValue":"1"}},)"
      R"({"key":"messaging.message.id","value":{"stringValue":"00000000-0000-0000-0000-000000000000"}},)"
      R"({"key":"queen.partition.id","value":{"stringValue":")" +
          pid +
          R"("}},{"key":"queen.pop.waited","value":{"boolValue":true}}],)"
          R"("links":[{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00f067aa0ba902b7","flags":768,)"
          R"("attributes":[{"key":"messaging.message.id","value":{"stringValue":"00000000-0000-0000-0000-000000000000"}}]}]}]}]}]})");
}

TEST(SpanJson, LinksAndIdsAreBoundedAndErrorsAreSaid) {
  Span span;
  span.context = kSampledParent;
  for (int i = 0; i < 200; ++i) {
    span.AddLink({kSampledParent, std::nullopt});
    span.AddMessageId(Uuid{});
  }
  span.messages = 200;
  span.failed = 200;
  span.error = "overloaded";
  span.error_text = "Too much";
  const std::string json = WriteSpans({}, "1.0", std::vector{span});
  ASSERT_TRUE(ParseJson(json).ok()) << json;
  EXPECT_EQ(span.links.size(), kSpanLinksMax);
  EXPECT_EQ(span.message_ids.size(), kSpanMessageIdsMax);
  for (const std::string_view part :
       {R"("droppedLinksCount":72)", R"("status":{"code":2,"message":"Too much"})",
        R"({"key":"error.type","value":{"stringValue":"overloaded"}})",
        R"({"key":"queen.messages.failed","value":{"intValue":"200"}})",
        R"({"key":"queen.message.ids","value":{"arrayValue":{"values":[{"stringValue":"0000)",
        R"("name":"push","kind":4)"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
  }
  EXPECT_EQ(json.find("parentSpanId"), std::string::npos);
}

}  // namespace
}  // namespace queen::observe
