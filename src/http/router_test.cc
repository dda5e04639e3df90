#include "http/router.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "http/parser.h"
#include "http/test_target.h"

namespace queen::http {
namespace {

// Answers with the pattern's label and the parameters asked for.
Handler Label(std::string label, std::vector<std::string> parameters = {}) {
  return [label, parameters](Request request, Reply reply) {
    std::string body = label;
    for (const auto& name : parameters) body.append("|").append(request.Param(name));
    reply.Send(Response::Json(200, body));
  };
}

class RouterTest : public testing::Test {
 protected:
  RouterTest() {
    router_.Add(Method::kGet, "/", Label("root"));
    router_.Add(Method::kGet, "/livez", Label("livez"));
    router_.Add(Method::kPost, "/api/v1/push", Label("push"));
    router_.Add(Method::kGet, "/api/v1/pop", Label("pop"));
    router_.Add(Method::kGet, "/api/v1/pop/queue/:queue", Label("pop-queue", {"queue"}));
    router_.Add(Method::kGet, "/api/v1/pop/queue/:queue/partition/:partition",
                Label("pop-partition", {"queue", "partition"}));
    router_.Add(Method::kGet, "/api/v1/groups/lagging", Label("lagging"));
    router_.Add(Method::kGet, "/api/v1/groups/:group", Label("group", {"group"}));
    router_.Add(Method::kDelete, "/api/v1/groups/:group", Label("delete-group", {"group"}));
    router_.Add(Method::kGet, "/api/v1/traces/by-name/:name", Label("by-name", {"name"}));
    router_.Add(Method::kGet, "/api/v1/traces/:p/:t", Label("trace", {"p", "t"}));
    router_.Add(Method::kGet, "/assets/*file", Label("asset", {"file"}));
  }

  Response Ask(std::string_view method, std::string_view target) {
    auto request = ParseRequest(fmt::format("{} {} HTTP/1.1\r\nHost: x\r\n\r\n", method, target));
    if (!request.ok()) {
      ADD_FAILURE() << target << ": " << request.status().message();
      return {};
    }
    const auto target_of_reply = std::make_shared<TestTarget>();
    router_.Dispatch(*std::move(request), Reply(target_of_reply, 1));
    EXPECT_EQ(target_of_reply->responses.size(), 1U) << target;
    return target_of_reply->responses[1];
  }
  std::string Body(std::string_view target) { return Ask("GET", target).body; }
  int StatusOf(std::string_view target) { return Ask("GET", target).status; }

