#include "sidecar/scheduler.h"

#include <gtest/gtest.h>

namespace queen::sidecar {
namespace {

constexpr size_t kKiB = 1024;

TEST(SchedulerPile, IsEnoughFrom64ItemsOn) {
  Scheduler::Pile pile;
  for (int item = 1; item < 64; ++item) EXPECT_FALSE(pile.Add(1)) << item;
  EXPECT_TRUE(pile.Add(1));
  EXPECT_TRUE(Scheduler::Pile().Add(64));
  EXPECT_FALSE(Scheduler::Pile().Add(63));
}

TEST(SchedulerPile, IsEnoughFrom256KiBOn) {
  Scheduler::Pile pile;
  EXPECT_FALSE(pile.Add(1, 256 * kKiB - 1));
  EXPECT_TRUE(pile.Add(1, 1));
  EXPECT_TRUE(Scheduler::Pile().Add(1, 256 * kKiB));
}

}  // namespace
}  // namespace queen::sidecar
