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

// A fold has views into the calls: they are kept beside it.
struct Folded : engine::Verdicts {
  std::vector<AckGroup> groups;
};

Folded FoldOf(std::vector<AckGroup> groups) {
  std::vector<AckGroup> too_far;
  std::vector<AckGroup> kept = groups;
  Folded folded{Fold(groups, too_far), std::move(kept)};
  EXPECT_TRUE(too_far.empty());
  return folded;
}

TEST(AckFold, CompletedOffsetsBecomeBits) {
  const Folded fold = FoldOf({GroupOf({{12}, {10}, {15}})});
  EXPECT_EQ(fold.base, 10);
  EXPECT_EQ(fold.done.ToText(), "101001");
  EXPECT_TRUE(IsRepeatable(fold));
}

TEST(AckFold, OkFailedOkKeepsTheFailure) {
  const Folded fold = FoldOf({GroupOf({{10}, {11, Verdict::kFailed}, {12}})});
  EXPECT_EQ(fold.done.ToText(), "101");
  ASSERT_EQ(fold.singles.size(), 1U);
  EXPECT_EQ(fold.singles[0].seq, 11);
  EXPECT_EQ(fold.singles[0].kind, engine::VerdictKind::kFailed);
  EXPECT_EQ(fold.singles[0].error, "error of 11");
  EXPECT_FALSE(IsRepeatable(fold));
}

TEST(AckFold, TheFirstVerdictWinsAcrossCallers) {
  const Folded fold = FoldOf({GroupOf({{10, Verdict::kFailed}}), GroupOf({{10}, {11}}),
                              GroupOf({{11, Verdict::kDeadLetter}})});
  EXPECT_EQ(fold.done.ToText(), "01");
  ASSERT_EQ(fold.singles.size(), 1U);
  EXPECT_EQ(fold.singles[0].seq, 10);
}

TEST(AckFold, CumulativeAndRetryAreSingleVerdictsInTheOrderGiven) {
  const Folded fold = FoldOf({GroupOf({{10, Verdict::kCompleted, true}, {14, Verdict::kRetry}}),
                              GroupOf({{13, Verdict::kFailed, true}})});
  EXPECT_EQ(fold.done.ToText(), "1");
  ASSERT_EQ(fold.singles.size(), 4U);
  EXPECT_EQ(fold.singles[0].kind, engine::VerdictKind::kCumulative);
  EXPECT_EQ(fold.singles[0].seq, 10);
  EXPECT_EQ(fold.singles[1].kind, engine::VerdictKind::kRetry);
  EXPECT_EQ(fold.singles[2].kind, engine::VerdictKind::kFailed);
  EXPECT_EQ(fold.singles[3].kind, engine::VerdictKind::kCumulative);
  EXPECT_EQ(fold.singles[3].seq, 13);
  EXPECT_FALSE(IsRepeatable(fold));
  EXPECT_TRUE(IsRepeatable(FoldOf({GroupOf({{10, Verdict::kCompleted, true}})})));
}

TEST(AckFold, ACumulativeRetrySettlesOnlyWhatIsBeforeIt) {
  const Folded fold = FoldOf({GroupOf({{12, Verdict::kRetry, true}})});
  EXPECT_EQ(fold.done.ToText(), "");
  ASSERT_EQ(fold.singles.size(), 2U);
  EXPECT_EQ(fold.singles[0].kind, engine::VerdictKind::kRetry);
  EXPECT_EQ(fold.singles[1].kind, engine::VerdictKind::kBefore);
  EXPECT_EQ(fold.singles[1].seq, 12);
  EXPECT_FALSE(IsRepeatable(fold));
}

TEST(AckFold, WhatIsTooFarAwayWaitsForTheNextFold) {
  std::vector<AckGroup> groups{GroupOf({{5}, {5 + kAckSpanMax - 1}, {5 + kAckSpanMax}})};
  std::vector<AckGroup> too_far;
  const engine::Verdicts fold = Fold(groups, too_far);
  EXPECT_EQ(fold.done.ToText().size(), static_cast<size_t>(kAckSpanMax));
  ASSERT_EQ(too_far.size(), 1U);
  EXPECT_EQ(too_far[0].items, std::vector<uint32_t>{2});
  EXPECT_EQ(groups[0].items, (std::vector<uint32_t>{0, 1}));
}

TEST(AckFold, AGroupThatIsTooFarAwayAsAWholeWaitsAsAWhole) {
  std::vector<AckGroup> groups{GroupOf({{5 + kAckSpanMax}}), GroupOf({{5}})};
  const auto far_call = groups[0].call;
  std::vector<AckGroup> too_far;
  const engine::Verdicts fold = Fold(groups, too_far);
  EXPECT_EQ(fold.done.ToText(), "1");
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].items, std::vector<uint32_t>{0});
  ASSERT_EQ(too_far.size(), 1U);
  EXPECT_EQ(too_far[0].call, far_call);
}

// A call with one item per lease; nullopt names none.
std::shared_ptr<AckCall> CallOf(const std::vector<std::optional<Uuid>>& leases) {
  auto call = std::make_shared<AckCall>();
  for (const auto& lease : leases) {
    AckItem item;
    item.lease_id = lease;
    call->request.items.push_back(std::move(item));
  }
  return call;
}