  Router router_;
};

TEST_F(RouterTest, MatchesWordsAndParameters) {
  EXPECT_EQ(Body("/"), "root");
  EXPECT_EQ(Body("/?a=1"), "root");
  EXPECT_EQ(Body("/livez"), "livez");
  EXPECT_EQ(Body("/api/v1/pop?batch=1"), "pop");
  EXPECT_EQ(Body("/api/v1/pop/queue/orders"), "pop-queue|orders");
  EXPECT_EQ(Body("/api/v1/pop/queue/orders/partition/7"), "pop-partition|orders|7");
  EXPECT_EQ(Body("http://host:1/api/v1/pop"), "pop");
}

TEST_F(RouterTest, NamesOfThePathMayStandInTheQuery) {
  EXPECT_EQ(Body("/api/v1/pop/queue/-?:queue=.."), "pop-queue|..");
  EXPECT_EQ(Body("/api/v1/pop/queue/-?%3Aqueue=a%2Fb&batch=1"), "pop-queue|a/b");
  EXPECT_EQ(Body("/api/v1/pop/queue/-?:queue="), "pop-queue|");
  EXPECT_EQ(Body("/api/v1/pop/queue/-/partition/7?:queue=."), "pop-partition|.|7");
  EXPECT_EQ(Body("/api/v1/pop/queue/orders/partition/-?:partition=."), "pop-partition|orders|.");
  EXPECT_EQ(Body("/api/v1/pop/queue/orders?:partition=7&queue=other"), "pop-queue|orders");
}

TEST_F(RouterTest, SegmentsAreDecodedAfterTheSplit) {
  EXPECT_EQ(Body("/api/v1/pop/queue/a%2Fb"), "pop-queue|a/b");
  EXPECT_EQ(Body("/api/v1/pop/queue/a+b%20%22%5C%26"), "pop-queue|a+b \"\\&");
  EXPECT_EQ(Body("/api/v1/pop/queue/%C3%A9"), "pop-queue|\xc3\xa9");
  EXPECT_EQ(Body("/api/v1/pop/queue/\xc3\xa9"), "pop-queue|\xc3\xa9");
  EXPECT_EQ(Body("/api/v1/p%6Fp"), "pop");
  EXPECT_EQ(Body("/api/v1/pop/queue/partition/partition/partition"),
            "pop-partition|partition|partition");
}

TEST_F(RouterTest, WordsWinButFallBackToParameters) {
  EXPECT_EQ(Body("/api/v1/groups/lagging"), "lagging");
  EXPECT_EQ(Body("/api/v1/groups/other"), "group|other");
  EXPECT_EQ(Ask("DELETE", "/api/v1/groups/lagging").body, "delete-group|lagging");
  EXPECT_EQ(Body("/api/v1/traces/by-name/x"), "by-name|x");
  EXPECT_EQ(Body("/api/v1/traces/a/x"), "trace|a|x");
}

TEST_F(RouterTest, ARestTakesWhatRemains) {
  EXPECT_EQ(Body("/assets/js/app.js"), "asset|js/app.js");
  EXPECT_EQ(Body("/assets/a%20b"), "asset|a b");
  EXPECT_EQ(StatusOf("/assets"), 404);
  EXPECT_EQ(StatusOf("/assets/"), 404);
}

TEST_F(RouterTest, EmptySegmentsMatchNothing) {
  EXPECT_EQ(StatusOf("/api/v1/pop/queue/"), 404);
  EXPECT_EQ(StatusOf("/api/v1/pop/queue//partition/x"), 404);
  EXPECT_EQ(StatusOf("//livez"), 404);
  EXPECT_EQ(StatusOf("/livez/"), 404);
}

TEST_F(RouterTest, UnknownPathsAreJson404) {
  const Response response = Ask("GET", "/nope");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.body, R"({"error":"No such route","code":"route_not_found"})");
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "/x";
  EXPECT_EQ(StatusOf(deep), 404);
  EXPECT_EQ(StatusOf("/assets" + deep), 404);
}

TEST_F(RouterTest, OtherMethodsAre405WithAllow) {
  const Response response = Ask("POST", "/api/v1/groups/lagging");
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(
      response.body,
      R"({"error":"Method not allowed; this path takes GET or DELETE","code":"method_not_allowed"})");
  ASSERT_EQ(response.headers.size(), 1U);
  EXPECT_EQ(response.headers[0].first, "Allow");
  EXPECT_EQ(response.headers[0].second, "OPTIONS, HEAD, GET, DELETE");
  EXPECT_EQ(Ask("GET", "/api/v1/push").headers[0].second, "OPTIONS, POST");
  EXPECT_EQ(Ask("TRACE", "/livez").status, 405);
}

TEST_F(RouterTest, HeadIsServedByGet) {
  EXPECT_EQ(Ask("HEAD", "/livez").body, "livez");
  EXPECT_EQ(Ask("HEAD", "/api/v1/push").status, 405);
}

TEST_F(RouterTest, OptionsIsAnsweredForAnyPath) {
  for (const char* target : {"/livez", "/nope", "/%zz", "*"}) {
    const Response response = Ask("OPTIONS", target);
    EXPECT_EQ(response.status, 204);
    EXPECT_TRUE(response.HasHeader("Access-Control-Allow-Methods"));
    EXPECT_TRUE(response.HasHeader("Access-Control-Allow-Headers"));
  }
}

TEST_F(RouterTest, PathsThatAreNotTextAre400) {
  for (const char* target :
       {"/api/v1/pop/queue/%", "/api/v1/pop/queue/%zz", "/api/v1/pop/queue/%ff",
        "/api/v1/pop/queue/a%00", "/%c3/livez", "/\xff", "*", "/nope/%4"}) {
    EXPECT_EQ(StatusOf(target), 400) << target;
  }
  // One character must not be split over two segments.
  EXPECT_EQ(StatusOf("/api/v1/pop/queue/%c3/partition/%a9"), 400);
}

TEST_F(RouterTest, KnowsItsRoutes) {
  ASSERT_EQ(router_.size(), 12U);
  EXPECT_EQ(router_.route(0).pattern, "/");
  EXPECT_EQ(router_.route(2).method, Method::kPost);
  EXPECT_EQ(router_.route(2).pattern, "/api/v1/push");
  EXPECT_EQ(router_.route(8).method, Method::kDelete);
  EXPECT_EQ(router_.route(8).pattern, "/api/v1/groups/:group");
  EXPECT_EQ(router_.route(11).pattern, "/assets/*file");
}

TEST_F(RouterTest, TheQueryIsDecodedBeforeTheHandler) {
  router_.Add(Method::kGet, "/query", [](Request request, Reply reply) {
    reply.Send(Response::Json(200, std::string(request.query().GetOr("a", "none"))));
  });
  EXPECT_EQ(Body("/query?a=1%202"), "1 2");
  EXPECT_EQ(Body("/query"), "none");
  EXPECT_EQ(StatusOf("/query?a=%ff"), 400);
  EXPECT_EQ(StatusOf("/nope?a=%ff"), 404);
}

}  // namespace
}  // namespace queen::http
