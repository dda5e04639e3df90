#include "admin/queue_watch.h"

#include <gtest/gtest.h>

namespace queen::admin {
namespace {

constexpr int64_t kHour = 3'600'000;

TEST(QueueWatchDepth, WithoutGroupsWhatIsStored) {
  QueueWatch::Depth depth;
  EXPECT_EQ(depth.Unconsumed(), 0);
  depth.stored = 12;
  EXPECT_EQ(depth.Unconsumed(), 12);
}

TEST(QueueWatchDepth, TheSlowestActiveGroup) {
  const QueueWatch::Depth depth{.stored = 100,
                                .groups = {{1, {5, 0}}, {2, {70, kHour}}, {3, {90, kHour + 1}}}};
  EXPECT_EQ(depth.Unconsumed(), 70);
}

TEST(QueueWatchDepth, TheGroupThatWasActiveLastAlwaysIs) {
  const QueueWatch::Depth depth{.stored = 100,
                                .groups = {{1, {40, 24 * kHour}}, {2, {80, 25 * kHour}}}};
  EXPECT_EQ(depth.Unconsumed(), 40);
}

}  // namespace
}  // namespace queen::admin
