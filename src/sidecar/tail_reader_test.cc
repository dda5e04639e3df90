// What a read brings is tested end to end (tests/e2e/test_two_brokers.py); here, whom it serves and
// when the chain of reads is broken.
#include "sidecar/tail_reader.h"

#include <gtest/gtest.h>

namespace queen::sidecar {
namespace {

TEST(TailReader, AReadServesWhoAskedBeforeItWasSent) {
  TailReader tail({1, 2});
  EXPECT_FALSE(tail.HasWork());
  const int64_t first = tail.Ask();
  EXPECT_EQ(tail.Ask(), first);
  ASSERT_TRUE(tail.HasWork());
  (void)tail.Begin(0);
  EXPECT_FALSE(tail.HasWork());
  const int64_t second = tail.Ask();
  EXPECT_GT(second, first);
  EXPECT_FALSE(tail.HasWork());  // one at a time
  EXPECT_LT(tail.done(), first);
  EXPECT_FALSE(tail.End(pg::NotSent(Status(Code::kDatabaseUnavailable))).ok());
  EXPECT_EQ(tail.done(), first);
  EXPECT_TRUE(tail.HasWork());
}

TEST(TailReader, AFailedReadBreaksNothingALostConnectionDoes) {
  TailReader tail({1, 2});
  const int64_t generation = tail.generation();
  tail.Ask();
  (void)tail.Begin(0);
  EXPECT_FALSE(tail.End(pg::NotSent(Status(Code::kDatabaseUnavailable))).ok());
  EXPECT_EQ(tail.generation(), generation);
  EXPECT_FALSE(tail.known());
  tail.Drop();
  EXPECT_GT(tail.generation(), generation);
}

}  // namespace
}  // namespace queen::sidecar
