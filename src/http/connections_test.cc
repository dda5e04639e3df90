// Many connections of one worker: idle ones, too many of them, and the end of all.
#include "http/connections.h"

#include <gtest/gtest.h>

#include <deque>

#include "http/test_server.h"

namespace queen::http {
namespace {

TEST(Connections, AThousandIdleOnesDoNotHinderOthers) {
  TestServer server(Echo);
  std::deque<TestClient> idle;
  for (int i = 0; i < 1000; ++i) idle.emplace_back(server);
  ASSERT_TRUE(server.WaitFor([&] { return server.connections().open() == 1000; }));
  TestClient busy(server);
  for (int i = 0; i < 200; ++i) ASSERT_EQ(busy.Ask(GetRequest("/")).status, 200);
  for (TestClient& client : idle) ASSERT_EQ(client.Ask(GetRequest("/")).status, 200);
  EXPECT_EQ(server.counters().open, 1001U);
  idle.clear();
  EXPECT_TRUE(server.WaitFor([&] { return server.connections().open() == 1; }));
  EXPECT_EQ(busy.Ask(GetRequest("/")).status, 200);
}

TEST(Connections, OverTheMaximumIsA503ThatLooksLikeTheNetwork) {
  TestServer server(Echo, {}, 2);
  TestClient first(server);
  auto second = std::make_unique<TestClient>(server);
  EXPECT_EQ(first.Ask(GetRequest("/")).status, 200);
  EXPECT_EQ(second->Ask(GetRequest("/")).status, 200);
  TestClient third(server);
  const TestReply refused = third.Read();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.Header("Connection"), "close");
  EXPECT_EQ(refused.Header("Retry-After"), "1");
  EXPECT_NE(refused.body.find("Connection refused (ECONNREFUSED)"), std::string::npos);
  EXPECT_NE(refused.body.find("\"code\":\"overloaded\""), std::string::npos);
  EXPECT_TRUE(third.AtEnd());
  EXPECT_EQ(server.counters().refused, 1U);
  // One that leaves makes room.
  second.reset();
  ASSERT_TRUE(server.WaitFor([&] { return server.budget().taken() == 1; }));
  TestClient fourth(server);
  EXPECT_EQ(fourth.Ask(GetRequest("/")).status, 200);
}

TEST(Connections, ManyRefusedClientsAreBounded) {
  TestServer server(Echo, {}, 0);
  std::deque<TestClient> clients;
  for (int i = 0; i < 200; ++i) clients.emplace_back(server);
  ASSERT_TRUE(server.WaitFor([&] { return server.connections().counters().refused == 200; }));
  EXPECT_LE(server.counters().open, 64U);
  EXPECT_EQ(server.budget().taken(), 0);
}

// Drains and says when it is done.
std::future<void> StartDrain(TestServer& server) {
  const auto done = std::make_shared<std::promise<void>>();
  server.OnLoop([&] { server.connections().Drain([done] { done->set_value(); }); });
  return done->get_future();
}
bool Finished(std::future<void>& done) {
  return done.wait_for(std::chrono::seconds(kHangSeconds)) == std::future_status::ready;
}

TEST(Connections, DrainWithNoneIsDoneAtOnce) {
  TestServer server(Echo);
  auto done = StartDrain(server);
  EXPECT_TRUE(Finished(done));
}

TEST(Connections, DrainClosesIdleOnesAndAnswersTheRest) {
  std::vector<Reply> replies;
  TestServer server([&](Request request, Reply reply) {
    if (request.target() == "/now") return Echo(std::move(request), std::move(reply));
    replies.push_back(std::move(reply));
  });
  TestClient idle(server);
  TestClient used(server);
  EXPECT_EQ(used.Ask(GetRequest("/now")).status, 200);
  TestClient waiting(server);
  const std::string two = GetRequest("/0") + GetRequest("/1");
  waiting.Send(two);
  TestClient sending(server);
  const std::string begun = "POST /now HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n";
  sending.Send(begun);
  const size_t sent = GetRequest("/now").size() + two.size() + begun.size();
  ASSERT_TRUE(server.WaitFor([&] {
    return server.connections().counters().bytes_in == sent && server.connections().open() == 4;
  }));

  auto done = StartDrain(server);
  EXPECT_TRUE(idle.AtEnd());
  EXPECT_TRUE(used.AtEnd());
  // What was asked before is answered, the last with a goodbye; what is asked now is not taken.
  waiting.Send(GetRequest("/now"));
  server.OnLoop([&] {
    for (Reply& reply : replies) reply.Send(Response::Json(200, "{}"));
  });
  EXPECT_EQ(waiting.Read().Header("Connection"), "");
  EXPECT_EQ(waiting.Read().Header("Connection"), "close");
  EXPECT_TRUE(waiting.AtEnd());
  // A request that had begun is received and answered.
  const TestReply late = sending.Ask("{}");
  EXPECT_EQ(late.status, 200);
  EXPECT_EQ(late.Header("Connection"), "close");
  sending.Close();
  waiting.Close();
  EXPECT_TRUE(Finished(done));
  EXPECT_EQ(server.counters().open, 0U);
}

TEST(Connections, WhileDrainingNewOnesAreRefused) {
  std::optional<Reply> pending;
  TestServer server([&](Request, Reply reply) { pending = std::move(reply); });
  TestClient waiting(server);
  waiting.Send(GetRequest("/"));
  ASSERT_TRUE(server.WaitFor([&] { return pending.has_value(); }));
  auto done = StartDrain(server);
  TestClient late(server);
  const TestReply refused = late.Read();
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("\"code\":\"shutting_down\""), std::string::npos);
  late.Close();
  server.OnLoop([&] { pending->Send({}); });
  EXPECT_EQ(waiting.Read().status, 200);
  waiting.Close();
  EXPECT_TRUE(Finished(done));
}

TEST(Connections, AbortEndsADrainThatTakesTooLong) {
  std::optional<Reply> pending;
  bool told = false;
  TestServer server([&](Request, Reply reply) {
    pending = std::move(reply);
    pending->OnDisconnect([&] { told = true; });
  });
  TestClient waiting(server);
  waiting.Send(GetRequest("/"));
  ASSERT_TRUE(server.WaitFor([&] { return pending.has_value(); }));
  auto done = StartDrain(server);
  server.OnLoop([&] { server.connections().Abort(); });
  EXPECT_TRUE(Finished(done));
  EXPECT_TRUE(waiting.AtEnd());
  EXPECT_TRUE(server.OnLoop([&] { return told; }));
  server.OnLoop([&] { pending.reset(); });
}

}  // namespace
}  // namespace queen::http
