#include "api/streams.h"

#include <gtest/gtest.h>

#include "api/test_api.h"

namespace queen::api {
namespace {

using sidecar::TransactionRequest;
using sidecar::TransactionResult;
using sidecar::Verdict;

constexpr std::string_view kId = "0190a6e2-5b1c-7abc-8def-0123456789ab";

std::string PartitionText() { return EncodePartitionId({7}).ToString(); }

class StreamsTest : public ApiTest {
 protected:
  void SendCycle(std::string_view more) {
    Send("POST", "/streams/v1/cycle",
         fmt::format(R"({{"query_id":"{}","partition_id":"{}"{}}})", kId, PartitionText(), more));
  }
  TransactionRequest& Cycle(std::string_view more) {
    const size_t before = engine_.transactions.size();
    SendCycle(more);
    EXPECT_EQ(engine_.transactions.size(), before + 1) << more << " -> " << Answer();
    static TransactionRequest none;
    return engine_.transactions.size() > before ? engine_.transactions.back() : none;
  }
  static std::string Reply(std::string_view success, std::string_view rest) {
    return fmt::format(R"(200 {{"success":{},"query_id":"{}","partition_id":"{}",{}}})", success,
                       kId, PartitionText(), rest);
  }
  static std::string Refused(std::string_view why) {
    return Reply(
        "false",
        fmt::format(R"("error":"{}","state_ops_applied":0,"push_results":[],"ack_result":null)",
                    why));
  }
};

TEST_F(StreamsTest, Query) {
  Send("POST", "/streams/v1/queries",
       R"({"name":"n","source_queue":"s","config_hash":"h","sink_queue":null,"reset":true})");
  ASSERT_EQ(engine_.stream_queries.size(), 1U);
  EXPECT_EQ(engine_.stream_queries[0].name, "n");
  EXPECT_EQ(engine_.stream_queries[0].source_queue, "s");
  EXPECT_EQ(engine_.stream_queries[0].sink_queue, "");
  EXPECT_TRUE(engine_.stream_queries[0].reset);
  engine_.stream_query_done(sidecar::StreamQueryResult{*Uuid::Parse(kId), true, false});
  EXPECT_EQ(
      Answer(),
      fmt::format(
          R"(200 {{"success":true,"query_id":"{}","name":"n","config_hash":"h","fresh":true,"reset":false}})",
          kId));
  Send("POST", "/streams/v1/queries", R"({"name":"n","source_queue":"s","config_hash":"h"})");
  engine_.stream_query_done(Status(Code::kConflict, "config_hash mismatch"));
  EXPECT_EQ(Answer(), R"(409 {"error":"config_hash mismatch","code":"conflict"})");
  EXPECT_EQ(Ask("POST", "/streams/v1/queries", R"({"name":""})"), Refusal("name is required"));
  EXPECT_EQ(Ask("POST", "/streams/v1/queries", "[]"), Refusal("name is required"));
}

TEST_F(StreamsTest, State) {
  Send(
      "POST", "/streams/v1/state/get",
      fmt::format(
          R"({{"query_id":"{}","partition_id":"{}","keys":["a","\u0062"],"key_prefix":"p","ripe_at_or_before":1769898605123}})",
          kId, PartitionText()));
  ASSERT_EQ(engine_.stream_states.size(), 1U);
  EXPECT_EQ(engine_.stream_states[0].keys, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(engine_.stream_states[0].key_prefix, "p");
  EXPECT_EQ(engine_.stream_states[0].ripe_at, "1769898605123");
  engine_.stream_state_done(sidecar::StreamState{100, {{"a", R"({"n": 1.50})", 0}}});
  EXPECT_EQ(
      Answer(),
      R"(200 {"success":true,"rows":[{"key":"a","value":{"n": 1.50},"updated_at":"1970-01-01T00:00:00.000000Z"}]})");
}

TEST_F(StreamsTest, LargeStateIsReadWhenThereIsRoomForIt) {
  const std::string body =
      fmt::format(R"({{"query_id":"{}","partition_id":"{}"}})", kId, PartitionText());
  Send("POST", "/streams/v1/state/get", body);
  const int64_t first = engine_.stream_states[0].bytes_max;
  engine_.stream_state_done(sidecar::StreamState{first + 1, {}});
  EXPECT_FALSE(answered());
  ASSERT_EQ(engine_.stream_states.size(), 2U);
  EXPECT_EQ(engine_.stream_states[1].bytes_max, first + 1);
  EXPECT_EQ(target_->rooms_asked, std::vector<size_t>{static_cast<size_t>(first) + 1});
  engine_.stream_state_done(sidecar::StreamState{first + 2, {}});  // it has grown
  ASSERT_EQ(engine_.stream_states.size(), 3U);
  engine_.stream_state_done(sidecar::StreamState{first + 2, {{"a", "1", 0}}});
  EXPECT_EQ(response().status, 200);

  Send("POST", "/streams/v1/state/get", body);
  target_->bytes_free = 1000;
  engine_.stream_state_done(sidecar::StreamState{first + 1, {}});
  EXPECT_EQ(response().status, 503);
  Send("POST", "/streams/v1/state/get", body);
  target_->bytes_max = 1000;
  engine_.stream_state_done(sidecar::StreamState{first + 1, {}});
  EXPECT_EQ(response().status, 413);
  EXPECT_EQ(engine_.stream_states.size(), 5U);
}

TEST_F(StreamsTest, Cycle) {
  const auto& cycle = Cycle(fmt::format(
      R"(,"consumer_group":"g","release_lease":false,"push_items":[{{"queue":"out","transactionId":"o"}}],
         "state_ops":[{{"type":"upsert","key":"a","value":{{"windowEnd":5}}}},{{"type":"delete","key":"b"}},{{"type":"upsert","key":"c"}}],
         "ack":{{"transactionId":"m","leaseId":"{}","status":"failed","error":"why","count":3}})",
      kId));
  ASSERT_TRUE(cycle.cycle);
  EXPECT_FALSE(cycle.cycle->release);
  ASSERT_EQ(cycle.cycle->ops.size(), 3U);
  EXPECT_EQ(cycle.cycle->ops[0].value, R"({"windowEnd":5})");
  EXPECT_EQ(cycle.cycle->ops[0].window_end, "5");
  EXPECT_FALSE(cycle.cycle->ops[1].value);
  EXPECT_EQ(cycle.cycle->ops[2].value, "null");
  ASSERT_EQ(cycle.acks.size(), 1U);
  EXPECT_EQ(cycle.acks[0].item.partition, PartitionId{7});
  EXPECT_EQ(cycle.acks[0].item.txn, "m");
  EXPECT_EQ(cycle.acks[0].item.group, "g");
  EXPECT_EQ(cycle.acks[0].item.verdict, Verdict::kFailed);
  EXPECT_EQ(cycle.acks[0].item.lease_id, Uuid::Parse(kId));
  EXPECT_FALSE(cycle.acks[0].group_of_lease);
  TransactionResult result;
  const MessageId id{.created_millis = 1, .partition = {9}, .seq = 4};
  result.pushed = {id};
  result.dead_lettered = {true};
  result.cycle = {"in", 3, false};
  engine_.FinishTransaction(std::move(result));
  EXPECT_EQ(
      Answer(),
      Reply(
          "true",
          fmt::format(
              R"("queueName":"in","state_ops_applied":3,"push_results":[{{"index":0,"transaction_id":"o","status":"queued","message_id":"{}","partition_id":"{}","trace_id":null,"queueName":"out"}}],)"
              R"("ack_result":{{"success":true,"count":3,"lease_released":false,"dlq":true}})",
              EncodeMessageId(id).ToString(), EncodePartitionId({9}).ToString())));
}

TEST_F(StreamsTest, ACycleOfNothing) {
  const auto& cycle = Cycle(R"(,"state_ops":null,"push_items":null,"ack":null)");
  EXPECT_TRUE(cycle.cycle->release);
  EXPECT_EQ(cycle.acks[0].item.txn, "");
  EXPECT_EQ(cycle.acks[0].item.group, sidecar::kQueueModeGroup);
  TransactionResult result;
  result.dead_lettered = {false};
  result.cycle.queue_name = "in";
  engine_.FinishTransaction(std::move(result));
  EXPECT_EQ(Answer(),
            Reply("true",
                  R"("queueName":"in","state_ops_applied":0,"push_results":[],"ack_result":null)"));
}

TEST_F(StreamsTest, RefusedCycles) {
  const auto refuse = [this](Code code, std::string reason) {
    Cycle("");
    TransactionResult result;
    result.refusal = Status(code);
    result.reason = std::move(reason);
    engine_.FinishTransaction(std::move(result));
    return Answer();
  };
  EXPECT_EQ(refuse(Code::kInvalidLease, "m"), Refused("Invalid or expired lease"));
  EXPECT_EQ(refuse(Code::kDuplicateTransactionId, "o"), Refused("Duplicate transactionId: o"));
  EXPECT_EQ(refuse(Code::kStreamQueryNotFound, ""),
            R"(404 {"error":"No such query","code":"stream_query_not_found"})");
  SendCycle(R"(,"ack":{"transactionId":"m","leaseId":"nope"})");
  EXPECT_EQ(Answer(), Refused("Invalid or expired lease"));
  SendCycle(R"(,"ack":{"status":"completed"})");
  EXPECT_EQ(Answer(), Refusal("ack.transactionId is required"));
  SendCycle(R"(,"state_ops":[{"type":"upsert","key":7}])");
  EXPECT_EQ(Answer(), Refusal("state_ops.key must be a string"));
}

}  // namespace
}  // namespace queen::api
