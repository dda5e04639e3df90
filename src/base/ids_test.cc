#include "base/ids.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace queen {
namespace {

TEST(Uuid, ParsesStrictly) {
  const auto uuid = Uuid::Parse("0198C3A2-1b2c-7d3e-8f40-515253545556");
  ASSERT_TRUE(uuid);
  EXPECT_EQ(uuid->ToString(), "0198c3a2-1b2c-7d3e-8f40-515253545556");
  EXPECT_EQ(uuid->version(), 7);
  EXPECT_FALSE(Uuid::Parse(""));
  EXPECT_FALSE(Uuid::Parse("0198c3a2-1b2c-7d3e-8f40-51525354555"));
  EXPECT_FALSE(Uuid::Parse("0198c3a2-1b2c-7d3e-8f40-51525354555g"));
  EXPECT_FALSE(Uuid::Parse("0198c3a21b2c-7d3e-8f40-5152535455567"));
  EXPECT_FALSE(Uuid::Parse("{198c3a2-1b2c-7d3e-8f40-515253545556"));
  EXPECT_FALSE(
      Uuid::Parse("0198c3a2-1b2c-7d3e-8f40-5152535455\xff"
                  "6"));
  EXPECT_EQ(Uuid::ParseCanonical(uuid->ToString()), uuid);
  EXPECT_FALSE(Uuid::ParseCanonical("0198C3A2-1b2c-7d3e-8f40-515253545556"));
}

TEST(Uuid, V7CarriesItsTimeAndRises) {
  EXPECT_EQ(MakeUuidV7(1769903999123).v7_millis(), 1769903999123);
  Uuid last = MakeUuidV7();
  for (int i = 0; i < 10'000; ++i) {
    const Uuid next = MakeUuidV7();
    EXPECT_LT(last, next);
    EXPECT_EQ(next.version(), 7);
    EXPECT_EQ(next.bytes[8] >> 6, 2);
    last = next;
  }
}

// The same table is in sql/tests/ids.sql.
TEST(Ids, KnownValues) {
  EXPECT_EQ(EncodeMessageId({1769903999123, {1}, 0}).ToString(),
            "019c167f-c893-7000-8000-080000000000");
  EXPECT_EQ(EncodeMessageId({1769903999123, {INT32_MAX}, kSeqMax}).ToString(),
            "019c167f-c893-7fff-bfff-ffffffffffff");
  EXPECT_EQ(EncodePartitionId({1}).ToString(), "71756565-6e00-8070-8000-000000000001");
  EXPECT_EQ(EncodeQueueId({255}).ToString(), "71756565-6e00-8071-8000-0000000000ff");
}

TEST(Ids, MessageIdsRoundTrip) {
  uint64_t seed = 0;
  SecureRandomBytes(&seed, sizeof seed);
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 10'000; ++i) {
    const MessageId id{RandomBetween(random, 0, (int64_t{1} << 48) - 1),
                       {static_cast<int32_t>(RandomBetween(random, 1, INT32_MAX))},
                       RandomBetween(random, 0, kSeqMax)};
    const Uuid uuid = EncodeMessageId(id);
    EXPECT_EQ(uuid.version(), 7);
    EXPECT_EQ(DecodeMessageId(uuid), id);
    EXPECT_EQ(Uuid::Parse(uuid.ToString()), uuid);
  }
}

TEST(Ids, MessageIdsSortInDeliveryOrder) {
  EXPECT_LT(EncodeMessageId({100, {7}, 41}), EncodeMessageId({100, {7}, 42}));
  EXPECT_LT(EncodeMessageId({100, {7}, kSeqMax}), EncodeMessageId({101, {7}, 0}));
}

TEST(Ids, StrangersAreRefused) {
  const Uuid random = *Uuid::Parse("9b2f4c1e-7d3a-4e2b-9c1d-0a1b2c3d4e5f");
  EXPECT_FALSE(DecodeMessageId(random));
  EXPECT_FALSE(DecodePartitionId(random));
  EXPECT_FALSE(DecodeQueueId(EncodePartitionId({5})));
  EXPECT_FALSE(DecodePartitionId(EncodeQueueId({5})));
  EXPECT_EQ(DecodePartitionId(EncodePartitionId({5})), PartitionId{5});
  EXPECT_EQ(DecodeQueueId(EncodeQueueId({INT32_MAX})), QueueId{INT32_MAX});
}

}  // namespace
}  // namespace queen
