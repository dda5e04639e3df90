#include "buffer/drain_pace.h"

#include <gtest/gtest.h>

namespace queen::buffer {
namespace {

constexpr int64_t kWindow = DrainPace::kWindowMs;

TEST(DrainPace, NothingIsAppendedBeforeAnythingIsSettled) {
  DrainPace pace;
  EXPECT_FALSE(pace.MayAppend(10 * kWindow));
  pace.Settled(10 * kWindow, 100);
  EXPECT_FALSE(pace.MayAppend(10 * kWindow));  // only what the window before has shown counts
}

TEST(DrainPace, HalfOfWhatWasSettledMayBeAppended) {
  DrainPace pace;
  pace.Settled(10 * kWindow, 100);
  const int64_t now = 11 * kWindow;
  EXPECT_EQ(pace.settled_per_window(now), 100);
  EXPECT_TRUE(pace.MayAppend(now));
  pace.Appended(now, 49);
  EXPECT_TRUE(pace.MayAppend(now));
  pace.Appended(now + 1, 1);
  EXPECT_FALSE(pace.MayAppend(now + 2));
}

TEST(DrainPace, ABufferThatIsPushedToWithoutEndIsDrained) {
  DrainPace pace;
  int64_t pending = 100'000;
  int64_t now = 0;
  int windows = 0;
  for (; pending > 1'000 && windows < 10'000; ++windows, now += kWindow) {
    while (pace.MayAppend(now)) {
      pace.Appended(now, 10);
      pending += 10;
    }
    pace.Settled(now, 500);
    pending -= 500;
  }
  EXPECT_LE(windows, 500);
}

TEST(DrainPace, WhatWasLongAgoDoesNotCount) {
  DrainPace pace;
  pace.Settled(10 * kWindow, 100);
  EXPECT_FALSE(pace.MayAppend(12 * kWindow));
}

}  // namespace
}  // namespace queen::buffer