std::deque<AckGroup> JoinAll(const std::vector<std::shared_ptr<AckCall>>& calls) {
  std::deque<AckGroup> groups;
  for (const auto& call : calls) {
    for (uint32_t i = 0; i < call->request.items.size(); ++i) {
      Join(groups, call, call->request.items[i].lease_id).items.push_back(i);
    }
  }
  return groups;
}

TEST(AckJoin, OneGroupPerLeaseAndCall) {
  const Uuid lease = MakeUuidV7();
  const Uuid other = MakeUuidV7();
  const auto call = CallOf({lease, other, lease});
  const auto groups = JoinAll({call, CallOf({lease})});
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].items, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(groups[1].items, (std::vector<uint32_t>{1}));
  EXPECT_TRUE(call->several_leases);
  EXPECT_FALSE(groups[2].call->several_leases);
}

TEST(AckJoin, AnItemWithoutALeaseTravelsWithOneThatHasIt) {
  const Uuid lease = MakeUuidV7();
  for (const auto& leases : {std::vector<std::optional<Uuid>>{lease, std::nullopt},
                             std::vector<std::optional<Uuid>>{std::nullopt, lease}}) {
    const auto call = CallOf(leases);
    const auto groups = JoinAll({call});
    ASSERT_EQ(groups.size(), 1U);
    EXPECT_EQ(groups[0].lease_id, lease);
    EXPECT_FALSE(call->several_leases);
  }
}

// Whichever of the leases is current: the items without one are applied in the same step as its
// own, or one step could end the lease before the other is judged.
TEST(AckJoin, AfterARefusalItemsWithoutALeaseGoOnToTheNextOneNamed) {
  const Uuid old = MakeUuidV7();
  const Uuid current = MakeUuidV7();
  const auto call = CallOf({old, std::nullopt, current, std::nullopt});
  auto groups = JoinAll({call});
  ASSERT_EQ(groups.size(), 2U);
  AckGroup refused = std::move(groups.front());
  groups.pop_front();
  EXPECT_EQ(refused.items, (std::vector<uint32_t>{0, 1, 3}));
  PassOn(refused, groups);
  EXPECT_EQ(refused.items, (std::vector<uint32_t>{0}));
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].lease_id, current);
  EXPECT_EQ(groups[0].items, (std::vector<uint32_t>{1, 2, 3}));
}

TEST(AckJoin, AfterTheLastRefusalItemsWithoutALeaseGoAlone) {
  const Uuid lease = MakeUuidV7();
  auto groups = JoinAll({CallOf({lease, std::nullopt}), CallOf({std::nullopt})});
  ASSERT_EQ(groups.size(), 2U);
  AckGroup refused = std::move(groups.front());
  groups.front() = {refused.call, lease, {0}, false};  // what was too far away for the first fold
  PassOn(refused, groups);
  EXPECT_EQ(refused.items, (std::vector<uint32_t>{0}));
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].lease_id, std::nullopt);
  EXPECT_EQ(groups[0].items, (std::vector<uint32_t>{1}));
}

TEST(AckJudge, SettledIsSuccessBeforeTheLeaseIsLookedAt) {
  AckAnswer answer{AckAnswer::State::kRefused, 10, engine::Bitmap("010"), 0, false, {}};
  EXPECT_TRUE(Judge(answer, 9, false).success);
  EXPECT_EQ(Judge(answer, 10, false).error, "Invalid or expired lease");
  EXPECT_TRUE(Judge(answer, 11, false).success);
  EXPECT_FALSE(Judge(answer, 12, false).success);
  EXPECT_FALSE(Judge(answer, 13, false).success);
}

TEST(AckJudge, OnlyWhatWasDeliveredUnderTheLeaseIsAccepted) {
  AckAnswer answer{AckAnswer::State::kApplied, 10, engine::Bitmap(""), 13, true, {11}};
  EXPECT_TRUE(Judge(answer, 10, false).success);
  EXPECT_TRUE(Judge(answer, 10, false).lease_released);
  EXPECT_TRUE(Judge(answer, 11, false).dead_lettered);
  EXPECT_FALSE(Judge(answer, 13, false).success);
  EXPECT_FALSE(Judge(answer, 9, false).lease_released);
}

TEST(AckJudge, ACumulativeAckOfASettledMessageMayEndTheLease) {
  AckAnswer answer{AckAnswer::State::kApplied, 10, engine::Bitmap("001"), 13, true, {}};
  EXPECT_TRUE(Judge(answer, 12, true).success);
  EXPECT_TRUE(Judge(answer, 12, true).lease_released);
  EXPECT_FALSE(Judge(answer, 12, false).lease_released);
  EXPECT_FALSE(Judge(answer, 9, true).lease_released) << "nothing was before it";
  answer.state = AckAnswer::State::kRefused;
  EXPECT_TRUE(Judge(answer, 12, true).success);
  EXPECT_FALSE(Judge(answer, 12, true).lease_released);
}

TEST(AckJudge, AGroupThatNeverLeasedIsRefused) {
  const AckAnswer answer{
      AckAnswer::State::kRefused, std::nullopt, engine::Bitmap(""), 0, false, {}};
  EXPECT_EQ(Judge(answer, 0, false).error, "Invalid or expired lease");
  EXPECT_EQ(Judge(AckAnswer{}, 0, false).error, "Message not found");
}

}  // namespace
}  // namespace queen::sidecar
