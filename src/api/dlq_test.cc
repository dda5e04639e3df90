#include "api/dlq.h"

#include <gtest/gtest.h>

#include "api/test_api.h"

namespace queen::api {
namespace {

using admin::DeadLetter;
using admin::Listed;

class DlqTest : public ApiTest {};

TEST_F(DlqTest, NoFilter) {
  Send("GET", "/api/v1/dlq?queue=&consumerGroup=&from=");
  ASSERT_EQ(manager_.dead_letters.requests.size(), 1U);
  const auto& filter = manager_.dead_letters.requests.back();
  EXPECT_EQ(filter.queue, std::nullopt);
  EXPECT_EQ(filter.group, std::nullopt);
  EXPECT_EQ(filter.partition, std::nullopt);
  EXPECT_EQ(filter.from_micros, std::nullopt);
  EXPECT_EQ(filter.to_micros, std::nullopt);
  EXPECT_EQ(filter.page.limit, 100);
  EXPECT_EQ(filter.page.offset, 0);
}

TEST_F(DlqTest, AllFilters) {
  Send("GET",
       "/api/v1/dlq?queue=q&consumerGroup=g&partition=p&from=1970-01-01&to=1970-01-01T00:00:01Z"
       "&limit=100000&offset=7");
  ASSERT_EQ(manager_.dead_letters.requests.size(), 1U);
  const auto& filter = manager_.dead_letters.requests.back();
  EXPECT_EQ(filter.queue, "q");
  EXPECT_EQ(filter.group, "g");
  EXPECT_EQ(filter.partition, "p");
  EXPECT_EQ(filter.from_micros, 0);
  EXPECT_EQ(filter.to_micros, 1'000'000);
  EXPECT_EQ(filter.page.limit, 1000);
  EXPECT_EQ(filter.page.offset, 7);
}

TEST_F(DlqTest, BadFilters) {
  EXPECT_EQ(Ask("GET", "/api/v1/dlq?from=x"), Refusal("from must be an RFC 3339 time or a date"));
  EXPECT_EQ(Ask("GET", "/api/v1/dlq?queue=%01"),
            Refusal("queue must not contain control characters"));
  EXPECT_EQ(Ask("GET", "/api/v1/dlq?limit=x").substr(0, 3), "400");
  EXPECT_EQ(Ask("GET", "/api/v1/dlq?offset=-1").substr(0, 3), "400");
  EXPECT_TRUE(manager_.dead_letters.requests.empty());
}

TEST_F(DlqTest, Reply) {
  Send("GET", "/api/v1/dlq?limit=1&offset=2");
  Listed<DeadLetter> listed;
  listed.total = 4;
  listed.items.push_back(DeadLetter{.id = *Uuid::Parse("0190a6e2-5b1c-7abc-8def-0123456789ab"),
                                    .txn = "t",
                                    .partition_id = PartitionId{9},
                                    .queue = "q",
                                    .partition = "p",
                                    .group = "g",
                                    .error = std::nullopt,
                                    .retry_count = 3,
                                    .payload = R"({"a":1.0})",
                                    .meta = R"({"producerSub":"me"})",
                                    .created_micros = 0,
                                    .failed_micros = 1});
  manager_.dead_letters.done(std::move(listed));
  EXPECT_EQ(Answer(),
            R"(200 {"messages":[{"id":"0190a6e2-5b1c-7abc-8def-0123456789ab","transactionId":"t",)"
            R"("partitionId":"71756565-6e00-8070-8000-000000000009","queue":"q","partition":"p",)"
            R"("consumerGroup":"g","errorMessage":null,"retryCount":3,"data":{"a":1.0},)"
            R"("producerSub":"me","createdAt":"1970-01-01T00:00:00.000000Z",)"
            R"("failedAt":"1970-01-01T00:00:00.000001Z"}],"total":4,)"
            R"("pagination":{"limit":1,"offset":2}})");
}

TEST(DeadLetters, EncryptedPayloadsAreDecrypted) {
  const storage::PayloadCipher cipher({EncryptionKey{1}});
  const storage::PayloadCipher other({EncryptionKey{2}});
  DeadLetter letter;
  letter.partition_id = PartitionId{9};
  letter.payload = cipher.Encrypt(R"({"a":1.0})", letter.partition_id);
  letter.meta = R"({"encrypted":true,"producerSub":"me"})";
  const Listed<DeadLetter> listed{.items = {letter}, .total = 1};
  const std::string reply = WriteDeadLetters(listed, {}, cipher);
  EXPECT_NE(reply.find(R"("data":{"a":1.0},"producerSub":"me")"), reply.npos) << reply;
  const std::string without = WriteDeadLetters(listed, {}, other);
  EXPECT_NE(without.find(letter.payload + R"(,"error":"The payload is encrypted with a key)"),
            without.npos)
      << without;
}

TEST(DeadLetters, LongPayloadsAreCut) {
  const storage::PayloadCipher cipher({});
  DeadLetter letter;
  letter.partition_id = PartitionId{9};
  letter.payload = R"("0123456789")";
  const Listed<DeadLetter> listed{.items = {letter}, .total = 1};
  const std::string whole = WriteDeadLetters(listed, {}, cipher, 12);
  EXPECT_NE(whole.find(R"("data":"0123456789","producerSub")"), whole.npos) << whole;
  const std::string cut = WriteDeadLetters(listed, {}, cipher, 11);
  EXPECT_NE(cut.find(R"("data":null,"dataBeginning":"\"0123456789","dataBytes":12,"producerSub")"),
            cut.npos)
      << cut;
}

}  // namespace
}  // namespace queen::api
