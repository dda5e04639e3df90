#include "sidecar/lease_share.h"

#include <gtest/gtest.h>

namespace queen::sidecar {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

TEST(LeaseLoad, HoldsAsManyRowsAsItMay) {
  LeaseLoad load(10, 1'000);
  load.Add(6, 1);
  EXPECT_FALSE(load.Fits(5, 1));
  EXPECT_TRUE(load.Fits(4, 1));
  load.Add(4, 1);
  EXPECT_FALSE(load.Fits(1, 1));
}

TEST(LeaseLoad, HoldsAsManyMessagesAsItMay) {
  LeaseLoad load(10, 1'000);
  load.Add(1, 600);
  EXPECT_FALSE(load.Fits(1, 401));
  EXPECT_TRUE(load.Fits(1, 400));
  load.Add(1, 400);
  EXPECT_FALSE(load.Fits(1, 1));
}

TEST(LeaseLoad, TheFirstPopIsNeverTooMuch) {
  LeaseLoad load(10, 1'000);
  EXPECT_TRUE(load.Fits(11, 2'000));
  load.Add(11, 2'000);
  EXPECT_FALSE(load.Fits(1, 1));
}

TEST(ReplyShare, WithRoomAPopMayHaveAllItAsksFor) {
  const ReplyShare share = ReplyShare::Among(1, 192 * kMiB, 32 * kMiB, 10'000);
  EXPECT_EQ(share.bytes, 32 * kMiB);
  EXPECT_EQ(share.messages, 10'000);
}

TEST(ReplyShare, ManyPopsHaveHalfOfTheRoomTogether) {
  const size_t room = 192 * kMiB;
  for (const size_t pops : {2U, 7U, 100U, 500U}) {
    const ReplyShare share = ReplyShare::Among(pops, room, 32 * kMiB, 10'000);
    EXPECT_LE(share.room() * pops, room / 2);
    EXPECT_GT(share.room() * pops, room / 5);
  }
}

TEST(ReplyShare, WithoutRoomItIsASmallReply) {
  for (const int32_t batch : {1, 100, 10'000}) {
    const ReplyShare share = ReplyShare::Among(500, 0, 32 * kMiB, batch);
    EXPECT_LE(share.room(), static_cast<size_t>(ReplyShare::kSmallBytes));
    EXPECT_GE(share.bytes, 16 << 10);
    EXPECT_GE(share.messages, 1);
  }
}

TEST(ReplyShare, ALargeSegmentAlwaysFitsItsOwnShare) {
  EXPECT_EQ(ReplyShare::For(64 * kMiB, 32 * kMiB, 1).bytes, 64 * kMiB);
  EXPECT_EQ(ReplyShare::For(100'000, 32 * kMiB, 1).bytes, ReplyShare::kSegmentBytes);
  // Not more than a reply may have, but always one segment.
  EXPECT_EQ(ReplyShare::For(2'000, 1'024, 1).bytes, 2'000);
  EXPECT_EQ(ReplyShare::For(2'000, 4'096, 1).bytes, 4'096);
  EXPECT_EQ(ReplyShare::For(64 * kMiB, 32 * kMiB, 1).room(), 64 * kMiB + 512U);
}

}  // namespace
}  // namespace queen::sidecar
