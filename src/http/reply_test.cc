#include "http/reply.h"

#include <gtest/gtest.h>

#include <optional>

#include "http/pipeline.h"
#include "http/reply_budget.h"
#include "http/test_target.h"

namespace queen::http {
namespace {

TEST(Reply, DeliversOnceAndIsThenEmpty) {
  const auto target = std::make_shared<TestTarget>();
  {
    Reply reply(target, 5);
    EXPECT_TRUE(reply);
    EXPECT_TRUE(reply.connected());
    reply.Send(Response::Json(200, "{}"));
    EXPECT_FALSE(reply);
    EXPECT_FALSE(reply.connected());
  }
  EXPECT_EQ(target->responses.at(5).body, "{}");
  EXPECT_TRUE(target->abandoned.empty());
}

TEST(Reply, DestroyedUnsentIsAbandonedOnce) {
  const auto target = std::make_shared<TestTarget>();
  {
    Reply first(target, 1);
    Reply second = std::move(first);
    Reply third(target, 3);
    third = std::move(second);
    EXPECT_EQ(target->abandoned[3], 1);
    EXPECT_EQ(target->abandoned[1], 0);
  }
  EXPECT_EQ(target->abandoned[1], 1);
  EXPECT_EQ(target->abandoned[3], 1);
}

TEST(Reply, TheDisconnectCallbackMayDestroyTheReply) {
  const auto target = std::make_shared<TestTarget>();
  std::optional<Reply> reply(std::in_place, target, 1);
  reply->OnDisconnect([&] { reply.reset(); });
  target->on_disconnect[1]();
  EXPECT_EQ(target->abandoned[1], 1);
}

Response Numbered(int number) { return Response::Json(200, std::to_string(number)); }

std::string Drain(Pipeline& pipeline) {
  std::string bodies;
  while (auto slot = pipeline.TakeFront()) bodies += slot->response.body;
  return bodies;
}

TEST(Pipeline, RepliesLeaveInTheOrderOfTheirRequests) {
  Pipeline pipeline;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(pipeline.Begin({}), static_cast<uint64_t>(i));
  pipeline.Answer(2, Numbered(2));
  pipeline.Answer(1, Numbered(1));
  EXPECT_EQ(Drain(pipeline), "");
  pipeline.Answer(0, Numbered(0));
  EXPECT_EQ(Drain(pipeline), "012");
  EXPECT_EQ(pipeline.size(), 1U);
  pipeline.Answer(3, Numbered(3));
  EXPECT_EQ(Drain(pipeline), "3");
  EXPECT_TRUE(pipeline.empty());
}

TEST(Pipeline, ALongRunNeverMixesSlots) {
  Pipeline pipeline;
  uint64_t next_answer = 0;
  std::string seen;
  std::string expected;
  for (uint64_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(pipeline.Begin({.request_bytes = 3}), i);
    expected += std::to_string(i);
    if (i % 7 == 6) {
      // Answered back to front.
      for (uint64_t j = i + 1; j-- > next_answer;)
        pipeline.Answer(j, Numbered(static_cast<int>(j)));
      next_answer = i + 1;
      seen += Drain(pipeline);
      EXPECT_EQ(pipeline.request_bytes(), 0U);
    }
  }
  EXPECT_EQ(seen, expected.substr(0, seen.size()));
  EXPECT_EQ(pipeline.size(), 1000U % 7U);
}

TEST(Pipeline, SlotsThatLeftAreNotFound) {
  Pipeline pipeline;
  const uint64_t first = pipeline.Begin({});
  pipeline.Answer(first, Numbered(1));
  EXPECT_EQ(Drain(pipeline), "1");
  EXPECT_EQ(pipeline.Find(first), nullptr);
  EXPECT_EQ(pipeline.Find(first + 1), nullptr);
  const uint64_t second = pipeline.Begin({});
  pipeline.Clear();
  EXPECT_EQ(pipeline.Find(second), nullptr);
  EXPECT_GT(pipeline.Begin({}), second);
}

TEST(Pipeline, DisconnectCallbacksAreGivenOutOnce) {
  Pipeline pipeline;
  const uint64_t waiting = pipeline.Begin({});
  const uint64_t answered = pipeline.Begin({});
  int calls = 0;
  pipeline.Find(waiting)->on_disconnect = [&] { ++calls; };
  pipeline.Find(answered)->on_disconnect = [&] { calls += 100; };
  pipeline.Answer(answered, Numbered(1));
  for (auto& callback : pipeline.TakeDisconnectCallbacks()) callback();
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(pipeline.Find(waiting)->disconnect_told);
  EXPECT_TRUE(pipeline.TakeDisconnectCallbacks().empty());
}

TEST(Pipeline, ADroppedSlotWaitsForThoseBeforeIt) {
  Pipeline pipeline;
  const uint64_t first = pipeline.Begin({});
  const uint64_t second = pipeline.Begin({});
  pipeline.Drop(second);
  EXPECT_FALSE(pipeline.TakeFront().has_value());
  pipeline.Answer(first, Numbered(1));
  EXPECT_EQ(pipeline.TakeFront()->state, Pipeline::Slot::State::kAnswered);
  EXPECT_EQ(pipeline.TakeFront()->state, Pipeline::Slot::State::kDropped);
}

constexpr size_t kMiB = size_t{1} << 20;

TEST(ReplyBudget, LargeRepliesMayHaveThreeQuarters) {
  ReplyBudget budget(4 * kMiB);
  EXPECT_TRUE(budget.TryTake(2 * kMiB));
  EXPECT_EQ(budget.large_free(), kMiB);
  EXPECT_FALSE(budget.TryTake(kMiB + 1));
  EXPECT_TRUE(budget.TryTake(kMiB));
  EXPECT_EQ(budget.large_free(), 0U);
  EXPECT_FALSE(budget.TryTake(ReplyBudget::kSmallBytes + 1));
}

TEST(ReplyBudget, SmallRepliesFindRoomBesideThem) {
  ReplyBudget budget(4 * kMiB);
  EXPECT_TRUE(budget.TryTake(3 * kMiB));
  for (size_t i = 0; i < kMiB / ReplyBudget::kSmallBytes; ++i) {
    EXPECT_FALSE(budget.full());
    EXPECT_TRUE(budget.TryTake(ReplyBudget::kSmallBytes));
  }
  EXPECT_TRUE(budget.full());
  EXPECT_FALSE(budget.TryTake(1));
}

TEST(ReplyBudget, OneReplyIsLetInWhateverItsSize) {
  ReplyBudget budget(kMiB);
  EXPECT_TRUE(budget.TryTake(64 * kMiB));
  EXPECT_FALSE(budget.TryTake(64 * kMiB));
  budget.Resize(64 * kMiB, 0);
  EXPECT_TRUE(budget.TryTake(64 * kMiB));
}

TEST(ReplyBudget, RoomIsReturnedWhenThereIsLessToSend) {
  ReplyBudget budget(4 * kMiB);
  EXPECT_TRUE(budget.TryTake(3 * kMiB));
  budget.Resize(3 * kMiB, 1000);  // it is small after all
  EXPECT_EQ(budget.large_free(), 3 * kMiB);
  EXPECT_EQ(budget.held(), 1000U);
  budget.Resize(1000, 0);
  EXPECT_EQ(budget.held(), 0U);
}

TEST(ReplyBudget, OtherLargeRepliesMayHaveSevenEighths) {
  EXPECT_EQ(ReplyBudget(1).largest(), ReplyBudget::kSmallBytes);
  ReplyBudget budget(8 * kMiB);
  EXPECT_EQ(budget.largest(), 7 * kMiB);
  ASSERT_TRUE(budget.TryTake(6 * kMiB));  // all that pops may have
  EXPECT_FALSE(budget.TryChange(0, kMiB + 1));
  EXPECT_EQ(budget.held(), 6 * kMiB);
  EXPECT_TRUE(budget.TryChange(0, kMiB));
  EXPECT_FALSE(budget.TryChange(0, ReplyBudget::kSmallBytes + 1));
  EXPECT_FALSE(budget.TryChange(kMiB, kMiB + 1));
  // A connection with little costs nothing, a small pop finds room, and less is always well.
  EXPECT_TRUE(budget.TryChange(0, ReplyBudget::kSmallBytes));
  EXPECT_TRUE(budget.TryTake(ReplyBudget::kSmallBytes));
  EXPECT_TRUE(budget.TryChange(kMiB, ReplyBudget::kSmallBytes));
  EXPECT_EQ(budget.held(), 6 * kMiB + ReplyBudget::kSmallBytes);
}

TEST(ReplyBudget, PagesMayHaveAQuarterTogetherAndOneMoreAlone) {
  EXPECT_EQ(ReplyBudget(1).largest_page(), ReplyBudget::kSmallBytes);
  ReplyBudget budget(8 * kMiB);
  EXPECT_FALSE(budget.TryTakePage(5 * kMiB + 1));
  EXPECT_TRUE(budget.TryTakePage(5 * kMiB));
  EXPECT_FALSE(budget.TryTakePage(1));
  budget.ReturnPages(5 * kMiB);
  EXPECT_TRUE(budget.TryTakePage(kMiB));
  EXPECT_TRUE(budget.TryTakePage(kMiB));
  EXPECT_FALSE(budget.TryTakePage(1));
}

TEST(ReplyBudget, WhatAConnectionHoldsCountsAmongTheLarge) {
  ReplyBudget budget(4 * kMiB);
  budget.Change(0, ReplyBudget::kSmallBytes);
  EXPECT_EQ(budget.held(), 0U);
  budget.Change(ReplyBudget::kSmallBytes, 3 * kMiB);
  EXPECT_FALSE(budget.TryTake(ReplyBudget::kSmallBytes + 1));
  EXPECT_TRUE(budget.TryTake(ReplyBudget::kSmallBytes));
  budget.Change(3 * kMiB, 0);
  EXPECT_TRUE(budget.TryTake(3 * kMiB));
}

TEST(ReplyBudget, WhatTheFirstInOrderNeedsIsLeftFree) {
  ReplyBudget budget(4 * kMiB);
  ASSERT_TRUE(budget.TryTake(2 * kMiB));
  const uint64_t first = budget.order().Join(2 * kMiB);
  EXPECT_FALSE(budget.TryTake(2 * kMiB, first));
  EXPECT_EQ(budget.large_free(), 0U);
  EXPECT_FALSE(budget.TryTake(kMiB));
  EXPECT_TRUE(budget.TryTake(ReplyBudget::kSmallBytes));
  budget.Resize(2 * kMiB, 0);
  EXPECT_FALSE(budget.TryTake(kMiB + 1));
  EXPECT_TRUE(budget.TryTake(kMiB));  // beside it
  EXPECT_TRUE(budget.TryTake(2 * kMiB, first));
  budget.order().Leave(first);
  budget.Resize(2 * kMiB, 0);
  EXPECT_EQ(budget.large_free(), 2 * kMiB);
}

TEST(ReplyBudget, TheOrderIsThatOfComing) {
  ReplyBudget budget(4 * kMiB);
  const uint64_t first = budget.order().Join(2 * kMiB);
  const uint64_t second = budget.order().Join(3 * kMiB);
  EXPECT_FALSE(budget.TryTake(3 * kMiB, second));
  EXPECT_TRUE(budget.TryTake(kMiB, second));  // beside the first
  budget.Resize(kMiB, 0);
  budget.order().Leave(first);
  EXPECT_EQ(budget.large_free(), 0U);
  EXPECT_TRUE(budget.TryTake(3 * kMiB, second));
  budget.Resize(3 * kMiB, 0);
  budget.order().Leave(second);
  EXPECT_EQ(budget.large_free(), 3 * kMiB);
}

TEST(ReplyBudget, WhoLeavesFromTheMiddleChangesNothingForTheFirst) {
  ReplyBudget budget(4 * kMiB);
  const uint64_t first = budget.order().Join(kMiB);
  const uint64_t second = budget.order().Join(3 * kMiB);
  budget.order().Leave(second);
  EXPECT_EQ(budget.large_free(), 2 * kMiB);
  budget.order().Change(first, 2 * kMiB);
  EXPECT_EQ(budget.large_free(), kMiB);
}

TEST(ReplyBudget, OneThatNeedsMoreThanThereIsComesNextAsWell) {
  ReplyBudget budget(kMiB);
  const uint64_t first = budget.order().Join(5 * kMiB);
  EXPECT_FALSE(budget.TryTake(ReplyBudget::kSmallBytes + 1));
  EXPECT_TRUE(budget.TryTake(5 * kMiB, first));
}

}  // namespace
}  // namespace queen::http
