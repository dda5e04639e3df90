#include "engine/availability.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "engine/testing/lanes.h"

namespace queen::engine {

std::ostream& operator<<(std::ostream& out, LaneState state) {
  constexpr const char* kNames[] = {"ready",  "held",  "retry",  "delayed",
                                    "window", "empty", "unknown"};
  return out << kNames[static_cast<int>(state)];
}

namespace {

struct Expected {
  LaneState state = LaneState::kReady;
  int64_t cursor = 0;
  int64_t end = 0;
  bool more = false;
  std::optional<int64_t> ready_at;
  std::string settled;
  std::optional<int64_t> window_end;
  int64_t since = 0;
};

struct Case {
  std::string rule;
  Progress progress;
  QueueRules rules;
  LogView log;
  Expected expected;
};

void PrintTo(const Case& test, std::ostream* out) { *out << test.rule; }

class AvailabilityRule : public testing::TestWithParam<Case> {};

TEST_P(AvailabilityRule, Holds) {
  const Case& test = GetParam();
  const Availability found = AvailabilityOf(test.progress, test.rules, test.log, kTestNow);
  EXPECT_EQ(found.state, test.expected.state);
  EXPECT_EQ(found.cursor, test.expected.cursor);
  EXPECT_EQ(found.ready_at_micros, test.expected.ready_at);
  if (found.state != LaneState::kReady) return;
  EXPECT_EQ(found.end, test.expected.end);
  EXPECT_EQ(found.more, test.expected.more);
  EXPECT_EQ(found.settled.ToText(), test.expected.settled);
  EXPECT_EQ(found.window_end, test.expected.window_end);
  EXPECT_EQ(found.since_micros, test.expected.since);
}

// Offsets 0 to 9, 10 to 19 and 20 to 29, each ten seconds younger than the one before.
LogView Thirty() {
  return LogOf({{0, 10, Ago(30), 1}, {10, 10, Ago(20), 1}, {20, 10, Ago(10), 1}});
}

// The same without the middle.
LogView WithHole() { return LogOf({{0, 10, Ago(30), 1}, {20, 10, Ago(10), 1}}); }

LogView Hiding(LogView log, int64_t from, const std::string& hidden) {
  log.from = from;
  log.hidden = Bitmap(hidden);
  return log;
}

Lease LeaseUntil(int64_t until) { return Lease{Uuid{}, until, 5, 30}; }

std::string Ones(size_t count) { return std::string(count, '1'); }

const std::vector<Case>& Cases() {
  using enum LaneState;
  static const std::vector<Case> cases = {
      {"AllThereIsMayBeDelivered", {}, {}, Thirty(), {kReady, 0, 30}},
      {"TheCursorSaysWhereToBegin", {.cursor = 12}, {}, Thirty(), {kReady, 12, 30}},
      {"NothingIsBehindTheEnd", {.cursor = 30}, {}, Thirty(), {kEmpty, 30}},
      {"ACursorPastTheEndFindsNothing", {.cursor = 35}, {}, Thirty(), {kEmpty, 35}},
      {"AnEmptyLogHasNothing", {}, {}, LogOf({}), {kEmpty, 0}},

      {"ALivingLeaseHolds",
       {.lease = LeaseUntil(kTestNow + 1)},
       {},
       Thirty(),
       {kHeld, 0, 30, false, kTestNow + 1}},
      {"ALeaseThatEndsNowIsOver",
       {.lease = LeaseUntil(kTestNow)},
       {},
       Thirty(),
       {.end = 30, .since = kTestNow}},
      {"AHeldLaneIsHeldEvenWhenNothingIsLeft",
       {.cursor = 30, .lease = LeaseUntil(In(1))},
       {},
       Thirty(),
       {kHeld, 30, 30, false, In(1)}},

      {"AFailedMessageWaits",
       {.ready_at_micros = kTestNow + 1},
       {},
       Thirty(),
       {kRetry, 0, 30, false, kTestNow + 1}},
      {"AWaitThatEndsNowIsOver",
       {.ready_at_micros = kTestNow},
       {},
       Thirty(),
       {.end = 30, .since = kTestNow}},
      {"NobodyWaitsForAnEmptyLane",
       {.cursor = 30, .ready_at_micros = In(9)},
       {},
       Thirty(),
       {kEmpty, 30}},
      {"TheLaterOfLeaseAndWaitCounts",
       {.lease = LeaseUntil(Ago(5)), .ready_at_micros = Ago(3)},
       {},
       Thirty(),
       {.end = 30, .since = Ago(3)}},

      {"SettledMessagesBehindTheCursorAreLeftOut",
       {.cursor = 5, .settled = Bitmap("01101")},
       {},
       Thirty(),
       {.cursor = 5, .end = 30, .settled = "01101"}},
      {"SettledMessagesBeyondTheLogAreKept",
       {.cursor = 29, .settled = Bitmap("0011")},
       {},
       Thirty(),
       {.cursor = 29, .end = 30, .settled = "0011"}},

      {"AHoleAtTheCursorIsSkipped", {.cursor = 10}, {}, WithHole(), {kReady, 20, 30}},
      {"ACursorInAHoleIsMovedBehindIt", {.cursor = 15}, {}, WithHole(), {kReady, 20, 30}},
      {"AHoleBehindTheCursorStays", {.cursor = 9}, {}, WithHole(), {kReady, 9, 30}},
      {"SettledBitsMoveWithTheCursorAcrossAHole",
       {.cursor = 10, .settled = Bitmap("00000000001101")},
       {},
       WithHole(),
       {.cursor = 22, .end = 30, .settled = "01"}},
      {"AHoleBehindHiddenMessagesIsSkippedToo",
       {.cursor = 8},
       {},
       Hiding(WithHole(), 8, "11"),
       {kReady, 20, 30}},
      {"AHoleBeforeHiddenMessagesIsSkippedToo",
       {.cursor = 10},
       {},
       Hiding(WithHole(), 10, "0000000000111"),
       {kReady, 23, 30}},
      {"WhatIsBeforeTheLogIsGone", {.cursor = 3}, {}, Hiding(Thirty(), 12, ""), {kReady, 12, 30}},

      {"HiddenMessagesAreLeftOut",
       {.cursor = 5},
       {},
       Hiding(Thirty(), 3, "0010100"),
       {.cursor = 6, .end = 30, .settled = "01"}},
      {"HiddenAndSettledTogetherMoveTheCursor",
       {.cursor = 5, .settled = Bitmap("0101")},
       {},
       Hiding(Thirty(), 5, "101"),
       {.cursor = 9, .end = 30}},
      {"NothingIsLeftWhenTheRestIsHidden",
       {.cursor = 28},
       {},
       Hiding(Thirty(), 28, "11"),
       {kEmpty, 30}},
      {"HiddenMessagesAreMarkedAsFarAsALeaseReaches",
       {},
       {},
       Hiding(LogOf({{0, 30'000, Ago(30), 1}}), 0, "0" + Ones(20'000)),
       {.end = 30'000, .settled = "0" + Ones(9'999)}},
      {"AnyNumberOfHiddenMessagesIsSkipped",
       {},
       {},
       Hiding(LogOf({{0, 30'000, Ago(30), 1}}), 0, Ones(25'000)),
       {kReady, 25'000, 30'000}},

      {"ExpiredMessagesAreLeftOut",
       {},
       {.expires_after_seconds = 15},
       Thirty(),
       {.cursor = 20, .end = 30, .since = Ago(20) + 9 + 15 * kTestSecond + 1}},
      {"AMessageExpiresWhenItIsOlder",
       {},
       {.expires_after_seconds = 20},
       Thirty(),
       {.cursor = 10, .end = 30, .since = Ago(30) + 9 + 20 * kTestSecond + 1}},
      {"MessagesExpireOneByOne",
       {},
       {.expires_after_seconds = 20},
       LogOf({{0, 10, Ago(20) - 4, 1}}),
       {.cursor = 4, .end = 10, .since = kTestNow}},
      {"NothingIsLeftWhenAllHaveExpired", {}, {.expires_after_seconds = 1}, Thirty(), {kEmpty, 30}},
      {"ExpiryDoesNotMoveBack",
       {.cursor = 25},
       {.expires_after_seconds = 15},
       Thirty(),
       {kReady, 25, 30}},
      {"SettledBitsMoveWithTheCursorPastExpired",
       {.cursor = 5, .settled = Bitmap("0000011100000001101")},
       {.expires_after_seconds = 15},
       Thirty(),
       {.cursor = 22, .end = 30, .settled = "01", .since = Ago(20) + 9 + 15 * kTestSecond + 1}},

      {"AMessageIsDueAfterItsDelay",
       {},
       {.delay_seconds = 30},
       LogOf({{0, 1, Ago(30), 1}}),
       {.end = 1, .since = kTestNow}},
      {"AMessageWaitsForItsDelay",
       {},
       {.delay_seconds = 30},
       LogOf({{0, 1, Ago(30) + 1, 1}}),
       {kDelayed, 0, 0, false, kTestNow + 1}},
      {"MessagesOfASegmentBecomeDueOneByOne",
       {},
       {.delay_seconds = 30},
       LogOf({{0, 10, Ago(30) - 3, 1}}),
       {.end = 4, .more = true, .since = kTestNow - 3}},
      {"TheCursorMayBeNotDueInTheMiddleOfASegment",
       {.cursor = 4},
       {.delay_seconds = 30},
       LogOf({{0, 10, Ago(30) - 3, 1}}),
       {kDelayed, 4, 4, false, kTestNow + 1}},
      {"LaterSegmentsAreNotDue",
       {},
       {.delay_seconds = 15},
       Thirty(),
       {.end = 20, .more = true, .since = Ago(15)}},
      {"WhatIsSettledIsNotWaitedFor",
       {.cursor = 5, .settled = Bitmap("0" + Ones(24))},
       {.delay_seconds = 15},
       Thirty(),
       {.cursor = 5, .end = 20, .more = true, .settled = "0" + Ones(24), .since = Ago(15) + 5}},
      {"ARetryIsWaitedForBeforeADelay",
       {.ready_at_micros = In(1)},
       {.delay_seconds = 60},
       Thirty(),
       {kRetry, 0, 0, false, In(1)}},

      {"AQuietPartitionIsReleased",
       {},
       {.window_seconds = 9},
       Thirty(),
       {.end = 30, .window_end = 30, .since = Ago(1) + 9}},
      {"APartitionIsQuietAfterItsLastMessage",
       {},
       {.window_seconds = 10},
       LogOf({{0, 10, Ago(10) - 9, 1}}),
       {.end = 10, .window_end = 10, .since = kTestNow}},
      {"AnOpenWindowNeedsNoTime",
       {.window_end = 30},
       {.window_seconds = 9},
       Thirty(),
       {.end = 30, .window_end = 30}},
      {"APartitionBeingWrittenToIsHeldBack",
       {},
       {.window_seconds = 10},
       LogOf({{0, 10, Ago(10) - 8, 1}}),
       {kWindow, 0, 0, false, kTestNow + 1}},
      {"WhatWasReleasedStaysReleased",
       {.cursor = 5, .window_end = 20},
       {.window_seconds = 60},
       Thirty(),
       {.cursor = 5, .end = 20, .more = true, .window_end = 20}},
      {"BehindWhatWasReleasedTheWindowIsClosed",
       {.cursor = 20, .window_end = 20},
       {.window_seconds = 60},
       Thirty(),
       {kWindow, 20, 20, false, In(50) + 9}},
      {"ADelayIsWaitedForBeforeAWindow",
       {},
       {.delay_seconds = 40, .window_seconds = 60},
       Thirty(),
       {kDelayed, 0, 0, false, In(10)}},

      {"ABlankedEndHasNothing",
       {.cursor = 30},
       {},
       BlankedBehind(Thirty(), 5, Ago(5)),
       {kEmpty, 35}},
      {"ABlankedEndIsNotPartOfWhatIsThere",
       {.cursor = 29},
       {},
       BlankedBehind(Thirty(), 5, Ago(5)),
       {kReady, 29, 30}},
      {"ABlankedEndStillSaysWhetherThePartitionIsQuiet",
       {},
       {.window_seconds = 7},
       BlankedBehind(Thirty(), 5, Ago(5)),
       {kWindow, 0, 0, false, In(2) + 4}},
      {"AWindowOpensUpToTheBlankedEnd",
       {},
       {.window_seconds = 5},
       BlankedBehind(Thirty(), 5, Ago(6)),
       {.end = 30, .window_end = 35, .since = Ago(1) + 4}},

      {"WhatIsNotListedIsUnknownNeverEmpty",
       {.cursor = 20},
       {},
       ListedUpTo(Thirty(), 20),
       {kUnknown, 20}},
      {"ACursorBehindTheListIsUnknown",
       {.cursor = 25},
       {},
       ListedUpTo(Thirty(), 20),
       {kUnknown, 25}},
      {"NothingListedIsUnknown", {}, {}, ListedUpTo(Thirty(), 0), {kUnknown, 0}},
      {"WhenAllListedHasExpiredTheRestIsUnknown",
       {},
       {.expires_after_seconds = 15},
       ListedUpTo(Thirty(), 20),
       {kUnknown, 20}},
      {"WhenAllListedIsHiddenTheRestIsUnknown",
       {.cursor = 18},
       {},
       Hiding(ListedUpTo(Thirty(), 20), 18, "111"),
       {kUnknown, 21}},
      {"WhatIsSettledUpToABlankedEndIsEmpty",
       {.cursor = 20},
       {},
       Hiding(ListedUpTo(BlankedBehind(Thirty(), 5, Ago(5)), 20), 20, Ones(10)),
       {kEmpty, 30}},
      {"WhatIsListedMayBeDelivered",
       {.cursor = 15},
       {},
       ListedUpTo(Thirty(), 20),
       {.cursor = 15, .end = 20, .more = true}},
      {"DueEndsWhereTheListEnds",
       {},
       {.delay_seconds = 5},
       ListedUpTo(Thirty(), 20),
       {.end = 20, .more = true, .since = Ago(25)}},
      {"AnUnknownLaneIsLoadedBeforeItsWaitIsOver",
       {.cursor = 20, .ready_at_micros = In(5)},
       {},
       ListedUpTo(Thirty(), 20),
       {kUnknown, 20}},
  };
  return cases;
}

INSTANTIATE_TEST_SUITE_P(, AvailabilityRule, testing::ValuesIn(Cases()),
                         [](const auto& tested) { return tested.param.rule; });

TEST(FirstSeqAt, FindsTheFirstMessageOfATime) {
  const LogView log = WithHole();
  EXPECT_EQ(FirstSeqAt(log, 0), 0);
  EXPECT_EQ(FirstSeqAt(log, Ago(30)), 0);
  EXPECT_EQ(FirstSeqAt(log, Ago(30) + 1), 1);
  EXPECT_EQ(FirstSeqAt(log, Ago(30) + 9), 9);
  EXPECT_EQ(FirstSeqAt(log, Ago(30) + 10), 20);
  EXPECT_EQ(FirstSeqAt(log, Ago(10) + 9), 29);
  EXPECT_EQ(FirstSeqAt(log, Ago(10) + 10), 30);
  EXPECT_EQ(FirstSeqAt(BlankedBehind(log, 5, Ago(5)), kTestNow), 35);
  EXPECT_EQ(FirstSeqAt(ListedUpTo(log, 20), kTestNow), 20);
  EXPECT_EQ(FirstSeqAt(LogOf({}), kTestNow), 0);
}

TEST(CreatedAt, IsKnownOfMessagesThatAreListed) {
  const LogView log = WithHole();
  EXPECT_EQ(CreatedAt(log, 0), Ago(30));
  EXPECT_EQ(CreatedAt(log, 9), Ago(30) + 9);
  EXPECT_EQ(CreatedAt(log, 10), std::nullopt);
  EXPECT_EQ(CreatedAt(log, 19), std::nullopt);
  EXPECT_EQ(CreatedAt(log, 20), Ago(10));
  EXPECT_EQ(CreatedAt(log, 30), std::nullopt);
}

TEST(SegmentAt, IsTheOneWithTheMessageOrTheNext) {
  const LogView log = WithHole();
  EXPECT_EQ(SegmentAt(log, 0), 0U);
  EXPECT_EQ(SegmentAt(log, 9), 0U);
  EXPECT_EQ(SegmentAt(log, 10), 1U);
  EXPECT_EQ(SegmentAt(log, 29), 1U);
  EXPECT_EQ(SegmentAt(log, 30), 2U);
}

}  // namespace
}  // namespace queen::engine
