// Which queues a pattern names, and what a token with patterns may do.

#include "auth/queue_pattern.h"

#include <gtest/gtest.h>

#include <string>

#include "auth/identity.h"

namespace queen::auth {
namespace {

TEST(QueuePatternTest, AStarIsAnyCharacters) {
  EXPECT_TRUE(MatchesPattern("orders", "orders"));
  EXPECT_TRUE(MatchesPattern("orders.*", "orders.eu"));
  EXPECT_TRUE(MatchesPattern("orders.*", "orders.eu.paid"));
  EXPECT_TRUE(MatchesPattern("orders.*", "orders."));
  EXPECT_TRUE(MatchesPattern("*", ""));
  EXPECT_TRUE(MatchesPattern("*", "anything"));
  EXPECT_TRUE(MatchesPattern("*.paid", "orders.eu.paid"));
  EXPECT_TRUE(MatchesPattern("a*b*c", "axbxbxc"));
  EXPECT_TRUE(MatchesPattern("**", "x"));
  EXPECT_FALSE(MatchesPattern("orders.*", "orders"));
  EXPECT_FALSE(MatchesPattern("orders.*", "orders-eu"));
  EXPECT_FALSE(MatchesPattern("orders", "orders.eu"));
  EXPECT_FALSE(MatchesPattern("orders", "Orders"));
  EXPECT_FALSE(MatchesPattern("", "x"));
  EXPECT_FALSE(MatchesPattern("a*b*c", "axbx"));
  EXPECT_FALSE(MatchesPattern("o.d", "oxd"));
}

TEST(QueuePatternTest, ManyStarsTakeNoLongTime) {
  std::string pattern;
  for (int i = 0; i < 100; ++i) pattern += "*a";
  EXPECT_FALSE(MatchesPattern(pattern + "b", std::string(255, 'a')));
}

TEST(QueueLimitsTest, WhatIsLeftOutIsNotAllowed) {
  const QueueLimits limits{.limited = true, .push = {"orders.*"}, .pop = {"mail"}, .admin = {}};
  EXPECT_TRUE(limits.Allow(Verb::kPush, "orders.eu"));
  EXPECT_FALSE(limits.Allow(Verb::kPop, "orders.eu"));
  EXPECT_TRUE(limits.Allow(Verb::kPop, "mail"));
  EXPECT_FALSE(limits.Allow(Verb::kAdmin, "mail"));
  EXPECT_TRUE(limits.Allow(Verb::kSee, "mail"));
  EXPECT_TRUE(limits.Allow(Verb::kSee, "orders.eu"));
  EXPECT_FALSE(limits.Allow(Verb::kSee, "secrets"));
  for (const Verb verb : {Verb::kSee, Verb::kPush, Verb::kPop, Verb::kAdmin}) {
    EXPECT_FALSE(limits.AllowAll(verb));
    EXPECT_TRUE(QueueLimits().AllowAll(verb));
    EXPECT_TRUE(QueueLimits().Allow(verb, "anything"));
    EXPECT_FALSE(
        (QueueLimits{.limited = true, .push = {}, .pop = {}, .admin = {}}.Allow(verb, "")));
  }
}

}  // namespace
}  // namespace queen::auth
