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

Settings GivesWayAfter(int64_t ms) {
  Settings settings;
  settings.limits.gives_way_after_ms = ms;
  return settings;
}

TEST(Connections, OverTheMaximumIsA503ThatLooksLikeTheNetwork) {
  TestServer server(Echo, GivesWayAfter(1'000'000), 2);
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

TEST(Connections, ManyRefusedClientsAreBoundedAndAllAreTold) {
  TestServer server(Echo, {}, 0);
  std::deque<TestClient> clients;
  for (int i = 0; i < 200; ++i) clients.emplace_back(server);
  ASSERT_TRUE(server.WaitFor([&] { return server.connections().counters().refused == 200; }));
  EXPECT_LE(server.counters().open, Connections::kRefusedOpenMax);
  EXPECT_EQ(server.budget().taken(), 0);
  for (TestClient& client : clients) ASSERT_EQ(client.Read().status, 503);
}

TEST(Connections, ThoseThatDoNothingGiveWayToNewcomers) {
  std::deque<Reply> waiting;
  TestServer server(
      [&](Request request, Reply reply) {
        if (request.target() != "/wait") return Echo(std::move(request), std::move(reply));
        waiting.push_back(std::move(reply));
      },
      GivesWayAfter(0), 5);
  TestClient polling(server);
  polling.Send(GetRequest("/wait"));
  TestClient between(server);
  EXPECT_EQ(between.Ask(GetRequest("/")).status, 200);
  TestClient receiving(server);
  receiving.Send("GET / HT");
  TestClient uploading(server);
  uploading.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n" +
                 std::string(900'000, 'x'));
  TestClient silent(server);
  const auto arrived = [&] {
    return waiting.size() == 1 && server.connections().open() == 5 &&
           server.request_budget().taken() > 900'000;
  };
  ASSERT_TRUE(server.WaitFor(arrived));

  std::deque<TestClient> newcomers;
  const auto poll = [&] {
    newcomers.emplace_back(server).Send(GetRequest("/wait"));
    const size_t expected = newcomers.size() + 1;
    return server.WaitFor([&] { return waiting.size() == expected; });
  };
  // First who never asked for anything, then who did, then who does not come to an end.
  ASSERT_TRUE(poll());
  EXPECT_TRUE(silent.AtEnd());
  ASSERT_TRUE(poll());
  EXPECT_TRUE(between.AtEnd());
  ASSERT_TRUE(poll());
  EXPECT_EQ(receiving.Read().status, 503);
  // Pops that wait and bodies that make progress stay.
  TestClient refused(server);
  EXPECT_EQ(refused.Read().status, 503);
  refused.Close();
  EXPECT_EQ(server.counters().given_way, 3U);
  uploading.Send(std::string(100'000, 'x'));
  EXPECT_EQ(uploading.Read().status, 200);
  server.OnLoop([&] {
    for (Reply& reply : waiting) reply.Send({});
  });
  EXPECT_EQ(polling.Read().status, 200);
  for (TestClient& newcomer : newcomers) EXPECT_EQ(newcomer.Read().status, 200);
}

TEST(Connections, WhoDoesNotReadGivesWayToo) {
  Handler big = [](Request, Reply reply) {
    reply.Send(Response::Json(200, std::string(size_t{30} << 20, 'x')));
  };
  TestServer server(big, GivesWayAfter(0), 1);
  TestClient deaf(server, 4096);
  deaf.Send(GetRequest("/"));
  ASSERT_TRUE(server.WaitFor([&] { return server.reply_budget().held() > 0; }));
  // As long as the kernel takes bytes there is progress.
  const auto served = [&] {
    TestClient newcomer(server);
    newcomer.Send(GetRequest("/", "Connection: close\r\n"));
    return newcomer.Read().status == 200;
  };
  while (!served()) std::this_thread::yield();
  EXPECT_GE(server.counters().given_way, 1U);
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

TEST(Connections, ARequestOnItsWayWhenTheDrainBeginsIsAnswered) {
  TestServer server(Echo);
  TestClient used(server);
  TestClient fresh(server);
  EXPECT_EQ(used.Ask(GetRequest("/")).status, 200);
  auto done = StartDrain(server);
  for (TestClient* client : {&used, &fresh}) {
    const TestReply last = client->Ask(GetRequest("/"));
    EXPECT_EQ(last.status, 200);
    EXPECT_EQ(last.Header("Connection"), "close");
    EXPECT_TRUE(client->AtEnd());
    client->Close();
  }
  EXPECT_TRUE(Finished(done));
}

// The client's next request may be on its way while it reads a reply that says nothing of the end.
TEST(Connections, AReplyWrittenWhenTheDrainBeginsIsNotTheLast) {
  std::optional<Reply> pending;
  TestServer server([&](Request, Reply reply) { pending = std::move(reply); });
  TestClient client(server);
  client.Send(GetRequest("/"));
  ASSERT_TRUE(server.WaitFor([&] { return pending.has_value(); }));
  const auto done = std::make_shared<std::promise<void>>();
  server.OnLoop([&] {
    std::exchange(pending, {})->Send({});
    server.connections().Drain([done] { done->set_value(); });
  });
  client.Send(GetRequest("/"));
  EXPECT_EQ(client.Read().status, 200);
  ASSERT_TRUE(server.WaitFor([&] { return pending.has_value(); }));
  server.OnLoop([&] { pending->Send({}); });
  EXPECT_EQ(client.Read().Header("Connection"), "close");
  client.Close();
  auto finished = done->get_future();
  EXPECT_TRUE(Finished(finished));
}

TEST(Connections, AfterTheGraceADrainEndsInPeace) {
  Settings settings;
  settings.limits.drain_grace_ms = 20;
  settings.limits.drain_linger_ms = 1'000'000;
  TestServer server(Echo, settings);
  TestClient idle(server);
  EXPECT_EQ(idle.Ask(GetRequest("/")).status, 200);
  auto done = StartDrain(server);
  EXPECT_TRUE(idle.AtEnd());
  // What comes too late is read, so that it meets no reset.
  EXPECT_TRUE(idle.Send(GetRequest("/")));
  EXPECT_TRUE(server.WaitFor(
      [&] { return server.connections().counters().bytes_in == 2 * GetRequest("/").size(); }));
  EXPECT_EQ(recv(idle.fd(), nullptr, 0, 0), 0);
  idle.Close();
  EXPECT_TRUE(Finished(done));
}

TEST(Connections, ADrainDoesNotWaitLongForClientsThatStay) {
  Settings settings;
  settings.limits.drain_grace_ms = 20;
  settings.limits.drain_linger_ms = 20;
  settings.limits.linger_timeout_ms = 1'000'000;
  TestServer server(Echo, settings);
  TestClient staying(server);
  EXPECT_EQ(staying.Ask(GetRequest("/")).status, 200);
  auto done = StartDrain(server);
  EXPECT_TRUE(Finished(done));
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
