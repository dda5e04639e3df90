#include "api/transaction.h"

#include <gtest/gtest.h>

#include "api/test_api.h"

namespace queen::api {
namespace {

using sidecar::TransactionRequest;
using sidecar::TransactionResult;
using sidecar::Verdict;

constexpr std::string_view kPath = "/api/v1/transaction";
constexpr std::string_view kLease = "0190a6e2-5b1c-7abc-8def-0123456789ab";

MessageId Message(int64_t seq) {
  return {.created_millis = 1'769'898'605'123, .partition = {7}, .seq = seq};
}

std::string PartitionText() { return EncodePartitionId({7}).ToString(); }

class TransactionTest : public ApiTest {
 protected:
  // Sends a body that reaches the engine; what it asks.
  TransactionRequest& Asked(std::string_view body) {
    const size_t before = engine_.transactions.size();
    Send("POST", kPath, body);
    EXPECT_EQ(engine_.transactions.size(), before + 1) << body << " -> " << Answer();
    static TransactionRequest none;
    return engine_.transactions.size() > before ? engine_.transactions.back() : none;
  }
  TransactionRequest& AskedOne(std::string_view operation) {
    return Asked(fmt::format(R"({{"operations":[{}]}})", operation));
  }
  static std::string Ack(std::string_view more = {}) {
    return fmt::format(R"({{"type":"ack","transactionId":"m1","partitionId":"{}"{}}})",
                       PartitionText(), more);
  }
  // The answer without the transaction's own id, which is checked to be one.
  std::string AnswerWithoutId() const {
    std::string answer = Answer();
    const std::string_view prefix = R"(200 {"transactionId":")";
    EXPECT_TRUE(answer.starts_with(prefix)) << answer;
    EXPECT_TRUE(Uuid::Parse(std::string_view(answer).substr(prefix.size(), 36))) << answer;
    return answer.substr(prefix.size() + 38);
  }
  std::string RefusalOf(std::string_view operations) {
    const size_t before = engine_.transactions.size();
    Send("POST", kPath, fmt::format(R"({{"operations":[{}]}})", operations));
    EXPECT_EQ(engine_.transactions.size(), before);
    return AnswerWithoutId();
  }
  static std::string Refused(std::string_view why) {
    return fmt::format(R"("success":false,"error":"{}","results":[]}})", why);
  }
};

TEST_F(TransactionTest, WhatTheEngineIsAsked) {
  const auto& asked = Asked(fmt::format(
      R"({{"requiredLeases":["{0}","",null,"nope"],"operations":[
          {{"items":[{{"queue":"q","payload":[1],"transactionId":"t1"}},{{"queue":"r","partition":"p"}}],"type":"push"}},
          {{"type":"ack","transactionId":"m1","partitionId":"{1}","status":"failed","consumerGroup":"g","leaseId":"{0}","error":"why"}},
          {{"type":"push","items":[]}},
          {{"type":"ack","transactionId":"m2","partitionId":"{1}","cumulative":true,"leaseId":"","consumerGroup":""}}]}})",
      kLease, PartitionText()));
  ASSERT_EQ(asked.pushes.size(), 2U);
  EXPECT_EQ(asked.pushes[0].queue, "q");
  EXPECT_EQ(asked.pushes[0].partition, "Default");
  EXPECT_EQ(asked.pushes[0].payload, "[1]");
  EXPECT_EQ(asked.pushes[0].txn, "t1");
  EXPECT_EQ(asked.pushes[1].queue, "r");
  EXPECT_EQ(asked.pushes[1].partition, "p");
  ASSERT_EQ(asked.acks.size(), 2U);
  EXPECT_EQ(asked.acks[0].item.partition, PartitionId{7});
  EXPECT_EQ(asked.acks[0].item.txn, "m1");
  EXPECT_EQ(asked.acks[0].item.verdict, Verdict::kFailed);
  EXPECT_EQ(asked.acks[0].item.message, "why");
  EXPECT_EQ(asked.acks[0].item.lease_id, Uuid::Parse(kLease));
  EXPECT_EQ(asked.acks[0].item.group, "g");
  EXPECT_FALSE(asked.acks[0].group_of_lease);
  EXPECT_FALSE(asked.acks[1].item.lease_id);
  EXPECT_TRUE(asked.acks[1].item.cumulative);
  EXPECT_TRUE(asked.acks[1].group_of_lease);
  ASSERT_EQ(asked.required_leases.size(), 2U);
  EXPECT_EQ(asked.required_leases[0], Uuid::Parse(kLease));
  EXPECT_EQ(asked.required_leases[1], Uuid{}) << "a lease that nobody holds";
}

TEST_F(TransactionTest, AGroupComesFromTheLeaseWhereOneIsNamed) {
  EXPECT_TRUE(AskedOne(Ack(fmt::format(R"(,"leaseId":"{}")", kLease))).acks[0].group_of_lease);
  const auto& without = AskedOne(Ack());
  EXPECT_FALSE(without.acks[0].group_of_lease);
  EXPECT_EQ(without.acks[0].item.group, sidecar::kQueueModeGroup);
}

