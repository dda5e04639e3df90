#include "api/consumer_groups.h"

#include <gtest/gtest.h>

#include "api/test_api.h"

namespace queen::api {
namespace {

using admin::SeekRequest;

constexpr std::string_view kSeek = "/api/v1/consumer-groups/g/queues/q/seek";
constexpr std::string_view kSeekOne = "/api/v1/consumer-groups/g/queues/q/partitions/p/seek";

class ConsumerGroupsTest : public ApiTest {
 protected:
  SeekRequest Seek(std::string_view path, std::string_view body) {
    Send("POST", path, body);
    EXPECT_FALSE(answered()) << Answer();
    return manager_.seek.requests.empty() ? SeekRequest() : manager_.seek.requests.back();
  }
};

TEST_F(ConsumerGroupsTest, SeeksAQueue) {
  const SeekRequest end = Seek(kSeek, R"({"toEnd":true})");
  EXPECT_EQ(end.mode, SeekRequest::Mode::kEnd);
  EXPECT_EQ(end.group, "g");
  EXPECT_EQ(end.queue, "q");
  EXPECT_EQ(end.partition, std::nullopt);
  const SeekRequest after =
      Seek(kSeek, R"({"toEnd":false,"timestamp":"2026-01-31T22:30:05.000042Z"})");
  EXPECT_EQ(after.mode, SeekRequest::Mode::kAfter);
  EXPECT_EQ(after.time_micros, 1'769'898'605'000'042);
  const SeekRequest offset = Seek(kSeek, R"({"offset":12,"timestamp":null})");
  EXPECT_EQ(offset.mode, SeekRequest::Mode::kOffset);
  EXPECT_EQ(offset.offset, 12);
}

TEST_F(ConsumerGroupsTest, SeeksOnePartitionByDefaultToItsEnd) {
  for (const std::string_view body : {"", "{}", "[]", "null", R"({"toEnd":true})"}) {
    const SeekRequest seek = Seek(kSeekOne, body);
    EXPECT_EQ(seek.mode, SeekRequest::Mode::kEnd) << body;
    EXPECT_EQ(seek.partition, "p");
  }
}

TEST_F(ConsumerGroupsTest, BadSeeks) {
  for (const std::string_view body : {"", "{}", R"({"toEnd":false})"}) {
    EXPECT_EQ(Ask("POST", kSeek, body), Refusal("toEnd, timestamp or offset is required"));
  }
  EXPECT_EQ(Ask("POST", kSeekOne, R"({"toEnd":false})"),
            Refusal("toEnd, timestamp or offset is required"));
  EXPECT_EQ(Ask("POST", kSeek, R"({"toEnd":true,"offset":1})"),
            Refusal("Only one of toEnd, timestamp and offset can be given"));
  EXPECT_EQ(Ask("POST", kSeek, R"({"toEnd":1})"), Refusal("toEnd must be true or false"));
  EXPECT_EQ(Ask("POST", kSeek, R"({"timestamp":"yesterday"})"),
            Refusal("timestamp must be an RFC 3339 time or a date"));
  EXPECT_EQ(Ask("POST", kSeek, R"({"timestamp":5})"),
            Refusal("timestamp must be an RFC 3339 time or a date"));
  EXPECT_EQ(Ask("POST", kSeek, R"({"offset":-1})"), Refusal("offset must not be negative"));
  EXPECT_EQ(Ask("POST", kSeek, R"({"offset":"1"})"), Refusal("offset must be a whole number"));
  EXPECT_TRUE(manager_.seek.requests.empty());
}

TEST_F(ConsumerGroupsTest, SeekReplies) {
  Seek(kSeek, R"({"toEnd":true})");
  manager_.seek.done(3);
  EXPECT_EQ(Answer(), R"(200 {"success":true,"consumerGroup":"g","queueName":"q",)"
                      R"("seekToEnd":true,"targetTimestamp":null,"partitionsUpdated":3})");
  Seek(kSeek, R"({"timestamp":"2026-01-31"})");
  manager_.seek.done(0);
  EXPECT_EQ(Answer(), R"(200 {"success":true,"consumerGroup":"g","queueName":"q",)"
                      R"("seekToEnd":false,"targetTimestamp":"2026-01-31T00:00:00.000000Z",)"
                      R"("partitionsUpdated":0})");
  Seek(kSeek, R"({"toEnd":true})");
  manager_.seek.done(Status(Code::kOutcomeUnknown));
  EXPECT_EQ(response().status, 503);
  EXPECT_EQ(engine_.changed, (std::vector<std::string>{"q", "q", "q"}));
}

TEST_F(ConsumerGroupsTest, Deletes) {
  Send("DELETE", "/api/v1/consumer-groups/g");
  manager_.group_deletion.done(5);
  EXPECT_EQ(Answer(), R"(200 {"success":true,"consumerGroup":"g","deletedPartitions":5,)"
                      R"("metadataDeleted":true})");
  EXPECT_EQ(manager_.group_deletion.requests.back().queue, std::nullopt);
  Send("DELETE", "/api/v1/consumer-groups/g/queues/q?deleteMetadata=false");
  manager_.group_deletion.done(0);
  EXPECT_EQ(Answer(), R"(200 {"success":true,"consumerGroup":"g","deletedPartitions":0,)"
                      R"("metadataDeleted":false})");
  EXPECT_EQ(manager_.group_deletion.requests.back().queue, "q");
  EXPECT_EQ(engine_.changed, (std::vector<std::string>{"*", "q"}));
}

TEST_F(ConsumerGroupsTest, SetsASubscription) {
  constexpr std::string_view kPath = "/api/v1/consumer-groups/g/subscription";
  Send("POST", kPath, R"({"subscriptionTimestamp":"2026-01-31"})");
  ASSERT_EQ(manager_.subscription.requests.size(), 1U);
  EXPECT_EQ(manager_.subscription.requests.back(),
            std::pair(std::string("g"), int64_t{1'769'817'600'000'000}));
  manager_.subscription.done(2);
  EXPECT_EQ(Answer(), R"(200 {"success":true,"consumerGroup":"g",)"
                      R"("newTimestamp":"2026-01-31T00:00:00.000000Z","rowsUpdated":2})");
  EXPECT_EQ(engine_.changed, std::vector<std::string>{"*"});
  EXPECT_EQ(Ask("POST", kPath, "{}"), Refusal("subscriptionTimestamp is required"));
  EXPECT_EQ(Ask("POST", kPath, R"({"subscriptionTimestamp":"new"})"),
            Refusal("subscriptionTimestamp must be an RFC 3339 time or a date"));
}

}  // namespace
}  // namespace queen::api
