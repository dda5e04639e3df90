#include "api/ack.h"

#include <gtest/gtest.h>

#include "api/names.h"
#include "api/test_api.h"

namespace queen::api {
namespace {

using sidecar::AckItem;
using sidecar::AckOutcome;
using sidecar::Verdict;

constexpr std::string_view kLease = "0190a6e2-5b1c-7abc-8def-0123456789ab";
const std::string kPartition = EncodePartitionId({12}).ToString();  // NOLINT

class AckTest : public ApiTest {
 protected:
  // A batch of one item that names a message and has `fields` besides.
  AckItem Item(std::string_view fields) {
    const std::string comma = fields.empty() ? "" : ",";
    const std::string body =
        fmt::format(R"({{"acknowledgments":[{{"transactionId":"t","partitionId":"{}"{}{}}}]}})",
                    kPartition, comma, fields);
    const auto items = ParseAckBatch(body);
    EXPECT_TRUE(items.ok()) << body << ": " << items.status().message();
    return items.ok() ? items->front() : AckItem();
  }
  std::string Single(std::string_view body) { return Ask("POST", "/api/v1/ack", body); }
  std::string Batch(std::string_view body) { return Ask("POST", "/api/v1/ack/batch", body); }
};

TEST_F(AckTest, Defaults) {
  const AckItem item = Item("");
  EXPECT_EQ(item.txn, "t");
  EXPECT_EQ(item.partition, PartitionId{12});
  EXPECT_EQ(item.group, "__QUEUE_MODE__");
  EXPECT_EQ(item.lease_id, std::nullopt);
  EXPECT_EQ(item.verdict, Verdict::kCompleted);
  EXPECT_FALSE(item.cumulative);
  EXPECT_EQ(item.message, "");
  EXPECT_EQ(item.error, "");
}

TEST_F(AckTest, AllFields) {
  const AckItem item = Item(fmt::format(
      R"("status":"failed","consumerGroup":"g\"1","leaseId":"{}","error":"no\nway","cumulative":true,"x":[])",
      kLease));
  EXPECT_EQ(item.group, "g\"1");
  EXPECT_EQ(item.lease_id, Uuid::Parse(kLease));
  EXPECT_EQ(item.verdict, Verdict::kFailed);
  EXPECT_TRUE(item.cumulative);
  EXPECT_EQ(item.message, "no\nway");
  EXPECT_EQ(item.error, "");
}

TEST_F(AckTest, NullAndEmptyAreAbsent) {
  for (const std::string_view fields :
       {R"("status":null,"consumerGroup":null,"leaseId":null,"error":null,"cumulative":null)",
        R"("consumerGroup":"","leaseId":"","error":"","cumulative":false)"}) {
    const AckItem item = Item(fields);
    EXPECT_EQ(item.group, "__QUEUE_MODE__");
    EXPECT_EQ(item.lease_id, std::nullopt);
    EXPECT_EQ(item.verdict, Verdict::kCompleted);
    EXPECT_EQ(item.message, "");
    EXPECT_FALSE(item.cumulative);
    EXPECT_EQ(item.error, "");
  }
}

TEST_F(AckTest, Statuses) {
  EXPECT_EQ(Item(R"("status":"completed")").verdict, Verdict::kCompleted);
  EXPECT_EQ(Item(R"("status":"success")").verdict, Verdict::kCompleted);
  EXPECT_EQ(Item(R"("status":"failed")").verdict, Verdict::kFailed);
  EXPECT_EQ(Item(R"("status":"dlq")").verdict, Verdict::kDeadLetter);
  EXPECT_EQ(Item(R"("status":"retry")").verdict, Verdict::kRetry);
  EXPECT_EQ(Item(R"("status":"done")").error, "Unknown status: done");
  EXPECT_EQ(Item(R"("status":"Completed")").error, "Unknown status: Completed");
  EXPECT_EQ(Item(R"("status":"")").error, "Unknown status: ");
  EXPECT_EQ(Item(R"("status":5)").error, "Unknown status: 5");
}

TEST_F(AckTest, WhatCannotBeFailsItsItemAlone) {
  EXPECT_EQ(Item(R"("leaseId":"nope")").error, "Invalid or expired lease");
  EXPECT_EQ(Item(R"("leaseId":7)").error, "Invalid or expired lease");
  EXPECT_EQ(Item(R"("consumerGroup":"\u0000")").error, "Invalid or expired lease");
  EXPECT_EQ(Item(R"("consumerGroup":7)").error, "Invalid or expired lease");
  EXPECT_EQ(Item(R"("partitionId":"nope")").error, "Message not found");
  EXPECT_EQ(Item(R"("partitionId":null)").error, "Message not found");
  EXPECT_EQ(Item(R"("transactionId":"")").error, "Message not found");
  EXPECT_EQ(Item(R"("transactionId":"\u0000")").error, "Message not found");
  EXPECT_EQ(Item(R"("transactionId":"\uD800")").error, "Message not found");
  EXPECT_EQ(Item(R"("transactionId":5)").error, "Message not found");
  EXPECT_EQ(Item(fmt::format(R"("transactionId":"{}")", std::string(256, 't'))).error,
            "Message not found");
  // A UUID, but none of a partition.
  EXPECT_EQ(Item(fmt::format(R"("partitionId":"{}")", kLease)).error, "Message not found");
}

TEST_F(AckTest, ErrorTextsAreKeptAsWellAsPossible) {
  EXPECT_EQ(Item(R"("error":{"code":5})").message, R"({"code":5})");
  EXPECT_EQ(Item(R"("error":"a\u0000b")").message,
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(Item(R"("error":"\uD800")").message, "\xEF\xBF\xBD");
}

TEST_F(AckTest, TheGroupBesideTheListWins) {
  const std::string item = fmt::format(
      R"({{"transactionId":"t","partitionId":"{}","consumerGroup":"own"}})", kPartition);
  const auto group = [&](std::string_view top) {
    return ParseAckBatch(fmt::format(R"({{"acknowledgments":[{}]{}}})", item, top))->front().group;
  };
  EXPECT_EQ(group(""), "own");
  EXPECT_EQ(group(R"(,"consumerGroup":"top")"), "top");
  EXPECT_EQ(group(R"(,"consumerGroup":"")"), "own");
  EXPECT_EQ(group(R"(,"consumerGroup":null)"), "own");
}

TEST_F(AckTest, BadBodies) {
  EXPECT_EQ(Single("{}"), Refusal("transactionId is required"));
  EXPECT_EQ(Single("[]"), Refusal("transactionId is required"));
  EXPECT_EQ(Single(R"({"transactionId":null,"partitionId":"x"})"),
            Refusal("transactionId is required"));
  EXPECT_EQ(Single(R"({"transactionId":5,"partitionId":"x"})"),
            Refusal("transactionId must be a string"));
  EXPECT_EQ(Single(R"({"transactionId":"t"})"),
            Refusal("partitionId is required to ensure message uniqueness"));
  EXPECT_EQ(Single(R"({"transactionId":"t","partitionId":null})"),
            Refusal("partitionId is required to ensure message uniqueness"));
  EXPECT_EQ(Single(R"({"transactionId":"t","partitionId":"x","consumerGroup":"\n"})"),
            Refusal("consumerGroup must not contain control characters"));
  EXPECT_EQ(Single(""), Refusal("Invalid JSON at byte 0: there is no value"));
  for (const std::string_view body :
       {"{}", "[]", "null", R"({"acknowledgments":null})", R"({"acknowledgments":{}})"}) {
    EXPECT_EQ(Batch(body), Refusal("acknowledgments array is required")) << body;
  }
  EXPECT_EQ(Batch(R"({"acknowledgments":[],"consumerGroup":5})"),
            Refusal("consumerGroup must be a string"));
  EXPECT_TRUE(Batch(R"({"acknowledgments":[{"x":tru}]})").starts_with("400 "));
  EXPECT_EQ(Batch(R"({"acknowledgments":[]})"), "200 []");
  EXPECT_TRUE(engine_.acks.empty());
}

TEST_F(AckTest, ItemsThatAreNone) {
  EXPECT_EQ(Batch(R"({"acknowledgments":[null,{"status":"x"}]})"),
            R"(200 [{"index":0,"transactionId":"","success":false,"error":"Message not found",)"
            R"("queueName":"","partitionName":"","leaseReleased":false,"dlq":false},)"
            R"({"index":1,"transactionId":"","success":false,"error":"Unknown status: x",)"
            R"("queueName":"","partitionName":"","leaseReleased":false,"dlq":false}])");
  EXPECT_TRUE(engine_.acks.empty());
}

TEST_F(AckTest, TheSingleFormAnswersAListToo) {
  Send("POST", "/api/v1/ack",
       fmt::format(R"({{"transactionId":"t\"1","partitionId":"{}"}})", kPartition));
  ASSERT_EQ(engine_.acks.size(), 1U);
  AckOutcome outcome;
  outcome.success = true;
  outcome.queue_name = "q\\";
  outcome.partition_name = "p";
  outcome.lease_released = true;
  outcome.dead_lettered = true;
  engine_.FinishAck(std::vector{outcome});
  EXPECT_EQ(Answer(), R"(200 [{"index":0,"transactionId":"t\"1","success":true,"error":null,)"
                      R"("queueName":"q\\","partitionName":"p","leaseReleased":true,"dlq":true}])");
}

