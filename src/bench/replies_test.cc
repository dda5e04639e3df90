#include "bench/replies.h"

#include <gtest/gtest.h>

#include "base/json_reader.h"

namespace queen::bench {
namespace {

TEST(PushReplyTest, ItemsAreCountedByStatus) {
  const auto outcome = ReadPushReply(
      R"([{"index":0,"status":"queued"},{"status":"duplicate"},{"status":"buffered"},)"
      R"({"index":3,"status":"failed","error":"Queue is \"full\""},{"error":null}])");
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->queued, 1u);
  EXPECT_EQ(outcome->duplicate, 1u);
  EXPECT_EQ(outcome->buffered, 1u);
  EXPECT_EQ(outcome->failed, 2u);
  EXPECT_EQ(outcome->first_error, "Queue is \"full\"");
  EXPECT_EQ(outcome->items(), 5u);
}

TEST(PushReplyTest, OtherShapesAreErrors) {
  for (const char* body : {"", "{}", "[1]", "[", R"([{"status":"queued"})", "[]x"}) {
    EXPECT_FALSE(ReadPushReply(body).ok()) << body;
  }
  EXPECT_TRUE(ReadPushReply("[]").ok());
}

TEST(PopReplyTest, MessagesAreSlicesReadyToBeAcked) {
  std::vector<Delivered> messages(9);
  const std::string body =
      R"({"success": true, "leaseId": "L", "partitionId": "P", "messages": [)"
      R"({"data": {"x": [1, 2]}, "transactionId": "t\"1"},)"
      R"({"transactionId": "t2", "partitionId": "P2", "leaseId": "L2", "data": null}]})";
  ASSERT_TRUE(ReadPopReply(body, messages).ok());
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].payload, R"({"x": [1, 2]})");
  EXPECT_EQ(messages[0].transaction_id, R"("t\"1")");
  EXPECT_EQ(messages[0].partition_id, R"("P")") << "from the reply's own";
  EXPECT_EQ(messages[1].partition_id, R"("P2")");
  EXPECT_EQ(messages[1].lease_id, R"("L2")");

  std::string ack = "old";
  WriteAckBody(messages, R"("g1")", ack);
  EXPECT_EQ(ack,
            R"({"consumerGroup":"g1","acknowledgments":[)"
            R"({"transactionId":"t\"1","partitionId":"P","leaseId":"L","status":"completed"},)"
            R"({"transactionId":"t2","partitionId":"P2","leaseId":"L2","status":"completed"}]})");
  EXPECT_TRUE(ParseJson(ack).ok());
  WriteAckBody({}, "", ack);
  EXPECT_EQ(ack, R"({"acknowledgments":[]})");
}

TEST(PopReplyTest, OtherShapesAreErrors) {
  std::vector<Delivered> messages;
  for (const char* body :
       {"", "[]", "{", R"({"messages":{}})", R"({"messages":[1]})",
        R"({"messages":[{"transactionId":"t"}]})", R"({"messages":[{"partitionId":"p"}]})"}) {
    EXPECT_FALSE(ReadPopReply(body, messages).ok()) << body;
  }
}

TEST(AckReplyTest, RefusalsAreCounted) {
  const auto outcome = ReadAckReply(
      R"([{"success":true,"error":null},{"success":false,"error":"Message not found"},{}])");
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->succeeded, 1u);
  EXPECT_EQ(outcome->failed, 2u);
  EXPECT_EQ(outcome->first_error, "Message not found");
  EXPECT_FALSE(ReadAckReply("{}").ok());
  EXPECT_FALSE(ReadAckReply("[1]").ok());
}

}  // namespace
}  // namespace queen::bench
