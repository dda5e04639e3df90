#include "api/pop.h"

#include <gtest/gtest.h>

#include <map>

#include "api/late_reply.h"
#include "api/test_api.h"
#include "api/waiting_callers.h"
#include "base/clock.h"

namespace queen::api {
namespace {

using sidecar::PopRequest;
using sidecar::PopResult;
using sidecar::StartMode;

constexpr std::string_view kPath = "/api/v1/pop/queue/orders";

class PopTest : public ApiTest {
 protected:
  // Sends a pop that reaches the engine.
  PopRequest Parsed(std::string_view target) {
    const size_t before = engine_.pops.size();
    Send("GET", target);
    EXPECT_EQ(engine_.pops.size(), before + 1) << target << " -> " << Answer();
    return engine_.pops.size() > before ? engine_.pops.back() : PopRequest();
  }
  PopRequest With(std::string_view query) { return Parsed(fmt::format("{}?{}", kPath, query)); }
  std::string Refused(std::string_view query) {
    return Ask("GET", fmt::format("{}?{}", kPath, query));
  }

  static PopResult OneMessage() {
    auto segment = std::make_shared<storage::Segment>();
    segment->partition = {3};
    segment->count = 1;
    segment->created_micros = 1'769'898'605'000'042;
    segment->payloads = "7";
    PopResult result;
    result.deliveries.push_back({.partition = {3},
                                 .queue_name = "orders",
                                 .partition_name = "Default",
                                 .cursor = 0,
                                 .end = 1,
                                 .settled = {},
                                 .failures = {},
                                 .segments = {segment}});
    return result;
  }