TEST_F(AckTest, RepliesInRequestOrder) {
  const auto item = [](std::string_view txn, std::string_view status) {
    return fmt::format(R"({{"transactionId":"{}","partitionId":"{}","status":"{}"}})", txn,
                       kPartition, status);
  };
  Send("POST", "/api/v1/ack/batch",
       fmt::format(R"({{"acknowledgments":[{},{}]}})", item("a", "nope"), item("b", "failed")));
  ASSERT_EQ(engine_.acks.size(), 1U);
  ASSERT_EQ(engine_.acks.back().items.size(), 2U);
  AckOutcome refused;
  refused.error = "Invalid or expired lease";
  engine_.FinishAck(std::vector<AckOutcome>{{}, refused});
  EXPECT_EQ(Answer(),
            R"(200 [{"index":0,"transactionId":"a","success":false,"error":"Unknown status: nope",)"
            R"("queueName":"","partitionName":"","leaseReleased":false,"dlq":false},)"
            R"({"index":1,"transactionId":"b","success":false,"error":"Invalid or expired lease",)"
            R"("queueName":"","partitionName":"","leaseReleased":false,"dlq":false}])");
}

TEST_F(AckTest, AFailureOfTheEngine) {
  Send("POST", "/api/v1/ack",
       fmt::format(R"({{"transactionId":"t","partitionId":"{}"}})", kPartition));
  engine_.FinishAck(Status(Code::kOutcomeUnknown));
  EXPECT_EQ(response().status, 503);
}

