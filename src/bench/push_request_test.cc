#include "bench/push_request.h"

#include <gtest/gtest.h>

#include <set>

#include "base/json_reader.h"
#include "base/uuid.h"

namespace queen::bench {
namespace {

constexpr Stamp kStamp = {.run = 0xfedcba9876543210,
                          .producer = 31,
                          .partition = 1'234'567,
                          .seq = 0xffffffff,
                          .sent_us = 1'700'000'000'123'456};

Target Local() { return *Target::Resolve("http://127.0.0.1:6632"); }

// The items of a request, each as the values of its fields.
struct Item {
  std::string partition;
  std::string transaction_id;
  std::string payload;
};

std::vector<Item> ItemsOf(std::string_view request) {
  const size_t head_end = request.find("\r\n\r\n") + 4;
  const std::string_view body = request.substr(head_end);
  EXPECT_NE(request.find("Content-Length: " + std::to_string(body.size()) + "\r\n"),
            std::string_view::npos);
  std::vector<Item> items;
  JsonReader reader(body);
  EXPECT_TRUE(reader.EnterObject() && reader.NextField() && reader.EnterArray());
  while (reader.NextElement()) {
    const JsonValue item = reader.Value();
    EXPECT_EQ(item.Find("queue").raw(), R"("a \"queue\"")");
    items.push_back({std::string(item.Find("partition").raw()),
                     std::string(item.Find("transactionId").raw()),
                     std::string(item.Find("payload").raw())});
  }
  EXPECT_FALSE(reader.NextField());
  EXPECT_TRUE(reader.Finish().ok()) << reader.status().message();
  return items;
}

TEST(PayloadTest, AStampSurvivesItsPayload) {
  for (const size_t bytes : {kPayloadBytesMin, size_t{200}, size_t{5'000}}) {
    std::string payload = MakePayload(bytes);
    EXPECT_EQ(payload.size(), bytes);
    EXPECT_TRUE(ParseJson(payload).ok());
    WriteStamp(payload.data() + kStampOffset, kStamp);
    EXPECT_TRUE(ParseJson(payload).ok());
    EXPECT_EQ(ReadStamp(payload), kStamp);
  }
}

TEST(PayloadTest, AnotherOrderOfKeysAndWhiteSpaceIsTheSamePayload) {
  std::string stamp(kStampBytes, ' ');
  WriteStamp(stamp.data(), kStamp);
  EXPECT_EQ(ReadStamp(R"({ "pad" : "x", "bench" : ")" + stamp + "\" }"), kStamp);
  stamp[3] = 'g';
  EXPECT_EQ(ReadStamp(R"({"bench":")" + stamp + "\"}"), std::nullopt);
  EXPECT_EQ(ReadStamp(R"({"bench":"1-2-3"})"), std::nullopt);
  EXPECT_EQ(ReadStamp(R"({"bench":7})"), std::nullopt);
  EXPECT_EQ(ReadStamp("null"), std::nullopt);
  EXPECT_EQ(ReadStamp("{"), std::nullopt);
}

TEST(PushRequestTest, EveryItemIsWrittenWhereItBelongs) {
  PushRequest request(Local(), {.queue = "a \"queue\"", .batch = 3, .payload_bytes = 150});
  ASSERT_EQ(request.size(), 3u);
  const std::string id = MakeUuidV7().ToString();
  Stamp stamp = kStamp;
  for (size_t i = 0; i < 3; ++i) {
    stamp.seq = static_cast<uint32_t>(i);
    request.Set(i, stamp, id);
  }
  const std::vector<Item> items = ItemsOf(request.bytes());
  ASSERT_EQ(items.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    stamp.seq = static_cast<uint32_t>(i);
    EXPECT_EQ(items[i].partition, "\"" + PartitionName(stamp.partition) + "\"");
    EXPECT_EQ(items[i].transaction_id, "\"" + id + "\"");
    EXPECT_EQ(items[i].payload.size(), 150u);
    EXPECT_EQ(ReadStamp(items[i].payload), stamp);
  }
  EXPECT_NE(items[0].payload.substr(kPayloadBytesMin), items[1].payload.substr(kPayloadBytesMin))
      << "a segment of equal messages would compress as none in the field does";
}

TEST(PushRequestTest, TransactionIdsCanBeLeftOut) {
  PushRequest request(Local(), {.queue = "a \"queue\"", .transaction_ids = false});
  request.Set(0, kStamp, "");
  const std::vector<Item> items = ItemsOf(request.bytes());
  EXPECT_EQ(items[0].transaction_id, "");
  EXPECT_EQ(ReadStamp(items[0].payload), kStamp);
}

TEST(TransactionIdsTest, EachKindIsNewEveryTimeAndOfOneWidth) {
  for (const IdKind kind : {IdKind::kV7, IdKind::kV4, IdKind::kKey}) {
    TransactionIds ids(kind, 7);
    std::set<std::string> seen;
    for (int i = 0; i < 1'000; ++i) seen.emplace(ids.Next());
    EXPECT_EQ(seen.size(), 1'000u);
    EXPECT_EQ(seen.begin()->size(), kTransactionIdBytes);
    const auto uuid = Uuid::Parse(*seen.begin());
    EXPECT_EQ(uuid ? uuid->version() : 0, kind == IdKind::kV7 ? 7 : kind == IdKind::kV4 ? 4 : 0);
  }
}

TEST(TargetTest, UrlsAreTakenApart) {
  const Target target = *Target::Resolve("http://127.0.0.1:7/prefix/", "secret");
  EXPECT_EQ(target.GetHead("/x"),
            "GET /prefix/x HTTP/1.1\r\nHost: 127.0.0.1:7\r\nAuthorization: Bearer secret\r\n\r\n");
  EXPECT_EQ(target.port(), 7);
  EXPECT_TRUE(target.is_loopback());
  const Target six = *Target::Resolve("http://[::1]");
  EXPECT_EQ(six.port(), 80);
  EXPECT_TRUE(six.is_loopback());
  EXPECT_EQ(six.DeleteHead("/"), "DELETE / HTTP/1.1\r\nHost: [::1]\r\n\r\n");
  EXPECT_FALSE(Target::Resolve("http://192.0.2.1:80")->is_loopback());
  for (const char* url : {"https://h", "h:80", "http://", "http://:80", "http://h:0", "http://h:x",
                          "http://h:65536", "http://u@h", "http://h?x", "http://h :1"}) {
    const auto refused = Target::Resolve(url);
    ASSERT_FALSE(refused.ok()) << url;
    EXPECT_EQ(refused.status().code(), Code::kInvalidRequest) << url;
  }
}

TEST(TargetTest, NamesAreEncoded) { EXPECT_EQ(PercentEncode("a b/ü~"), "a%20b%2F%C3%BC~"); }

}  // namespace
}  // namespace queen::bench
