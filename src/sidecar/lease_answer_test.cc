#include "sidecar/lease_answer.h"

#include <gtest/gtest.h>

namespace queen::sidecar {
namespace {

using State = LeaseAnswer::State;

constexpr int64_t kNow = 1'000'000'000;
constexpr int64_t kSentMs = 7'000;

engine::LeaseOutcome NotBefore(int64_t micros) {
  engine::LeaseOutcome outcome;
  outcome.state = engine::LeaseState::kNotNow;
  outcome.found.state = engine::LaneState::kEmpty;
  outcome.found.ready_at_micros = micros;
  return outcome;
}

TEST(LeaseAnswerTest, AWaitCountsFromTheQuestionAndIsNeverRoundedUp) {
  const LeaseAnswer answer = AnswerOf(NotBefore(kNow + 2'999), kNow, kSentMs);
  EXPECT_EQ(answer.state, State::kNotNow);
  EXPECT_EQ(answer.until_ms, kSentMs + 2);
  EXPECT_EQ(AnswerOf(NotBefore(kNow + 999), kNow, kSentMs).until_ms, kSentMs);
  EXPECT_EQ(AnswerOf(NotBefore(kNow - 5'000), kNow, kSentMs).until_ms, kSentMs);
}

TEST(LeaseAnswerTest, NothingToWaitForIsEmpty) {
  engine::LeaseOutcome outcome = NotBefore(0);
  outcome.found.ready_at_micros.reset();
  EXPECT_EQ(AnswerOf(outcome, kNow, kSentMs).state, State::kEmpty);
}

TEST(LeaseAnswerTest, ALeaseLastsFromWhenTheAppendWasSent) {
  engine::LeaseOutcome outcome;
  outcome.state = engine::LeaseState::kLeased;
  outcome.lease_ms = 30'000;
  storage::append_lanes::Row won;
  won.state = engine::AppendState::kWon;
  const LeaseAnswer answer = AfterAppend(AnswerOf(outcome, kNow, 1), outcome, won, kSentMs);
  EXPECT_EQ(answer.state, State::kLeased);
  EXPECT_EQ(answer.until_ms, kSentMs + 30'000);
}

TEST(LeaseAnswerTest, AnAppendThatCameTooEarlyIsTriedWhenItsTimeHasCome) {
  engine::LeaseOutcome outcome;
  outcome.state = engine::LeaseState::kLeased;
  outcome.not_before_micros = kNow + 1'500;
  storage::append_lanes::Row early;
  early.state = engine::AppendState::kEarly;
  early.now_micros = kNow;
  const LeaseAnswer answer = AfterAppend(AnswerOf(outcome, kNow, 1), outcome, early, kSentMs);
  EXPECT_EQ(answer.state, State::kNotNow);
  EXPECT_EQ(answer.until_ms, kSentMs + 1);
}

TEST(LeaseAnswerTest, WhoLostAsksAgain) {
  for (const auto state : {engine::AppendState::kLost, engine::AppendState::kExpired,
                           engine::AppendState::kMoved, engine::AppendState::kStale}) {
    storage::append_lanes::Row lost;
    lost.state = state;
    EXPECT_EQ(AfterAppend({State::kLeased, 0, "p"}, {}, lost, kSentMs).state, State::kAgain);
  }
}

}  // namespace
}  // namespace queen::sidecar