TEST_F(AckTest, RoomForTheReplyIsTakenBeforeAnythingIsDone) {
  const std::string body = fmt::format(
      R"({{"acknowledgments":[{{"transactionId":"t","partitionId":"{}"}},{{}}]}})", kPartition);
  const auto send = [&](size_t bytes_max, size_t bytes_free) {
    auto request = http::ParseRequest(
        fmt::format("POST /api/v1/ack/batch HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}",
                    body.size(), body));
    target_ = std::make_shared<http::TestTarget>();
    target_->bytes_max = bytes_max;
    target_->bytes_free = bytes_free;
    router_.Dispatch(*std::move(request), http::Reply(target_, 1));
    return response().status;
  };
  EXPECT_EQ(send(10'000, 1'000), 503);
  EXPECT_EQ(send(1'000, 1'000), 413);
  EXPECT_TRUE(engine_.acks.empty());
  EXPECT_EQ(send(10'000, 10'000), 0);
  EXPECT_EQ(engine_.acks.size(), 1U);
  // Whatever comes of it, the reply is no longer.
  AckOutcome outcome;
  outcome.error = "Invalid or expired lease";
  outcome.queue_name = outcome.partition_name = std::string(kNameBytesMax, 'n');
  engine_.FinishAck(std::vector{outcome, outcome});
  EXPECT_LE(response().body.size(), target_->rooms_asked[0]);
}

TEST_F(AckTest, AnEndlessListIsRefused) {
  std::string body = R"({"acknowledgments":[{})";
  for (size_t i = 0; i < kAckItemsMax; ++i) body += ",{}";
  EXPECT_EQ(
      Batch(body + "]}"),
      R"(413 {"error":"A call has at most 200000 acknowledgments","code":"payload_too_large"})");
  EXPECT_TRUE(Batch(body + ",}").starts_with("400 "));
}

}  // namespace
}  // namespace queen::api