TEST_F(TransactionTest, OneResultPerItemAndAck) {
  AskedOne(fmt::format(
      R"({},{{"type":"push","items":[{{"queue":"q","transactionId":"a\"b"}},{{"queue":"q"}}]}},{})",
      Ack(), Ack()));
  engine_.FinishTransaction(TransactionResult{{}, {}, {Message(4), Message(5)}, {false, true}, {}});
  const std::string first = EncodeMessageId(Message(4)).ToString();
  const std::string second = EncodeMessageId(Message(5)).ToString();
  EXPECT_EQ(
      AnswerWithoutId(),
      fmt::format(
          R"("success":true,"results":[{{"index":0,"type":"ack","success":true,"transactionId":"m1","error":null,"dlq":false}},)"
          R"({{"index":1,"type":"push","success":true,"transactionId":"a\"b","messageId":"{0}","partitionId":"{2}","queueName":"q"}},)"
          R"({{"index":2,"type":"push","success":true,"transactionId":"{1}","messageId":"{1}","partitionId":"{2}","queueName":"q"}},)"
          R"({{"index":3,"type":"ack","success":true,"transactionId":"m1","error":null,"dlq":true}}]}})",
          first, second, PartitionText()));
}

TEST_F(TransactionTest, RefusalsOfTheEngine) {
  const struct {
    Code code;
    std::string_view text;
  } cases[] = {
      {Code::kMessageNotFound, "ACK operation failed: Message not found"},
      {Code::kInvalidLease, "ACK operation failed: Invalid or expired lease"},
      {Code::kMessageSettled, "ACK operation failed: Message already settled"},
      {Code::kDuplicateTransactionId, "Duplicate transactionId: t2"},
      {Code::kDatabaseRefused, "PostgreSQL refused the statement"},
  };
  for (const auto& [code, text] : cases) {
    AskedOne(
        R"({"type":"push","items":[{"queue":"q","transactionId":"t1"},{"queue":"q","transactionId":"t2"}]})");
    engine_.FinishTransaction(TransactionResult{Status(code), "t2", {}, {}, {}});
    EXPECT_EQ(AnswerWithoutId(), Refused(text));
  }
  AskedOne(Ack());
  engine_.FinishTransaction(Status(Code::kDatabaseUnavailable));
  EXPECT_EQ(response().status, 503);
}

TEST_F(TransactionTest, RefusedBeforeTheEngine) {
  EXPECT_EQ(RefusalOf(R"({"type":"pop"})"), Refused("Unknown operation type: pop"));
  EXPECT_EQ(RefusalOf(R"({"type":7})"), Refused("Unknown operation type: 7"));
  EXPECT_EQ(RefusalOf(R"({})"), Refused("Unknown operation type: "));
  EXPECT_EQ(RefusalOf("7"), Refused("Unknown operation type: "));
  EXPECT_EQ(RefusalOf(R"({"type":"x","items":[{}]})"), Refused("Unknown operation type: x"));
  EXPECT_EQ(RefusalOf(Ack(R"(,"leaseId":"nope")")),
            Refused("ACK operation failed: Invalid or expired lease"));
  EXPECT_EQ(RefusalOf(Ack(R"(,"status":"done")") + R"(,{"type":"pop"})"),
            Refused("ACK operation failed: Unknown status: done"));
  EXPECT_EQ(RefusalOf(R"({"type":"push","items":[{"queue":"q"},{"queue":"q","traceId":"x"}]})"),
            Refused("traceId must be a UUID"));
}

TEST_F(TransactionTest, NothingToDoIsDone) {
  EXPECT_EQ(RefusalOf(R"({"type":"push","items":[]})"), R"("success":true,"results":[]})");
}

TEST_F(TransactionTest, WhatIsNoTransaction) {
  for (const std::string_view body :
       {"{}", "[]", "null", R"({"operations":null})", R"({"operations":{}})"}) {
    EXPECT_EQ(Ask("POST", kPath, body), Refusal("operations array required")) << body;
  }
  EXPECT_EQ(Ask("POST", kPath, R"({"operations":[]})"),
            Refusal("operations array cannot be empty"));
  EXPECT_EQ(Ask("POST", kPath, R"({"operations":[{"type":"push"}]})"),
            Refusal("items array is required"));
  EXPECT_EQ(Ask("POST", kPath, R"({"operations":[{"type":"x"},{"type":"push","items":[{}]}]})"),
            Refusal("Queue must be a string"));
  for (const std::string_view leases : {"{}", "7", "[7]", R"("x")"}) {
    EXPECT_EQ(Ask("POST", kPath,
                  fmt::format(R"({{"operations":[{}],"requiredLeases":{}}})", Ack(), leases)),
              Refusal("requiredLeases must be an array of strings"))
        << leases;
  }
  Send("POST", kPath, R"({"operations":[{"type":"push","items":[)");
  EXPECT_EQ(response().status, 400);
  EXPECT_TRUE(engine_.transactions.empty());
}

TEST_F(TransactionTest, TheProducerIsTheTokens) {
  SignIn({.subject = "alice"});
  EXPECT_NE(AskedOne(R"({"type":"push","items":[{"queue":"q","producerSub":"mallory"}]})")
                .pushes[0]
                .meta.find("alice"),
            std::string::npos);
}

}  // namespace
}  // namespace queen::api
