#include "engine/verdict_rule.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "engine/testing/lanes.h"

namespace queen::engine {
namespace {

using enum VerdictKind;

// The lane before: a lease on [100, 110).
struct Before {
  std::string settled;
  std::string failed;
  std::vector<Attempt> attempts;
  int32_t deliveries = 1;
  std::optional<int64_t> ready_at;
};

// Offsets of verdicts count from the cursor, 100.
struct Given {
  std::string done;
  int64_t base = 0;
  std::vector<SingleVerdict> singles;
  LeaseAfter lease_after = LeaseAfter::kStays;
};

struct Expected {
  int64_t cursor = 100;
  std::string settled;
  std::string failed;
  std::vector<Attempt> attempts;
  int32_t deliveries = 1;
  bool released = false;
  std::vector<DeadLetter> dead;
  std::optional<int64_t> ready_in_ms;
};

struct Case {
  std::string rule;
  QueueRules rules;
  Before before;
  Given given;
  Expected expected;
};

void PrintTo(const Case& test, std::ostream* out) { *out << test.rule; }

class VerdictRule : public testing::TestWithParam<Case> {};

const Lease kLease{Uuid::FromHalves(1, 1), In(30), 110, 30};

Verdicts VerdictsOf(const Given& given) {
  Verdicts verdicts{100 + given.base, Bitmap(given.done), given.singles, given.lease_after};
  for (SingleVerdict& single : verdicts.singles) single.seq += 100;
  return verdicts;
}

TEST_P(VerdictRule, Holds) {
  const Case& test = GetParam();
  const Progress before{.epoch = 7,
                        .stamp = 99,
                        .cursor = 100,
                        .settled = Bitmap(test.before.settled),
                        .failed = Bitmap(test.before.failed),
                        .attempts = test.before.attempts,
                        .lease = kLease,
                        .deliveries = test.before.deliveries,
                        .ready_at_micros = test.before.ready_at,
                        .window_end = 120};
  const VerdictOutcome outcome = ApplyVerdicts(before, test.rules, VerdictsOf(test.given));
  EXPECT_EQ(outcome.next.epoch, 8);
  EXPECT_EQ(outcome.next.cursor, test.expected.cursor);
  EXPECT_EQ(outcome.next.settled.ToText(), test.expected.settled);
  EXPECT_EQ(outcome.next.failed.ToText(), test.expected.failed);
  EXPECT_EQ(outcome.next.attempts, test.expected.attempts);
  EXPECT_EQ(outcome.next.deliveries, test.expected.deliveries);
  EXPECT_EQ(outcome.released, test.expected.released);
  EXPECT_EQ(outcome.next.lease.has_value(), !test.expected.released);
  if (outcome.next.lease) {
    EXPECT_EQ(*outcome.next.lease, kLease);
  }
  EXPECT_EQ(outcome.dead, test.expected.dead);
  EXPECT_EQ(outcome.ready_in_ms, test.expected.ready_in_ms);
  EXPECT_EQ(outcome.next.ready_at_micros, test.before.ready_at);
  EXPECT_EQ(outcome.next.window_end, 120);
}

const std::vector<Case>& Cases() {
  const QueueRules no_retry;
  const QueueRules once{.retry_limit = 1};
  const QueueRules three{.retry_limit = 3};
  const QueueRules slow{.retry_limit = 3, .retry_delay_ms = 500};
  const std::string all(10, '1');
  static const std::vector<Case> cases = {
      {"NoVerdictChangesNothing", three, {.deliveries = 2}, {}, {.deliveries = 2}},
      {"ACompletedHeadMovesTheCursor", three, {}, {.done = "11"}, {.cursor = 102}},
      {"ACompletedMessageBehindAGapIsMarked", three, {}, {.done = "0101"}, {.settled = "0101"}},
      {"TheCursorMovesAcrossWhatWasSettled",
       three,
       {.settled = "0110000000001"},
       {.done = "1"},
       {.cursor = 103, .settled = "0000000001"}},
      {"TheLeaseEndsWithItsLastMessage",
       three,
       {},
       {.done = all},
       {.cursor = 110, .deliveries = 0, .released = true}},
      {"TheLeaseEndsWithItsLastMessageInAnyOrder",
       three,
       {.settled = "0111111111"},
       {.done = "1"},
       {.cursor = 110, .deliveries = 0, .released = true}},
      {"SettledMessagesBehindTheLeaseMoveTheCursorToo",
       three,
       {.settled = "000000000011011"},
       {.done = all},
       {.cursor = 112, .settled = "011", .deliveries = 0, .released = true}},
      {"WhatIsBehindTheLeaseIsIgnored",
       three,
       {},
       {.done = "1" + all + "11"},
       {.cursor = 110, .deliveries = 0, .released = true}},
      {"ABaseBeforeTheCursorIsCut", three, {}, {.done = "11111", .base = -3}, {.cursor = 102}},
      {"ABaseBehindTheCursorIsShifted",
       three,
       {},
       {.done = "101", .base = 2},
       {.settled = "00101"}},
      {"ABaseFarBeforeTheCursorIsIgnored", three, {}, {.done = "11", .base = -100}, {}},
      {"ABaseBehindTheLeaseIsIgnored", three, {}, {.done = "1", .base = 10}, {}},
      {"ABaseAtTheEndOfTimeIsIgnored", three, {}, {.done = "1", .base = kSeqMax}, {}},
      {"CompletedTwiceIsCompletedOnce",
       three,
       {.settled = "01"},
       {.done = "01"},
       {.settled = "01"}},

      {"AFailureIsDeliveredAgain",
       three,
       {},
       {.singles = {{3, kFailed, "e"}}},
       {.failed = "0001", .attempts = {{103, 1}}}},
      {"AFailureOfTheHeadIsItsVerdict",
       three,
       {.deliveries = 2},
       {.singles = {{0, kFailed, "e"}}},
       {.failed = "1", .attempts = {{100, 1}}, .deliveries = 0}},
      {"FailuresAreCounted",
       three,
       {.attempts = {{101, 1}, {103, 2}}},
       {.singles = {{3, kFailed, "e"}}},
       {.failed = "0001", .attempts = {{101, 1}, {103, 3}}}},
      {"WithoutRetriesAFailureIsDead",
       no_retry,
       {},
       {.singles = {{0, kFailed, "e"}}},
       {.cursor = 101, .dead = {{100, "e", 1}}}},
      {"TheFirstFailureOfOneRetryIsDeliveredAgain",
       once,
       {},
       {.singles = {{2, kFailed, "e"}}},
       {.failed = "001", .attempts = {{102, 1}}}},
      {"TheSecondFailureOfOneRetryIsDead",
       once,
       {.attempts = {{102, 1}}},
       {.singles = {{2, kFailed, "e"}}},
       {.settled = "001", .dead = {{102, "e", 2}}}},
      {"TheThirdFailureOfThreeRetriesIsDeliveredAgain",
       three,
       {.attempts = {{102, 2}}},
       {.singles = {{2, kFailed, "e"}}},
       {.failed = "001", .attempts = {{102, 3}}}},
      {"TheFourthFailureOfThreeRetriesIsDead",
       three,
       {.attempts = {{102, 3}}},
       {.singles = {{2, kFailed, "e"}}},
       {.settled = "001", .dead = {{102, "e", 4}}}},
      {"ALimitThatWasLoweredCountsAtOnce",
       once,
       {.attempts = {{102, 3}}},
       {.singles = {{2, kFailed, "e"}}},
       {.settled = "001", .dead = {{102, "e", 4}}}},
      {"ADeadLetterIsNoFailure",
       three,
       {.attempts = {{102, 2}}},
       {.singles = {{2, kDeadLetter, "d"}}},
       {.settled = "001", .dead = {{102, "d", 2}}}},
      {"DeadLettersComeInTheOrderOfTheLog",
       no_retry,
       {},
       {.singles = {{4, kFailed, "b"}, {2, kDeadLetter, "a"}}},
       {.settled = "00101", .dead = {{102, "a", 0}, {104, "b", 1}}}},
      {"OneVerdictInALease",
       three,
       {.failed = "001", .attempts = {{102, 1}}},
       {.done = "001", .singles = {{2, kFailed, "e"}, {2, kDeadLetter, "d"}}},
       {.failed = "001", .attempts = {{102, 1}}}},
      {"TheFirstOfFailedAndDeadLetterCounts",
       three,
       {},
       {.singles =
            {{2, kFailed, "e"}, {2, kDeadLetter, "d"}, {3, kDeadLetter, "d"}, {3, kFailed, "e"}}},
       {.settled = "0001", .failed = "001", .attempts = {{102, 1}}, .dead = {{103, "d", 0}}}},
      {"AFailureWinsOverCompleted",
       three,
       {},
       {.done = "111", .singles = {{1, kFailed, "e"}}},
       {.cursor = 101, .settled = "01", .failed = "1", .attempts = {{101, 1}}, .deliveries = 0}},
      {"ADeadLetterWinsOverCompleted",
       three,
       {},
       {.done = "111", .singles = {{1, kDeadLetter, "d"}}},
       {.cursor = 103, .dead = {{101, "d", 0}}}},
      {"ASettledMessageDoesNotFail",
       three,
       {.settled = "01"},
       {.singles = {{1, kFailed, "e"}}},
       {.settled = "01"}},
      {"OutsideTheLeaseNothingFails",
       no_retry,
       {},
       {.singles = {{-1, kFailed, "e"}, {10, kFailed, "e"}, {11, kDeadLetter, "d"}}},
       {}},
      {"TheLeaseEndsWhenAllIsJudged",
       three,
       {.settled = "0111"},
       {.done = "0000111111", .singles = {{0, kFailed, "e"}}},
       {.settled = "0111111111", .attempts = {{100, 1}}, .deliveries = 0, .released = true}},
      {"SettledMessagesForgetTheirFailures",
       three,
       {.attempts = {{100, 1}, {103, 2}, {115, 1}}},
       {.done = "1001"},
       {.cursor = 101, .settled = "001", .attempts = {{115, 1}}}},

      {"AFailureWaitsForItsDelay",
       slow,
       {},
       {.singles = {{3, kFailed, "e"}}},
       {.failed = "0001", .attempts = {{103, 1}}, .ready_in_ms = 500}},
      {"NobodyWaitsForTheDead",
       slow,
       {},
       {.singles = {{3, kDeadLetter, "d"}}},
       {.settled = "0001", .dead = {{103, "d", 0}}}},
      {"NobodyWaitsForWhatIsHandedBack",
       slow,
       {},
       {.singles = {{3, kRetry, ""}}},
       {.deliveries = 0, .released = true}},
      {"AWaitIsKept", slow, {.ready_at = In(60)}, {.done = "1"}, {.cursor = 101}},
      {"WithoutDelayNobodyWaits",
       three,
       {},
       {.singles = {{3, kFailed, "e"}}},
       {.failed = "0001", .attempts = {{103, 1}}}},

      {"CumulativeCompletesAllUpToTheMessage",
       three,
       {},
       {.singles = {{3, kCumulative, ""}}},
       {.cursor = 104}},
      {"BeforeLeavesTheMessageItself", three, {}, {.singles = {{3, kBefore, ""}}}, {.cursor = 103}},
      {"BeforeTheHeadIsNothing", three, {}, {.singles = {{0, kBefore, ""}}}, {}},
      {"TheFurthestCumulativeCounts",
       three,
       {},
       {.singles = {{5, kCumulative, ""}, {2, kCumulative, ""}, {6, kBefore, ""}}},
       {.cursor = 106}},
      {"CumulativeOutsideTheLeaseIsIgnored",
       three,
       {},
       {.singles = {{10, kCumulative, ""}, {-1, kCumulative, ""}, {10, kBefore, ""}}},
       {}},
      {"CumulativeOfASettledMessageStillCompletesThoseBefore",
       three,
       {.settled = "0001"},
       {.singles = {{3, kCumulative, ""}}},
       {.cursor = 104}},
      {"BeforeAFailedMessageStillCompletesThoseBefore",
       three,
       {.failed = "0001"},
       {.singles = {{3, kBefore, ""}}},
       {.cursor = 103, .failed = "1", .deliveries = 0}},
      {"CumulativeLeavesOutWhatFailed",
       three,
       {.failed = "01"},
       {.singles = {{2, kFailed, "e"}, {4, kCumulative, ""}}},
       {.cursor = 101, .settled = "0011", .failed = "11", .attempts = {{102, 1}}, .deliveries = 0}},
      {"CumulativeBeforeAFailureOfTheSameCall",
       three,
       {},
       {.singles = {{4, kCumulative, ""}, {2, kFailed, "e"}}},
       {.cursor = 102, .settled = "011", .failed = "1", .attempts = {{102, 1}}, .deliveries = 0}},
      {"CumulativeOfAllEndsTheLease",
       three,
       {},
       {.singles = {{9, kCumulative, ""}}},
       {.cursor = 110, .deliveries = 0, .released = true}},

      {"HandingBackEndsTheLeaseUncounted",
       three,
       {.attempts = {{103, 1}}, .deliveries = 2},
       {.done = "001", .singles = {{3, kRetry, ""}}},
       {.settled = "001", .attempts = {{103, 1}}, .deliveries = 1, .released = true}},
      {"HandingBackLeavesNoFailedMarks",
       three,
       {.failed = "01"},
       {.singles = {{3, kRetry, ""}}},
       {.deliveries = 0, .released = true}},
      {"HandingBackAfterProgressBeginsToCountAnew",
       three,
       {.deliveries = 3},
       {.done = "11", .singles = {{2, kRetry, ""}}},
       {.cursor = 102, .deliveries = 0, .released = true}},
      {"ASettledMessageIsNotHandedBack",
       three,
       {.settled = "01"},
       {.singles = {{1, kRetry, ""}}},
       {.settled = "01"}},
      {"AFailedMessageIsNotHandedBack",
       three,
       {.failed = "01"},
       {.singles = {{1, kRetry, ""}}},
       {.failed = "01"}},
      {"OutsideTheLeaseNothingIsHandedBack",
       three,
       {},
       {.singles = {{-1, kRetry, ""}, {10, kRetry, ""}}},
       {}},
      {"FailedAndHandedBackCountsAsFailed",
       slow,
       {},
       {.singles = {{1, kFailed, "e"}, {1, kRetry, ""}}},
       {.attempts = {{101, 1}}, .deliveries = 0, .released = true, .ready_in_ms = 500}},

      {"AnEndedLeaseIsGivenBackUncounted",
       three,
       {.deliveries = 2},
       {.lease_after = LeaseAfter::kEnds},
       {.deliveries = 1, .released = true}},
      {"AnEndedLeaseKeepsWhatIsSettled",
       three,
       {.failed = "00001"},
       {.done = "1010", .lease_after = LeaseAfter::kEnds},
       {.cursor = 101, .settled = "01", .deliveries = 0, .released = true}},
      {"ALeaseKeptOnPurposeIsNoDeliveryThatNobodySurvived",
       three,
       {.deliveries = 2},
       {.done = "01", .lease_after = LeaseAfter::kKeptOnPurpose},
       {.settled = "01", .deliveries = 0}},
      {"ALeaseKeptOnPurposeEndsWithItsLastMessage",
       three,
       {},
       {.done = all, .lease_after = LeaseAfter::kKeptOnPurpose},
       {.cursor = 110, .deliveries = 0, .released = true}},
      {"HandingBackEndsALeaseKeptOnPurpose",
       three,
       {.deliveries = 3},
       {.singles = {{0, kRetry, ""}}, .lease_after = LeaseAfter::kKeptOnPurpose},
       {.deliveries = 2, .released = true}},
      {"ALeaseKeptOnPurposeMayBeGivenBack",
       three,
       {.deliveries = 0},
       {.lease_after = LeaseAfter::kEnds},
       {.deliveries = 0, .released = true}},
      {"DeliveriesOfTheHeadAreKept",
       three,
       {.deliveries = 3},
       {.done = "01"},
       {.settled = "01", .deliveries = 3}},
      {"ANewHeadWasDeliveredOnce", three, {.deliveries = 3}, {.done = "1"}, {.cursor = 101}},
      {"AHeadThatFailedInThisLeaseHasItsVerdict",
       three,
       {.failed = "01", .deliveries = 3},
       {.done = "1"},
       {.cursor = 101, .failed = "1", .deliveries = 0}},
  };
  return cases;
}

INSTANTIATE_TEST_SUITE_P(, VerdictRule, testing::ValuesIn(Cases()),
                         [](const auto& tested) { return tested.param.rule; });

}  // namespace
}  // namespace queen::engine
