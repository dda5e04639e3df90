#include "api/pop_reply.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json_range.h"
#include "base/json_reader.h"

namespace queen::api {
namespace {

using sidecar::Delivery;
using sidecar::PopResult;
using storage::Segment;

constexpr int64_t kCreated = 1'769'898'605'999'999;  // 2026-01-31T22:30:05.999999Z
const storage::PayloadCipher kCipher({EncryptionKey{1}});
constexpr std::string_view kLease = "0190a6e2-5b1c-7abc-8def-0123456789ab";

std::shared_ptr<Segment> MakeSegment(int64_t base_seq, int32_t count, std::string payloads,
                                     std::string txns = {}, std::string meta = {}) {
  auto segment = std::make_shared<Segment>();
  segment->partition = {3};
  segment->base_seq = base_seq;
  segment->count = count;
  segment->created_micros = kCreated;
  segment->payloads = std::move(payloads);
  segment->txns = std::move(txns);
  segment->meta = std::move(meta);
  return segment;
}

Delivery MakeDelivery(int64_t cursor, int64_t end, std::vector<storage::SegmentPtr> segments) {
  Delivery delivery;
  delivery.partition = {3};
  delivery.queue_name = "a\"q";
  delivery.partition_name = "p\\1";
  delivery.cursor = cursor;
  delivery.end = end;
  delivery.segments = std::move(segments);
  return delivery;
}

PopResult Leased(std::vector<Delivery> deliveries) {
  PopResult result;
  result.lease_id = *Uuid::Parse(kLease);
  result.leased = true;
  result.deliveries = std::move(deliveries);
  return result;
}

std::string Id(int64_t created_micros, int64_t seq) {
  return EncodeMessageId({.created_millis = created_micros / 1000, .partition = {3}, .seq = seq})
      .ToString();
}

// "offset:data:retryCount" of every message, and a check that the reply is JSON.
std::string Summary(const PopResult& result) {
  const std::string reply = WritePopReply("g", result, kCipher);
  const auto parsed = ParseJson(reply);
  EXPECT_TRUE(parsed.ok()) << reply;
  std::string summary;
  for (const JsonValue message : JsonElements(parsed->Find("messages"))) {
    summary += fmt::format("{}:{}:{} ", message.Find("offset").raw(), message.Find("data").raw(),
                           message.Find("retryCount").raw());
  }
  return summary;
}

TEST(PopReply, ExactBytes) {
  Delivery delivery =
      MakeDelivery(5, 7,
                   {MakeSegment(5, 2, "{\"b\": 1.50,  \"a\":\"\\u0000\"}\nnull", "t\"1\n",
                                R"({"traceId":"x","headers":{"k":"v"},"producerSub":"me"})"
                                "\n")});
  delivery.failures = {{6, 2}};
  const std::string partition = EncodePartitionId({3}).ToString();
  const std::string tail = fmt::format(
      R"("partitionId":"{}","partition":"p\\1","queue":"a\"q","leaseId":"{}","consumerGroup":"g\n")",
      partition, kLease);
  EXPECT_EQ(
      WritePopReply("g\n", Leased({delivery}), kCipher),
      fmt::format(
          R"({{"success":true,"queue":"a\"q","partition":"p\\1","partitionId":"{0}",)"
          R"("leaseId":"{1}","consumerGroup":"g\n","messages":[)"
          R"({{"id":"{2}","transactionId":"t\"1","traceId":"x","data":{{"b": 1.50,  )"
          R"("a":"\u0000"}},"headers":{{"k":"v"}},"producerSub":"me",)"
          R"("createdAt":"2026-01-31T22:30:05.999999Z",{4},"retryCount":0,"offset":5}},)"
          R"({{"id":"{3}","transactionId":"{3}","traceId":null,"data":null,"producerSub":null,)"
          R"("createdAt":"2026-01-31T22:30:06.000000Z",{4},"retryCount":2,"offset":6}}],)"
          R"("partitionsClaimed":1}})",
          partition, kLease, Id(kCreated, 5), Id(kCreated + 1, 6), tail));
}

TEST(PopReply, AutoAckHasNoLease) {
  PopResult result = Leased({MakeDelivery(0, 1, {MakeSegment(0, 1, "1")})});
  result.leased = false;
  const std::string reply = WritePopReply("g", result, kCipher);
  const auto parsed = ParseJson(reply);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->Find("leaseId").raw(), "\"\"");
  for (const JsonValue message : JsonElements(parsed->Find("messages"))) {
    EXPECT_EQ(message.Find("leaseId").raw(), "\"\"");
  }
}

