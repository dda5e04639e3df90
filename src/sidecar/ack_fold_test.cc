#include "sidecar/ack_fold.h"

#include <gtest/gtest.h>

namespace queen::sidecar {
namespace {

struct Ack {
  int64_t seq;
  Verdict verdict = Verdict::kCompleted;
  bool cumulative = false;
};

AckGroup GroupOf(const std::vector<Ack>& acks) {
  AckGroup group{std::make_shared<AckCall>(), std::nullopt, {}, false};
  for (const Ack& ack : acks) {
    AckItem item;
    item.verdict = ack.verdict;
    item.cumulative = ack.cumulative;
    item.message = "error of " + std::to_string(ack.seq);
    group.items.push_back(static_cast<uint32_t>(group.call->request.items.size()));
    group.call->request.items.push_back(std::move(item));
    group.call->targets.push_back({"q", "p", 1, ack.seq});
  }
  return group;
}

AckFold FoldOf(std::vector<AckGroup> groups) {
  std::vector<AckGroup> too_far;
  AckFold fold = Fold(groups, too_far);
  EXPECT_TRUE(too_far.empty());
  return fold;
}

TEST(AckFold, CompletedOffsetsBecomeBits) {
  const AckFold fold = FoldOf({GroupOf({{12}, {10}, {15}})});
  EXPECT_EQ(fold.base, 10);
  EXPECT_EQ(fold.done, "101001");
  EXPECT_TRUE(fold.repeatable());
}

TEST(AckFold, OkFailedOkKeepsTheFailure) {
  const AckFold fold = FoldOf({GroupOf({{10}, {11, Verdict::kFailed}, {12}})});
  EXPECT_EQ(fold.done, "101");
  ASSERT_EQ(fold.singles.size(), 1U);
  EXPECT_EQ(fold.singles[0].seq, 11);
  EXPECT_FALSE(fold.singles[0].dead_letter);
  EXPECT_EQ(fold.singles[0].error, "error of 11");
  EXPECT_FALSE(fold.repeatable());
}

TEST(AckFold, TheFirstVerdictWinsAcrossCallers) {
  const AckFold fold = FoldOf({GroupOf({{10, Verdict::kFailed}}), GroupOf({{10}, {11}}),
                               GroupOf({{11, Verdict::kDeadLetter}})});
  EXPECT_EQ(fold.done, "01");
  ASSERT_EQ(fold.singles.size(), 1U);
  EXPECT_EQ(fold.singles[0].seq, 10);
}

TEST(AckFold, CumulativeAndRetry) {
  const AckFold fold = FoldOf({GroupOf({{10, Verdict::kCompleted, true}, {14, Verdict::kRetry}}),
                               GroupOf({{13, Verdict::kFailed, true}, {12, Verdict::kRetry}})});
  EXPECT_EQ(fold.cumulative, 12);  // everything before the failed one
  EXPECT_EQ(fold.retry_from, 12);
}

TEST(AckFold, WhatIsTooFarAwayWaitsForTheNextFold) {
  std::vector<AckGroup> groups{GroupOf({{5}, {5 + kAckSpanMax - 1}, {5 + kAckSpanMax}})};
  std::vector<AckGroup> too_far;
  const AckFold fold = Fold(groups, too_far);
  EXPECT_EQ(fold.done.size(), static_cast<size_t>(kAckSpanMax));
  ASSERT_EQ(too_far.size(), 1U);
  EXPECT_EQ(too_far[0].items, std::vector<uint32_t>{2});
  EXPECT_EQ(groups[0].items, (std::vector<uint32_t>{0, 1}));
}

TEST(AckJudge, SettledIsSuccessBeforeTheLeaseIsLookedAt) {
  AckAnswer answer{AckAnswer::State::kRefused, 10, "010", 0, false, {}};
  EXPECT_TRUE(Judge(answer, 9).success);
  EXPECT_EQ(Judge(answer, 10).error, "Invalid or expired lease");
  EXPECT_TRUE(Judge(answer, 11).success);
  EXPECT_FALSE(Judge(answer, 12).success);
  EXPECT_FALSE(Judge(answer, 13).success);
}

TEST(AckJudge, OnlyWhatWasDeliveredUnderTheLeaseIsAccepted) {
  AckAnswer answer{AckAnswer::State::kApplied, 10, "", 13, true, {11}};
  EXPECT_TRUE(Judge(answer, 10).success);
  EXPECT_TRUE(Judge(answer, 10).lease_released);
  EXPECT_TRUE(Judge(answer, 11).dead_lettered);
  EXPECT_FALSE(Judge(answer, 13).success);
  EXPECT_FALSE(Judge(answer, 9).lease_released);
}

TEST(AckJudge, AGroupThatNeverLeasedIsRefused) {
  const AckAnswer answer{AckAnswer::State::kRefused, std::nullopt, "", 0, false, {}};
  EXPECT_EQ(Judge(answer, 0).error, "Invalid or expired lease");
  EXPECT_EQ(Judge(AckAnswer{}, 0).error, "Message not found");
}

}  // namespace
}  // namespace queen::sidecar
