#include "api/traces.h"

#include <gtest/gtest.h>

#include "api/test_api.h"

namespace queen::api {
namespace {

using admin::Listed;
using admin::Trace;
using admin::TraceName;

constexpr std::string_view kPartition = "71756565-6e00-8070-8000-000000000009";
constexpr std::string_view kTrace = "0190a6e2-5b1c-4abc-8def-0123456789ab";

class TracesTest : public ApiTest {
 protected:
  static std::string Body(std::string_view rest) {
    return fmt::format(R"({{"transactionId":"t","partitionId":"{}"{}}})", kPartition, rest);
  }
  static Trace MakeTrace() {
    Trace trace;
    trace.id = *Uuid::Parse(kTrace);
    trace.event_type = "info";
    trace.data = R"({"n":1})";
    trace.group = "g";
    return trace;
  }
};

TEST_F(TracesTest, Records) {
  Send("POST", "/api/v1/traces",
       Body(R"(,"data":{"n":1},"consumerGroup":"g","eventType":"error","traceNames":["a","b"])"));
  ASSERT_EQ(manager_.trace.requests.size(), 1U);
  const auto& trace = manager_.trace.requests.back();
  EXPECT_EQ(trace.partition, PartitionId{9});
  EXPECT_EQ(trace.txn, "t");
  EXPECT_EQ(trace.group, "g");
  EXPECT_EQ(trace.event_type, "error");
  EXPECT_EQ(trace.data, R"({"n":1})");
  EXPECT_EQ(trace.names, (std::vector<std::string>{"a", "b"}));
  manager_.trace.done(*Uuid::Parse(kTrace));
  EXPECT_EQ(Answer(), fmt::format(R"(201 {{"success":true,"traceId":"{}"}})", kTrace));
}

TEST_F(TracesTest, Defaults) {
  Send("POST", "/api/v1/traces", Body(R"(,"data":null,"consumerGroup":"","traceNames":null)"));
  ASSERT_EQ(manager_.trace.requests.size(), 1U);
  const auto& trace = manager_.trace.requests.back();
  EXPECT_EQ(trace.group, std::nullopt);
  EXPECT_EQ(trace.event_type, "info");
  EXPECT_EQ(trace.data, "null");
  EXPECT_TRUE(trace.names.empty());
}

TEST_F(TracesTest, BadTraces) {
  const auto record = [this](std::string_view body) { return Ask("POST", "/api/v1/traces", body); };
  EXPECT_EQ(record("{}"), Refusal("transactionId is required"));
  EXPECT_EQ(record(R"({"transactionId":"t"})"), Refusal("partitionId is required"));
  EXPECT_EQ(record(Body("")), Refusal("data is required"));
  EXPECT_EQ(record(Body(R"(,"data":1,"traceNames":"a")")),
            Refusal("traceNames must be an array of strings"));
  EXPECT_EQ(record(Body(R"(,"data":1,"traceNames":["a",null])")),
            Refusal("traceNames must be an array of strings"));
  EXPECT_EQ(record(R"({"transactionId":"t","partitionId":"x","data":1})"),
            R"(404 {"error":"Partition not found","code":"not_found"})");
  EXPECT_TRUE(manager_.trace.requests.empty());
}

TEST_F(TracesTest, AnUnknownPartition) {
  Send("POST", "/api/v1/traces", Body(R"(,"data":1)"));
  manager_.trace.done(Status(Code::kNotFound, "no such partition"));
  EXPECT_EQ(Answer(), R"(404 {"error":"Partition not found","code":"not_found"})");
}

TEST_F(TracesTest, OfAMessage) {
  Send("GET", fmt::format("/api/v1/traces/{}/a%2Fb", kPartition));
  ASSERT_EQ(manager_.traces.requests.size(), 1U);
  EXPECT_EQ(manager_.traces.requests.back(), std::pair(PartitionId{9}, std::string("a/b")));
  Trace trace = MakeTrace();
  trace.names = {"x"};
  manager_.traces.done(std::vector<Trace>{trace});
  EXPECT_EQ(Answer(), fmt::format(R"(200 {{"traces":[{{"id":"{}","event_type":"info",)"
                                  R"("data":{{"n":1}},"consumer_group":"g","worker_id":null,)"
                                  R"("created_at":"1970-01-01T00:00:00.000000Z",)"
                                  R"("trace_names":["x"]}}]}})",
                                  kTrace));
  EXPECT_EQ(Ask("GET", "/api/v1/traces/nonsense/t"), R"(200 {"traces":[]})");
}

TEST_F(TracesTest, OfAName) {
  Send("GET", "/api/v1/traces/by-name/a?limit=2&offset=1");
  ASSERT_EQ(manager_.named_traces.requests.size(), 1U);
  EXPECT_EQ(manager_.named_traces.requests.back().first, "a");
  Trace trace = MakeTrace();
  trace.partition_id = PartitionId{9};
  trace.txn = "t";
  trace.queue = "q";
  manager_.named_traces.done(Listed<Trace>{{trace}, 5});
  EXPECT_EQ(Answer(),
            fmt::format(R"(200 {{"traces":[{{"id":"{}","event_type":"info","data":{{"n":1}},)"
                        R"("consumer_group":"g","worker_id":null,)"
                        R"("created_at":"1970-01-01T00:00:00.000000Z","partition_id":"{}",)"
                        R"("transaction_id":"t","queue_name":"q","partition_name":null}}],)"
                        R"("total":5,"pagination":{{"limit":2,"offset":1}}}})",
                        kTrace, kPartition));
}

TEST_F(TracesTest, Names) {
  Send("GET", "/api/v1/traces/names");
  manager_.trace_names.done(Listed<TraceName>{{{"a", 3, 2, 0}}, 1});
  EXPECT_EQ(Answer(), R"(200 {"trace_names":[{"trace_name":"a","trace_count":3,)"
                      R"("message_count":2,"last_seen":"1970-01-01T00:00:00.000000Z"}],)"
                      R"("total":1,"pagination":{"limit":100,"offset":0}})");
  EXPECT_EQ(Ask("GET", "/api/v1/traces/names?limit=x").substr(0, 3), "400");
}

}  // namespace
}  // namespace queen::api