TEST(PopReply, OnlyTheRangeAndWhatIsNotSettled) {
  const auto first = MakeSegment(10, 4, "10\n11\n12\n13");
  const auto second = MakeSegment(14, 3, "14\n15\n16");
  Delivery delivery = MakeDelivery(11, 16, {first, second});
  EXPECT_EQ(Summary(Leased({delivery})), "11:11:0 12:12:0 13:13:0 14:14:0 15:15:0 ");
  delivery.settled = "0110";
  delivery.failures = {{15, 3}, {11, 1}, {13, 9}};
  EXPECT_EQ(Summary(Leased({delivery})), "11:11:1 14:14:0 15:15:3 ");
}

TEST(PopReply, SeveralPartitions) {
  Delivery other = MakeDelivery(0, 1, {MakeSegment(0, 1, "\"x\"")});
  other.partition = {4};
  other.partition_name = "second";
  const PopResult result = Leased({MakeDelivery(0, 2, {MakeSegment(0, 2, "1\n2")}), other});
  EXPECT_EQ(Summary(result), "0:1:0 1:2:0 0:\"x\":0 ");
  const std::string reply = WritePopReply("g", result, kCipher);
  EXPECT_NE(reply.find(R"("partition":"second")"), reply.npos);
  EXPECT_TRUE(reply.ends_with(R"("partitionsClaimed":2})"));
}

TEST(PopReply, EmptyLinesInColumns) {
  const auto segment = MakeSegment(0, 3, "1\n2\n3", "\n\nlast", "\n\n{\"producerSub\":\"s\"}");
  const std::string reply = WritePopReply("g", Leased({MakeDelivery(0, 3, {segment})}), kCipher);
  EXPECT_NE(reply.find(R"("transactionId":"last","traceId":null,"data":3,"producerSub":"s")"),
            reply.npos)
      << reply;
  EXPECT_NE(reply.find(fmt::format(R"("transactionId":"{}","traceId":null,"data":2)",
                                   Id(kCreated + 1, 1))),
            reply.npos)
      << reply;
}

TEST(PopReply, EncryptedPayloadsAreDecrypted) {
  const std::string stored = kCipher.Encrypt("{\"a\" :\n 1.10}", PartitionId{3});
  const auto segment = MakeSegment(0, 2, stored + "\n2", "",
                                   R"({"encrypted":true,"traceId":"t"})"
                                   "\n");
  EXPECT_EQ(Summary(Leased({MakeDelivery(0, 2, {segment})})), "0:{\"a\" :\n 1.10}:0 1:2:0 ");
}

// It must stop neither its partition nor the messages beside it.
TEST(PopReply, WhatCannotBeDecryptedIsDeliveredAsItIsStored) {
  const std::string stored = kCipher.Encrypt("1", PartitionId{4});
  const auto segment = MakeSegment(0, 2, stored + "\n2", "", "{\"encrypted\":true}\n");
  const PopResult result = Leased({MakeDelivery(0, 2, {segment})});
  EXPECT_EQ(Summary(result), fmt::format("0:{}:0 1:2:0 ", stored));
  const std::string reply = WritePopReply("g", result, kCipher);
  EXPECT_NE(reply.find(R"("error":"The encrypted payload was changed after it was stored")"),
            reply.npos)
      << reply;
  EXPECT_EQ(reply.find("\"error\""), reply.rfind("\"error\""));
}

TEST(PopReply, IsReservedToItsSize) {
  const std::string large(2 << 20, 'x');
  const auto segment = MakeSegment(0, 2, fmt::format("\"{0}\"\n\"{0}\"", large));
  const std::string reply = WritePopReply("g", Leased({MakeDelivery(0, 2, {segment})}), kCipher);
  EXPECT_GT(reply.size(), 2 * large.size());
  EXPECT_LT(reply.capacity(), reply.size() + 2048);
}

}  // namespace
}  // namespace queen::api
