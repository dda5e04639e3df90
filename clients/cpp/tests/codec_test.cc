#include "codec.h"

#include <gtest/gtest.h>

#include "queen/admin.h"

namespace queen::client {
namespace {

NewMessage Sample() {
  NewMessage message;
  message.queue = "a \"queue\"";
  message.payload = R"({"n":1.50,"text":"\u0000"})";
  message.transaction_id = "t1";
  message.headers = {{"traceparent", "00-1-2-01"}};
  return message;
}

TEST(Codec, APayloadTravelsAsItIs) {
  EXPECT_EQ(EncodePush({Sample()}),
            R"({"items":[{"queue":"a \"queue\"","partition":"Default","transactionId":"t1",)"
            R"("headers":{"traceparent":"00-1-2-01"},"payload":{"n":1.50,"text":"\u0000"}}]})");
  const auto messages = DecodePop(
      R"({"messages":[{"id":"i","transactionId":"t","data":{"n":1.50},"retryCount":2,"offset":7,)"
      R"("headers":{"k":"v"},"traceId":null,"leaseId":"l","consumerGroup":"g"}]})");
  ASSERT_TRUE(messages);
  ASSERT_EQ(messages->size(), 1U);
  const Message& message = messages->front();
  EXPECT_EQ(message.payload, R"({"n":1.50})");
  EXPECT_EQ(message.headers.at("k"), "v");
  EXPECT_EQ(message.retry_count, 2);
  EXPECT_EQ(message.offset, 7);
  EXPECT_EQ(message.trace_id, "");
}

TEST(Codec, APayloadThatIsNoJsonIsFoundBeforeItIsSent) {
  NewMessage message = Sample();
  EXPECT_EQ(ProblemOf(message), "");
  message.payload = "{";
  EXPECT_NE(ProblemOf(message).find("the payload: "), std::string::npos);
  message.payload = "1";
  message.queue = "";
  EXPECT_EQ(ProblemOf(message), "the message names no queue");
}

TEST(Codec, PushOutcomes) {
  const auto outcomes = DecodePush(
      R"([{"index":0,"status":"queued","message_id":"m","partition_id":"p"},)"
      R"({"index":1,"status":"duplicate","message_id":"old"},{"index":2,"status":"buffered"},)"
      R"({"index":3,"status":"failed","error":"Queue is full"}])",
      4);
  ASSERT_TRUE(outcomes);
  EXPECT_EQ((*outcomes)[0].status, PushStatus::kQueued);
  EXPECT_EQ((*outcomes)[1].status, PushStatus::kDuplicate);
  EXPECT_EQ((*outcomes)[2].status, PushStatus::kBuffered);
  EXPECT_EQ((*outcomes)[3].error, "Queue is full");
  EXPECT_TRUE((*outcomes)[2].ok());
  EXPECT_FALSE((*outcomes)[3].ok());
}

TEST(Codec, AReplyOfAnotherKindIsNotTakenForOne) {
  EXPECT_FALSE(DecodePush("[]", 1));
  EXPECT_FALSE(DecodePush("<html>", 1));
  EXPECT_FALSE(DecodePush("{}", 0));
  EXPECT_FALSE(DecodeAcks("null", 0));
  EXPECT_FALSE(DecodePop("{}"));
  EXPECT_FALSE(DecodeTransaction("[]"));
}

TEST(Codec, AcksNameTheirLeaseAndGroup) {
  Message message;
  message.transaction_id = "t";
  message.partition_id = "p";
  message.lease_id = "l";
  message.group = "g";
  EXPECT_EQ(EncodeAcks({Acknowledgment::Of(message, Verdict::kFailed, "why")}),
            R"({"acknowledgments":[{"transactionId":"t","partitionId":"p","status":"failed",)"
            R"("leaseId":"l","consumerGroup":"g","error":"why"}]})");
}

TEST(Codec, ATransactionNamesItsPushesBeforeTheFirstTry) {
  Transaction transaction;
  NewMessage message = Sample();
  message.transaction_id = "";
  transaction.Push(message).Ack(Message());
  EXPECT_EQ(transaction.pushes().front().transaction_id.size(), 36U);
  const auto reply = DecodeTransaction(
      R"({"success":true,"results":[{"type":"push","messageId":"m"},{"type":"ack"}]})");
  ASSERT_TRUE(reply);
  ASSERT_EQ(reply->pushes.size(), 1U);
  EXPECT_EQ(reply->pushes.front().message_id, "m");
}

TEST(Path, EncodesSegmentsAndValues) {
  EXPECT_EQ(Path("/q")
                .Segment("a/b c%")
                .Query("from", "a&b=ü")
                .Query("none", "")
                .Query("limit", 5)
                .text(),
            "/q/a%2Fb%20c%25?from=a%26b%3D%C3%BC&limit=5");
}

TEST(Id, IsAUuidOfVersionSevenAndRises) {
  const std::string first = NewId();
  const std::string second = NewId();
  EXPECT_EQ(first.size(), 36U);
  EXPECT_EQ(first[14], '7');
  EXPECT_LT(first, second);
}

}  // namespace
}  // namespace queen::client
