#include "engine/lease_rule.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "engine/testing/lanes.h"

namespace queen::engine {

std::ostream& operator<<(std::ostream& out, LeaseState state) {
  constexpr const char* kNames[] = {"leased", "dead head", "not now", "full", "large"};
  return out << kNames[static_cast<int>(state)];
}

namespace {

const Uuid kMine = Uuid::FromHalves(1, 1);
const Uuid kOther = Uuid::FromHalves(2, 2);

// Offsets 0 to 9, 10 to 19 and 20 to 29 of 100 bytes a segment.
LogView Thirty() {
  return LogOf({{0, 10, Ago(30), 100}, {10, 10, Ago(20), 100}, {20, 10, Ago(10), 100}});
}

// The same without the middle.
LogView WithHole() { return LogOf({{0, 10, Ago(30), 100}, {20, 10, Ago(10), 100}}); }

LeaseRequest AskFor(int64_t messages, int64_t bytes = 1'000'000) {
  return {.lease_id = kMine, .messages_left = messages, .bytes_left = bytes, .bytes_max = bytes};
}

LeaseOutcome Decide(const Progress& progress, const LogView& log, const LeaseRequest& request,
                    const QueueRules& rules = {.lease_seconds = 30}) {
  return DecideLease(progress, rules, log, request, kTestNow);
}

std::vector<int64_t> BasesOf(const LeaseOutcome& outcome) {
  std::vector<int64_t> bases;
  for (const SegmentSpan& segment : outcome.segments) bases.push_back(segment.base_seq);
  return bases;
}

using Bases = std::vector<int64_t>;
using Attempts = std::vector<Attempt>;

TEST(LeaseRule, ALeaseLeavesTheCursorAndSaysHowFarItReaches) {
  const LeaseOutcome outcome = Decide({.epoch = 7, .stamp = 99, .cursor = 5}, Thirty(), AskFor(10));
  ASSERT_EQ(outcome.state, LeaseState::kLeased);
  EXPECT_EQ(outcome.cursor, 5);
  EXPECT_EQ(outcome.end, 15);
  EXPECT_EQ(outcome.messages, 10);
  EXPECT_EQ(BasesOf(outcome), (Bases{0, 10}));
  EXPECT_EQ(outcome.bytes, 200);
  EXPECT_FALSE(outcome.whole);
  EXPECT_EQ(outcome.lease_ms, 30'000);
  EXPECT_EQ(outcome.next,
            (Progress{.epoch = 8, .cursor = 5, .lease = Lease{kMine, 0, 15, 30}, .deliveries = 1}));
}

TEST(LeaseRule, ALaneWithoutARowBeginsWithEpochOne) {
  EXPECT_EQ(Decide({}, Thirty(), AskFor(1)).next->epoch, 1);
}

TEST(LeaseRule, ALeaseThatHasAllIsWhole) {
  EXPECT_TRUE(Decide({}, Thirty(), AskFor(30)).whole);
  EXPECT_TRUE(Decide({}, Thirty(), AskFor(100)).whole);
  EXPECT_FALSE(Decide({}, Thirty(), AskFor(29)).whole);
  EXPECT_TRUE(Decide({}, BlankedBehind(Thirty(), 5, Ago(5)), AskFor(30)).whole);
}

TEST(LeaseRule, ALeaseOfAPartOfTheListIsNotWhole) {
  const LeaseOutcome outcome = Decide({}, ListedUpTo(Thirty(), 20), AskFor(100));
  EXPECT_EQ(outcome.end, 20);
  EXPECT_FALSE(outcome.whole);
}

TEST(LeaseRule, AnEndOnTheEdgeOfASegmentNeedsNoMore) {
  const LeaseOutcome outcome = Decide({}, Thirty(), AskFor(10));
  EXPECT_EQ(outcome.end, 10);
  EXPECT_EQ(BasesOf(outcome), (Bases{0}));
  EXPECT_EQ(outcome.bytes, 100);
}

TEST(LeaseRule, TheRequestMaySayHowLong) {
  LeaseRequest request = AskFor(1);
  request.seconds = 7;
  const LeaseOutcome outcome = Decide({}, Thirty(), request);
  EXPECT_EQ(outcome.lease_ms, 7'000);
  EXPECT_EQ(outcome.next->lease->seconds, 7);
}

TEST(LeaseRule, SettledMessagesAreNotCounted) {
  const LeaseOutcome outcome =
      Decide({.cursor = 5, .settled = Bitmap("011011100001")}, Thirty(), AskFor(4));
  ASSERT_EQ(outcome.state, LeaseState::kLeased);
  EXPECT_EQ(outcome.end, 14);  // 5, 8, 12 and 13
  EXPECT_EQ(outcome.messages, 4);
  EXPECT_EQ(outcome.settled.ToText(), "0110111");
  EXPECT_EQ(outcome.next->settled.ToText(), "011011100001") << "what lies behind the lease stays";
}

TEST(LeaseRule, ALeaseEndsBehindItsLastMessage) {
  const LeaseOutcome outcome =
      Decide({.cursor = 8, .settled = Bitmap("001" + std::string(30, '1'))}, Thirty(), AskFor(10));
  ASSERT_EQ(outcome.state, LeaseState::kLeased);
  EXPECT_EQ(outcome.end, 10);
  EXPECT_EQ(outcome.messages, 2);
  EXPECT_EQ(BasesOf(outcome), (Bases{0})) << "segments of settled messages are not read";
  EXPECT_EQ(outcome.bytes, 100);
  EXPECT_TRUE(outcome.whole) << "what is behind it is settled";
}

TEST(LeaseRule, AMovedCursorTakesTheSettledBitsAlong) {
  const LeaseOutcome outcome =
      Decide({.cursor = 10, .settled = Bitmap("000000000000001")}, WithHole(), AskFor(5));
  EXPECT_EQ(outcome.cursor, 20);
  EXPECT_EQ(outcome.end, 26);
  EXPECT_EQ(outcome.next->cursor, 20);
  EXPECT_EQ(outcome.next->settled.ToText(), "00001");
}

TEST(LeaseRule, ALeaseEndsAtAHole) {
  const LeaseOutcome outcome = Decide({}, WithHole(), AskFor(30));
  EXPECT_EQ(outcome.end, 10);
  EXPECT_EQ(outcome.messages, 10);
  EXPECT_EQ(BasesOf(outcome), (Bases{0}));
  EXPECT_FALSE(outcome.whole);
}

TEST(LeaseRule, ALeaseReachesNoFurtherThanItsSpan) {
  const LogView log = LogOf({{0, 15'000, Ago(30), 100}});
  const LeaseOutcome outcome = Decide({.cursor = 100}, log, AskFor(20'000));
  EXPECT_EQ(outcome.end, 10'100);
  EXPECT_EQ(outcome.messages, 10'000);

  Bitmap settled;
  settled.SetRange(1, 9'999);
  const LeaseOutcome sparse = Decide({.settled = settled}, log, AskFor(20'000));
  EXPECT_EQ(sparse.end, 10'000);
  EXPECT_EQ(sparse.messages, 2);
}

TEST(LeaseRule, BytesEndALeaseBetweenSegments) {
  const LeaseOutcome outcome = Decide({.cursor = 5}, Thirty(), AskFor(30, 299));
  EXPECT_EQ(outcome.end, 20);
  EXPECT_EQ(outcome.bytes, 200);
  EXPECT_EQ(Decide({.cursor = 5}, Thirty(), AskFor(30, 300)).end, 30);
}

TEST(LeaseRule, ASegmentLargerThanThePopIsLarge) {
  const LeaseOutcome outcome = Decide({}, Thirty(), AskFor(30, 99));
  EXPECT_EQ(outcome.state, LeaseState::kLarge);
  EXPECT_EQ(outcome.bytes, 100);
  EXPECT_FALSE(outcome.next);
  EXPECT_TRUE(outcome.segments.empty());
  EXPECT_EQ(Decide({}, Thirty(), AskFor(30, 100)).end, 10);
}

TEST(LeaseRule, ASegmentLargerThanWhatIsLeftOfThePopIsFull) {
  LeaseRequest request = AskFor(30, 1'000);
  request.bytes_left = 99;
  EXPECT_EQ(Decide({}, Thirty(), request).state, LeaseState::kFull);
  EXPECT_FALSE(Decide({}, Thirty(), request).next);
  request.bytes_left = 100;
  EXPECT_EQ(Decide({}, Thirty(), request).end, 10);
}

TEST(LeaseRule, APopWithItsBatchIsFull) {
  EXPECT_EQ(Decide({}, Thirty(), AskFor(0)).state, LeaseState::kFull);
  EXPECT_FALSE(Decide({}, Thirty(), AskFor(0)).next);
}

TEST(LeaseRule, ALaneThatIsNotReadyGetsNoRow) {
  const Progress held{.lease = Lease{kOther, In(5), 5, 30}, .deliveries = 1};
  const LeaseOutcome outcome = Decide(held, Thirty(), AskFor(1));
  EXPECT_EQ(outcome.state, LeaseState::kNotNow);
  EXPECT_EQ(outcome.found.state, LaneState::kHeld);
  EXPECT_FALSE(outcome.next);
  EXPECT_EQ(Decide({.cursor = 30}, Thirty(), AskFor(1)).found.state, LaneState::kEmpty);
  EXPECT_EQ(Decide({.cursor = 20}, ListedUpTo(Thirty(), 20), AskFor(1)).found.state,
            LaneState::kUnknown);
}

TEST(LeaseRule, WhoAsksAgainGetsTheSameLease) {
  const Progress held{.epoch = 3,
                      .cursor = 5,
                      .settled = Bitmap("01000000000000001"),
                      .attempts = {{6, 1}, {7, 2}},
                      .lease = Lease{kMine, In(5), 15, 30},
                      .deliveries = 1};
  const LeaseOutcome outcome = Decide(held, Thirty(), AskFor(1, 1));
  ASSERT_EQ(outcome.state, LeaseState::kLeased);
  EXPECT_FALSE(outcome.next) << "nothing is written";
  EXPECT_EQ(outcome.cursor, 5);
  EXPECT_EQ(outcome.end, 15) << "whatever the batch and the bytes";
  EXPECT_EQ(outcome.messages, 9);
  EXPECT_EQ(outcome.settled.ToText(), "01");
  EXPECT_EQ(outcome.attempts, (Attempts{{6, 1}, {7, 2}}));
  EXPECT_EQ(BasesOf(outcome), (Bases{0, 10}));
  EXPECT_EQ(outcome.bytes, 200);
  EXPECT_FALSE(outcome.whole);
}

TEST(LeaseRule, TheSameLeaseIsUnknownUnlessAllOfItIsListed) {
  const Progress held{.lease = Lease{kMine, In(5), 15, 30}};
  const LeaseOutcome outcome = Decide(held, ListedUpTo(Thirty(), 10), AskFor(1));
  EXPECT_EQ(outcome.state, LeaseState::kNotNow);
  EXPECT_EQ(outcome.found.state, LaneState::kUnknown);
  EXPECT_EQ(Decide(held, ListedUpTo(Thirty(), 20), AskFor(1)).state, LeaseState::kLeased);
}

TEST(LeaseRule, TheSameLeaseGoesOnBehindAHole) {
  const Progress held{.cursor = 8, .lease = Lease{kMine, In(5), 25, 30}};
  const LeaseOutcome outcome = Decide(held, WithHole(), AskFor(1));
  EXPECT_EQ(outcome.end, 25);
  EXPECT_EQ(BasesOf(outcome), (Bases{0, 20}));
  EXPECT_EQ(outcome.messages, 7) << "what is gone is not delivered";
}

TEST(LeaseRule, TheSameLeaseMayHaveNothingLeft) {
  const Progress held{.lease = Lease{kMine, In(5), 5, 30}};
  const LeaseOutcome outcome =
      Decide(held, LogOf({{0, 10, Ago(30) - 7, 100}}), AskFor(1), {.expires_after_seconds = 30});
  EXPECT_EQ(outcome.state, LeaseState::kLeased);
  EXPECT_EQ(outcome.messages, 0);
  EXPECT_TRUE(outcome.segments.empty());
}

TEST(LeaseRule, ALeaseThatIsOverIsTakenAnew) {
  const Progress over{.epoch = 4,
                      .failed = Bitmap("1"),
                      .lease = Lease{kMine, Ago(1), 5, 30},
                      .deliveries = 1,
                      .ready_at_micros = Ago(2)};
  const LeaseOutcome outcome = Decide(over, Thirty(), AskFor(3));
  ASSERT_EQ(outcome.state, LeaseState::kLeased);
  EXPECT_EQ(outcome.not_before_micros, Ago(1));
  EXPECT_EQ(outcome.next, (Progress{.epoch = 5, .lease = Lease{kMine, 0, 3, 30}, .deliveries = 2}))
      << "no marks of the old lease, and no wait";
}

TEST(LeaseRule, AnAppendMayNotComeBeforeTheWaitIsOver) {
  EXPECT_EQ(Decide({.ready_at_micros = Ago(2)}, Thirty(), AskFor(3)).not_before_micros, Ago(2));
  EXPECT_EQ(Decide({}, Thirty(), AskFor(3)).not_before_micros, 0);
}

TEST(LeaseRule, AnAppendMayNotComeBeforeItsLastMessageIsDue) {
  const QueueRules rules{.lease_seconds = 30, .delay_seconds = 15};
  const LeaseOutcome outcome = Decide({}, Thirty(), AskFor(15), rules);
  EXPECT_EQ(outcome.end, 15);
  EXPECT_EQ(outcome.not_before_micros, Ago(5) + 4);
  EXPECT_EQ(Decide({}, Thirty(), AskFor(30), rules).end, 20);
  EXPECT_FALSE(Decide({}, Thirty(), AskFor(30), rules).whole);
}

TEST(LeaseRule, AnAppendMayNotComeBeforeWhatItSkipsHasExpired) {
  const LeaseOutcome outcome =
      Decide({}, Thirty(), AskFor(3), {.lease_seconds = 30, .expires_after_seconds = 15});
  EXPECT_EQ(outcome.cursor, 20);
  EXPECT_EQ(outcome.not_before_micros, Ago(5) + 9 + 1);
}

TEST(LeaseRule, AWindowIsOpenOnlyWhileTheLogEndsThere) {
  const QueueRules rules{.lease_seconds = 30, .window_seconds = 5};
  const LeaseOutcome outcome = Decide({}, BlankedBehind(Thirty(), 5, Ago(6)), AskFor(3), rules);
  ASSERT_EQ(outcome.state, LeaseState::kLeased);
  EXPECT_EQ(outcome.log_end, 35);
  EXPECT_EQ(outcome.next->window_end, 35);
  EXPECT_EQ(outcome.not_before_micros, Ago(1) + 4);
  EXPECT_FALSE(Decide({}, Thirty(), AskFor(3)).log_end);
}

TEST(LeaseRule, AWindowStaysOpenAsFarAsItWas) {
  const QueueRules rules{.lease_seconds = 30, .window_seconds = 60};
  const LeaseOutcome outcome = Decide({.window_end = 7}, Thirty(), AskFor(30), rules);
  EXPECT_EQ(outcome.end, 7);
  EXPECT_EQ(outcome.next->window_end, 7);
  EXPECT_EQ(outcome.not_before_micros, 0);
  EXPECT_FALSE(outcome.whole);
}

TEST(LeaseRule, WithoutAWindowNothingIsRemembered) {
  EXPECT_FALSE(Decide({.window_end = 7}, Thirty(), AskFor(1)).next->window_end);
}

TEST(LeaseRule, AutoAckSettlesAtOnceAndHoldsNothing) {
  LeaseRequest request = AskFor(3);
  request.auto_ack = true;
  const LeaseOutcome outcome = Decide({.epoch = 1,
                                       .cursor = 5,
                                       .settled = Bitmap("0100111001"),
                                       .attempts = {{5, 1}, {12, 1}, {20, 1}},
                                       .deliveries = 3},
                                      Thirty(), request);
  ASSERT_EQ(outcome.state, LeaseState::kLeased);
  EXPECT_EQ(outcome.cursor, 5);
  EXPECT_EQ(outcome.end, 9);
  EXPECT_EQ(outcome.messages, 3);
  EXPECT_EQ(outcome.lease_ms, 0);
  EXPECT_EQ(outcome.attempts, (Attempts{{5, 1}, {12, 1}, {20, 1}}));
  EXPECT_EQ(
      outcome.next,
      (Progress{
          .epoch = 2, .cursor = 12, .settled = Bitmap("001"), .attempts = {{12, 1}, {20, 1}}}));
}

TEST(LeaseRule, AMovedCursorDropsFailuresOfWhatIsGone) {
  const LeaseOutcome outcome =
      Decide({.cursor = 10, .attempts = {{12, 1}, {21, 2}}}, WithHole(), AskFor(1));
  EXPECT_EQ(outcome.attempts, (Attempts{{21, 2}}));
  EXPECT_EQ(outcome.next->attempts, (Attempts{{21, 2}}));
}

TEST(LeaseRule, DeliveriesOfTheSameHeadAreCounted) {
  EXPECT_EQ(Decide({.deliveries = 4}, Thirty(), AskFor(1)).next->deliveries, 5);
  EXPECT_EQ(Decide({.cursor = 10, .deliveries = 4}, WithHole(), AskFor(1)).next->deliveries, 1)
      << "another message is at the head";
}

constexpr QueueRules kTwice{.lease_seconds = 30, .max_deliveries = 2};

Progress DeliveredOften(int32_t deliveries) {
  return {.epoch = 4,
          .cursor = 5,
          .settled = Bitmap("0110001"),
          .attempts = {{5, 3}, {9, 1}},
          .lease = Lease{kOther, Ago(1), 9, 30},
          .deliveries = deliveries};
}

TEST(LeaseRule, AHeadThatNobodySurvivedIsDead) {
  const LeaseOutcome outcome = Decide(DeliveredOften(2), Thirty(), AskFor(0), kTwice);
  ASSERT_EQ(outcome.state, LeaseState::kDeadHead);
  EXPECT_EQ(outcome.dead,
            (std::vector<DeadLetter>{{5, "delivered too often without a verdict", 3}}));
  EXPECT_EQ(outcome.next,
            (Progress{.epoch = 5, .cursor = 8, .settled = Bitmap("0001"), .attempts = {{9, 1}}}));
  EXPECT_EQ(outcome.not_before_micros, Ago(1));
}

TEST(LeaseRule, AHeadDeliveredLessOftenIsNotDead) {
  EXPECT_EQ(Decide(DeliveredOften(1), Thirty(), AskFor(1), kTwice).state, LeaseState::kLeased);
}

TEST(LeaseRule, WithoutALimitNoHeadIsDead) {
  EXPECT_EQ(Decide(DeliveredOften(50), Thirty(), AskFor(1)).state, LeaseState::kLeased);
}

TEST(LeaseRule, AHeadWhoseLeaseWasGivenBackIsNotDead) {
  Progress progress = DeliveredOften(2);
  progress.lease.reset();
  EXPECT_EQ(Decide(progress, Thirty(), AskFor(1), kTwice).state, LeaseState::kLeased);
}

TEST(LeaseRule, AnotherHeadIsNotDead) {
  LogView log = Thirty();
  log.from = 5;
  log.hidden = Bitmap("1");
  const LeaseOutcome outcome = Decide(DeliveredOften(2), log, AskFor(1), kTwice);
  ASSERT_EQ(outcome.state, LeaseState::kLeased);
  EXPECT_EQ(outcome.cursor, 8);
  EXPECT_EQ(outcome.next->deliveries, 1);
}

TEST(LeaseRule, ADeadHeadOpensTheWindowOnlyWhileTheLogEndsThere) {
  QueueRules rules = kTwice;
  rules.window_seconds = 5;
  const LeaseOutcome outcome = Decide(DeliveredOften(2), Thirty(), AskFor(1), rules);
  ASSERT_EQ(outcome.state, LeaseState::kDeadHead);
  EXPECT_EQ(outcome.next->window_end, 30);
  EXPECT_EQ(outcome.log_end, 30);
}

}  // namespace
}  // namespace queen::engine