  // Turns the loop until the answer is there; how long that took.
  int64_t MillisUntilAnswered() {
    const int64_t start = SteadyMillis();
    while (!answered() && SteadyMillis() - start < 10'000) uv_run(loop_.uv(), UV_RUN_ONCE);
    return SteadyMillis() - start;
  }
};

TEST_F(PopTest, Defaults) {
  const PopRequest pop = Parsed(kPath);
  EXPECT_EQ(pop.queue, "orders");
  EXPECT_EQ(pop.partition, std::nullopt);
  EXPECT_EQ(pop.namespace_name, std::nullopt);
  EXPECT_EQ(pop.task, std::nullopt);
  EXPECT_EQ(pop.group, "__QUEUE_MODE__");
  EXPECT_EQ(pop.batch, 1);
  EXPECT_EQ(pop.partitions_max, 1);
  EXPECT_EQ(pop.lease_seconds, 0);
  EXPECT_FALSE(pop.auto_ack);
  EXPECT_EQ(pop.start_mode, StartMode::kAll);
  EXPECT_EQ(pop.wait_ms, 0);
}

TEST_F(PopTest, PathsNameQueueAndPartition) {
  const PopRequest pop =
      Parsed("/api/v1/pop/queue/a%22b%2F%C3%A9/partition/p%201?namespace=n&task=t");
  EXPECT_EQ(pop.queue, "a\"b/\xC3\xA9");
  EXPECT_EQ(pop.partition, "p 1");
  EXPECT_EQ(pop.namespace_name, std::nullopt);
  EXPECT_EQ(pop.task, std::nullopt);
}

TEST_F(PopTest, NamespaceAndTask) {
  PopRequest pop = Parsed("/api/v1/pop?namespace=n&task=t");
  EXPECT_EQ(pop.queue, "");
  EXPECT_EQ(pop.namespace_name, "n");
  EXPECT_EQ(pop.task, "t");
  pop = Parsed("/api/v1/pop?namespace=&task=t");
  EXPECT_EQ(pop.namespace_name, std::nullopt);
  EXPECT_EQ(pop.task, "t");
  EXPECT_EQ(Ask("GET", "/api/v1/pop"), Refusal("namespace or task is required"));
}

TEST_F(PopTest, Parameters) {
  const PopRequest pop = With(
      "batch=50&partitions=4&leaseTime=90&autoAck=true&consumerGroup=a+b%26c&wait=1&timeout=2000"
      "&subscriptionMode=new&unknown=%25");
  EXPECT_EQ(pop.batch, 50);
  EXPECT_EQ(pop.partitions_max, 4);
  EXPECT_EQ(pop.lease_seconds, 90);
  EXPECT_TRUE(pop.auto_ack);
  EXPECT_EQ(pop.group, "a b&c");
  EXPECT_EQ(pop.wait_ms, 2000);
  EXPECT_EQ(pop.start_mode, StartMode::kNew);
  EXPECT_EQ(With("consumerGroup=").group, "__QUEUE_MODE__");
  EXPECT_FALSE(With("autoAck=False&wait=false").auto_ack);
  EXPECT_TRUE(With("autoAck=True&wait=").auto_ack);
}

TEST_F(PopTest, NumbersAreMovedIntoTheirRange) {
  EXPECT_EQ(With("batch=0").batch, 1);
  EXPECT_EQ(With("batch=-5").batch, 1);
  EXPECT_EQ(With("batch=10000").batch, 10'000);
  EXPECT_EQ(With("batch=9223372036854775807").batch, 10'000);
  EXPECT_EQ(With("partitions=0").partitions_max, 1);
  EXPECT_EQ(With("partitions=99999").partitions_max, 10'000);
  EXPECT_EQ(With("leaseTime=-1").lease_seconds, 0);
  EXPECT_EQ(With("leaseTime=99999999999").lease_seconds, 31'536'000);
}

TEST_F(PopTest, LongPollsAnswerBeforeTheirClientGivesUp) {
  EXPECT_EQ(With("timeout=2000").wait_ms, 0);
  EXPECT_EQ(With("wait=true").wait_ms, 29'500);
  EXPECT_EQ(With("wait=true&timeout=0").wait_ms, 0);
  EXPECT_EQ(With("wait=true&timeout=-1").wait_ms, 0);
  EXPECT_EQ(With("wait=true&timeout=4999").wait_ms, 4999);
  EXPECT_EQ(With("wait=true&timeout=5000").wait_ms, 4500);
  EXPECT_EQ(With("wait=true&timeout=600000").wait_ms, 599'500);
  EXPECT_EQ(With("wait=true&timeout=99999999").wait_ms, 599'500);
}

TEST_F(PopTest, RefusalsNameTheParameter) {
  for (const std::string_view name : {"batch", "partitions", "timeout", "leaseTime"}) {
    for (const std::string_view value : {"", "x", "1.5", "1e3", "12a", "99999999999999999999"}) {
      const std::string answer = Refused(fmt::format("{}={}", name, value));
      EXPECT_TRUE(answer.starts_with("400 ")) << answer;
      EXPECT_NE(answer.find(fmt::format("\\\"{}\\\"", name)), answer.npos) << answer;
    }
  }
  EXPECT_EQ(Refused("subscriptionMode=latest"),
            Refusal("subscriptionMode must be all, from_beginning, new or new-only"));
  EXPECT_EQ(Refused("subscriptionFrom=soon"),
            Refusal("subscriptionFrom must be now, an RFC 3339 time, a date, or <n>{s,m,h,d} ago"));
  EXPECT_EQ(Refused("consumerGroup=a%0Ab"),
            Refusal("consumerGroup must not contain control characters"));
  EXPECT_EQ(Refused("consumerGroup=" + std::string(256, 'g')),
            Refusal("consumerGroup must not be longer than 255 bytes"));
  EXPECT_EQ(Ask("GET", "/api/v1/pop/queue/" + std::string(256, 'q')),
            Refusal("queue must not be longer than 255 bytes"));
  EXPECT_EQ(Ask("GET", "/api/v1/pop/queue/q/partition/a%09b"),
            Refusal("partition must not contain control characters"));
  EXPECT_EQ(Ask("GET", "/api/v1/pop?namespace=%01"),
            Refusal("namespace must not contain control characters"));
  EXPECT_TRUE(engine_.pops.empty());
}

TEST_F(PopTest, SubscriptionsAreForGroups) {
  EXPECT_EQ(With("consumerGroup=g&subscriptionFrom=now").start_mode, StartMode::kNew);
  const PopRequest pop = With("consumerGroup=g&subscriptionFrom=1970-01-01T02:00:01+02:00");
  EXPECT_EQ(pop.start_mode, StartMode::kTime);
  EXPECT_EQ(pop.start_micros, 1'000'000);
  EXPECT_EQ(With("consumerGroup=g&subscriptionFrom=1h+ago").start_mode, StartMode::kTime);
  EXPECT_EQ(With("subscriptionMode=new").start_mode, StartMode::kAll);
  EXPECT_EQ(With("consumerGroup=__QUEUE_MODE__&subscriptionMode=new").start_mode, StartMode::kAll);
  EXPECT_TRUE(Refused("subscriptionFrom=soon").starts_with("400"));
}

TEST_F(PopTest, AnswersOnceTheEngineHas) {
  With("wait=true&consumerGroup=g");
  EXPECT_FALSE(answered());
  engine_.pop_done(OneMessage());
  EXPECT_EQ(response().status, 200);
  EXPECT_NE(response().body.find(R"("consumerGroup":"g")"), std::string::npos);
  EXPECT_EQ(engine_.cancelled, 0);
}

TEST_F(PopTest, AnswersFromWithinTheEngine) {
  engine_.pop_at_once = OneMessage();
  Send("GET", kPath);
  EXPECT_EQ(response().status, 200);
  EXPECT_TRUE(target_->on_disconnect.empty());
}

TEST_F(PopTest, NothingIsA204) {
  With("");
  engine_.pop_done(PopResult());
  EXPECT_EQ(Answer(), "204 ");
  EXPECT_FALSE(response().HasHeader("Queen-Paused"));
}

TEST_F(PopTest, PausedPopsSaySo) {
  context_.pop_paused = [] { return true; };
  With("");
  engine_.pop_done(PopResult());
  EXPECT_EQ(response().status, 204);
  ASSERT_EQ(response().headers.size(), 1U);
  EXPECT_EQ(response().headers[0], (std::pair<std::string, std::string>("Queen-Paused", "pop")));
}

TEST_F(PopTest, AClientThatLeavesCancelsItsPop) {
  With("wait=true");
  ASSERT_EQ(target_->on_disconnect.size(), 1U);
  target_->on_disconnect[1]();
  EXPECT_EQ(engine_.cancelled, 1);
}

TEST_F(PopTest, WhatArrivesForAClientThatHasGoneIsGivenBack) {
  With("wait=true&consumerGroup=g");
  target_->is_connected = false;
  PopResult leased = OneMessage();
  leased.leased = true;
  engine_.pop_done(std::move(leased));
  ASSERT_EQ(engine_.given_back.size(), 1U);
  EXPECT_EQ(engine_.given_back[0].first, "g");
  EXPECT_EQ(engine_.given_back[0].second.deliveries.size(), 1U);
  EXPECT_EQ(Answer(), "204 ");
}

TEST_F(PopTest, AnAutomaticAckHasNothingToGiveBack) {
  With("autoAck=true");
  target_->is_connected = false;
  PopResult settled = OneMessage();
  settled.leased = false;
  engine_.pop_done(std::move(settled));
  EXPECT_TRUE(engine_.given_back.empty());
  EXPECT_EQ(response().status, 200);
}

TEST_F(PopTest, ErrorsOfTheEngine) {
  With("wait=true");
  engine_.pop_done(Status(Code::kDatabaseUnavailable));
  EXPECT_EQ(response().status, 503);
  With("wait=true");
  engine_.pop_done(Status(Code::kTooManyRequests, "Slow down"));
  EXPECT_EQ(
      Answer(),
      R"~(503 {"error":"Slow down: Connection refused (ECONNREFUSED)","code":"overloaded"})~");
}

TEST_F(PopTest, RefusalsOfWaitingPopsTakeASecond) {
  Send("GET", "/api/v1/pop/queue/q?wait=true&batch=x");
  EXPECT_FALSE(answered());
  EXPECT_GE(MillisUntilAnswered(), 950);
  EXPECT_EQ(response().status, 400);
  Send("GET", "/api/v1/pop/queue/q?wait=yes");  // who writes that means to wait
  EXPECT_FALSE(answered());
  MillisUntilAnswered();
  EXPECT_EQ(Answer(), Refusal("The query parameter \\\"wait\\\" must be true or false"));
}

TEST_F(PopTest, RefusalsOfGoneClientsAreForgotten) {
  Send("GET", "/api/v1/pop/queue/q?wait=true&batch=x");
  ASSERT_EQ(target_->on_disconnect.size(), 1U);
  const auto callback =
      std::make_unique<UniqueFunction<void()>>(std::move(target_->on_disconnect[1]));
  (*callback)();
  EXPECT_FALSE(answered());
  EXPECT_EQ(target_->abandoned[1], 1);
}

class WaitingPopTest : public PopTest {
 protected:
  WaitingPopTest() {
    context_.authenticate = [this](std::optional<std::string_view> header) {
      return Authenticate(std::string(header.value_or("")));
    };
    context_.waiting = WaitingCallers::Make(
        {.authenticate = [this](const std::string& header) { return Authenticate(header); },
         .generation = [this] { return generation_; },
         .now_seconds = [this] { return now_; }});
  }

  Result<auth::IdentityRef> Authenticate(const std::string& header) {
    ++asked_;
    const auto found = tokens_.find(header);
    if (found == tokens_.end() || found->second.until_seconds <= now_) {
      return Status(Code::kUnauthenticated, "Unknown or revoked token");
    }
    return auth::IdentityRef(std::make_shared<const auth::Identity>(found->second));
  }
  void Wait(std::string_view token) {
    Send("GET", "/api/v1/pop/queue/orders?wait=true&consumerGroup=g", "",
         fmt::format("Authorization: {}\r\n", token));
    ASSERT_FALSE(answered()) << Answer();
  }
  void Change() {
    ++generation_;
    context_.waiting->Look();
  }

  std::map<std::string, auth::Identity> tokens_{
      {"a", {.role = auth::Role::kReadWrite, .subject = "a"}},
      {"b", {.role = auth::Role::kReadWrite, .subject = "b", .until_seconds = 100}}};
  uint64_t generation_ = 1;
  int64_t now_ = 0;
  int asked_ = 0;
};

TEST_F(WaitingPopTest, ARevokedTokenEndsTheWait) {
  Wait("a");
  Change();
  EXPECT_EQ(engine_.cancelled, 0);
  tokens_.erase("a");
  Change();
  EXPECT_EQ(engine_.cancelled, 1);
  engine_.pop_done(PopResult{});
  MillisUntilAnswered();
  EXPECT_EQ(Answer(), R"(401 {"error":"Unknown or revoked token","code":"unauthenticated"})");
  EXPECT_EQ(context_.waiting->size(), 0U);
}

TEST_F(WaitingPopTest, WhatArrivesForARevokedTokenIsGivenBack) {
  Wait("a");
  tokens_.erase("a");
  ++generation_;
  PopResult result = OneMessage();
  result.leased = true;
  engine_.pop_done(std::move(result));
  ASSERT_EQ(engine_.given_back.size(), 1U);
  MillisUntilAnswered();
  EXPECT_EQ(response().status, 401);
}

TEST_F(WaitingPopTest, ATokenThatExpiresEndsTheWait) {
  Wait("b");
  const int asked = asked_;
  now_ = 99;
  context_.waiting->Look();
  EXPECT_EQ(asked_, asked) << "nobody is asked without a reason";
  now_ = 100;
  context_.waiting->Look();
  EXPECT_EQ(engine_.cancelled, 1);
}

TEST_F(WaitingPopTest, ATokenThatLosesItsQueueEndsTheWait) {
  Wait("a");
  tokens_["a"].queues = {.limited = true, .pop = {"mail"}};
  Change();
  EXPECT_EQ(engine_.cancelled, 1);
  engine_.pop_done(PopResult{});
  MillisUntilAnswered();
  EXPECT_EQ(response().status, 403);
}

TEST_F(WaitingPopTest, OthersGoOnWaitingAndWhoIsAnsweredIsForgotten) {
  Wait("b");
  const auto waits = target_;
  const sidecar::PopDone kept = std::move(engine_.pop_done);
  Wait("a");
  EXPECT_EQ(context_.waiting->size(), 2U);
  engine_.pop_done(OneMessage());
  EXPECT_EQ(response().status, 200);
  EXPECT_EQ(context_.waiting->size(), 1U);
  tokens_.erase("a");
  Change();
  EXPECT_EQ(engine_.cancelled, 0);
  EXPECT_TRUE(waits->responses.empty());
}

TEST_F(PopTest, HeadTakesNothing) {
  EXPECT_EQ(Ask("HEAD", kPath),
            R"(405 {"error":"Method not allowed","code":"method_not_allowed"})");
  EXPECT_TRUE(engine_.pops.empty());
}

TEST_F(PopTest, WhatTheRouterRefusesIsLateToo) {
  for (const char* target :
       {"/api/v1/pop/queue/%zz?wait=true", "/api/v1/pop/queue/q?consumerGroup=%zz&wait=1",
        "/api/v1/pop/queue/?wait=True"}) {
    Send("GET", target);
    EXPECT_FALSE(answered()) << target;
    MillisUntilAnswered();
    EXPECT_EQ(response().status / 100, 4) << target;
  }
  Send("GET", "/api/v1/pop/queue/%zz?wait=false");
  EXPECT_TRUE(answered());
  Send("GET", "/api/v1/nowhere?wait=true");
  EXPECT_TRUE(answered());
}

}  // namespace
}  // namespace queen::api
