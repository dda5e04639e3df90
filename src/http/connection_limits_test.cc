// Every limit at its edge, and clients that are slow, silent or do not read.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "http/test_server.h"

namespace queen::http {
namespace {

std::string Padded(size_t size) {
  std::string bytes = "GET / HTTP/1.1\r\nHost: h\r\nX: ";
  bytes += std::string(size - bytes.size() - 4, 'a') + "\r\n\r\n";
  return bytes;
}

TEST(ConnectionLimits, HeaderBytes) {
  TestServer server(Echo);
  const size_t max = Limits().header_bytes_max;
  TestClient client(server);
  EXPECT_EQ(client.Ask(Padded(max)).status, 200);
  const TestReply refused = client.Ask(Padded(max + 1));
  EXPECT_EQ(refused.status, 431);
  EXPECT_TRUE(client.AtEnd());
}

TEST(ConnectionLimits, HeaderThatNeverEnds) {
  TestServer server(Echo);
  TestClient client(server);
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n");
  while (client.Send("X: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n")) {
    if (server.counters().parse_errors == 1) break;
  }
  EXPECT_EQ(client.Read().status, 431);
}

TEST(ConnectionLimits, TargetBytes) {
  TestServer server(Echo);
  const std::string fits = "/" + std::string(Limits().target_bytes_max - 1, 'a');
  TestClient client(server);
  EXPECT_EQ(client.Ask(GetRequest(fits)).status, 200);
  EXPECT_EQ(client.Ask(GetRequest(fits + "a")).status, 414);
  EXPECT_TRUE(client.AtEnd());
}

TEST(ConnectionLimits, BodyBytes) {
  Settings settings;
  settings.limits.body_bytes_max = 100'000;
  TestServer server(Echo, settings);
  TestClient client(server);
  EXPECT_EQ(client.Ask(PostRequest("/", std::string(100'000, 'x'))).status, 200);
  // From the announced length alone.
  EXPECT_EQ(client.Ask("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100001\r\n\r\n").status, 413);
  EXPECT_TRUE(client.AtEnd());
  // A client that asks first is told before it sends.
  TestClient asking(server);
  EXPECT_EQ(asking
                .Ask("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                     "Content-Length: 100001\r\n\r\n")
                .status,
            413);
}

TEST(ConnectionLimits, ChunkedBodyBytes) {
  Settings settings;
  settings.limits.body_bytes_max = 10;
  TestServer server(Echo, settings);
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  TestClient client(server);
  EXPECT_EQ(client.Ask(head + "5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n").status, 200);
  EXPECT_EQ(client.Ask(head + "5\r\n01234\r\n6\r\n56789a\r\n0\r\n\r\n").status, 413);
  EXPECT_TRUE(client.AtEnd());
}

TEST(ConnectionLimits, PipelineDepth) {
  Settings settings;
  settings.limits.pipeline_depth_max = 3;
  std::vector<Reply> replies;
  TestServer server([&](Request, Reply reply) { replies.push_back(std::move(reply)); }, settings);
  TestClient client(server);
  std::string all;
  for (int i = 0; i < 10; ++i) all += GetRequest("/");
  client.Send(all);
  ASSERT_TRUE(
      server.WaitFor([&] { return server.connections().counters().bytes_in == all.size(); }));
  EXPECT_EQ(server.OnLoop([&] { return replies.size(); }), 3U);
  // Each reply makes room for one more.
  for (size_t i = 0; i < 10; ++i) {
    server.OnLoop([&] { replies[i].Send(Response::Json(200, std::to_string(i))); });
    EXPECT_EQ(client.Read().body, std::to_string(i));
    const size_t expected = std::min<size_t>(10, i + 4);
    EXPECT_TRUE(server.WaitFor([&] { return replies.size() == expected; }));
  }
}

TEST(ConnectionLimits, BodiesInFlightOfOneConnection) {
  Settings settings;
  settings.limits.body_bytes_max = 1000;
  std::vector<Reply> replies;
  TestServer server([&](Request, Reply reply) { replies.push_back(std::move(reply)); }, settings);
  TestClient client(server);
  const std::string request = PostRequest("/", std::string(600, 'x'));
  client.Send(request + request + request + request);
  ASSERT_TRUE(server.WaitFor(
      [&] { return server.connections().counters().bytes_in == 4 * request.size(); }));
  EXPECT_EQ(server.OnLoop([&] { return replies.size(); }), 2U);
  server.OnLoop([&] { replies[0].Send({}); });
  EXPECT_TRUE(server.WaitFor([&] { return replies.size() == 3; }));
  server.OnLoop([&] { replies.clear(); });
}

TEST(ConnectionLimits, RepliesCountUntilTheyAreTaken) {
  Settings settings;
  settings.limits.reply_bytes_max = size_t{30} << 20;
  std::vector<Reply> replies;
  TestServer server([&](Request, Reply reply) { replies.push_back(std::move(reply)); }, settings);
  TestClient slow(server, 4096);
  TestClient other(server, 4096);
  slow.Send(GetRequest("/") + GetRequest("/"));
  other.Send(GetRequest("/"));
  ASSERT_TRUE(server.WaitFor([&] { return replies.size() == 3; }));
  const auto answer = [&](size_t reply, size_t bytes) {
    server.OnLoop([&] { replies[reply].Send(Response::Json(200, std::string(bytes, 'x'))); });
  };
  answer(2, 1000);
  EXPECT_EQ(server.reply_budget().held(), 0U);
  // Behind one that is not answered yet.
  answer(1, size_t{10} << 20);
  EXPECT_EQ(server.reply_budget().held(), size_t{10} << 20);
  EXPECT_FALSE(server.reply_budget().full());
  answer(0, size_t{30} << 20);
  EXPECT_TRUE(server.WaitFor([&] { return server.reply_budget().full(); }));
  slow.Read();
  slow.Read();
  EXPECT_TRUE(server.WaitFor([&] { return server.reply_budget().held() == 0; }));
  slow.Send(GetRequest("/"));
  ASSERT_TRUE(server.WaitFor([&] { return replies.size() == 4; }));
  answer(3, size_t{60} << 20);  // the kernel takes some megabytes at once
  EXPECT_TRUE(server.reply_budget().full());
  slow.Reset();
  EXPECT_TRUE(server.WaitFor([&] { return server.reply_budget().held() == 0; }));
}

TEST(ConnectionLimits, PagesLeaveRoomUntilTheyAreTaken) {
  Settings settings;
  settings.limits.reply_bytes_max = size_t{80} << 20;
  Handler page = [](Request, Reply reply) {
    reply.SendPage(Response::Json(200, std::string(size_t{20} << 20, 'x')));
  };
  TestServer server(page, settings);
  {
    TestClient silent(server, 4096);
    silent.Send(GetRequest("/"));
    ASSERT_TRUE(server.WaitFor([&] { return server.reply_budget().held() > 0; }));
    TestClient other(server, 4096);
    EXPECT_EQ(other.Ask(GetRequest("/")).status, 503);  // far from the room of other replies
  }
  TestClient reading(server);
  ASSERT_TRUE(server.WaitFor([&] { return server.reply_budget().held() == 0; }));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(reading.Ask(GetRequest("/")).status, 200) << i;
}

TEST(ConnectionLimits, WriteBufferHoldsBackFurtherRequests) {
  Settings settings;
  settings.limits.write_buffer_bytes_max = 100'000;
  uint64_t served = 0;
  Handler big = [&](Request, Reply reply) {
    ++served;
    reply.Send(Response::Json(200, std::string(size_t{1} << 20, 'x')));
  };
  TestServer server(big, settings);
  TestClient client(server, 65536);
  const int asked = 50;
  std::string all;
  for (int i = 0; i < asked; ++i) all += GetRequest("/");
  client.Send(all);
  ASSERT_TRUE(server.WaitFor(
      [&] { return server.connections().counters().bytes_in == all.size() && served > 0; }));
  // The kernel takes some megabytes; the rest of the requests wait for the client to read.
  EXPECT_LT(server.OnLoop([&] { return served; }), 20U);
  for (int i = 0; i < asked; ++i) ASSERT_EQ(client.Read().body.size(), size_t{1} << 20) << i;
  EXPECT_EQ(server.OnLoop([&] { return served; }), static_cast<uint64_t>(asked));
}

TEST(ConnectionLimits, IdleConnectionsAreClosed) {
  Settings settings;
  settings.limits.idle_timeout_ms = 30;
  TestServer server(Echo, settings);
  TestClient silent(server);
  EXPECT_TRUE(silent.AtEnd());
  TestClient served(server);
  EXPECT_EQ(served.Ask(GetRequest("/")).status, 200);
  EXPECT_TRUE(served.AtEnd());
  EXPECT_EQ(server.counters().idle_timeouts, 2U);
}

TEST(ConnectionLimits, BlankLinesDoNotKeepAConnectionAlive) {
  Settings settings;
  settings.limits.idle_timeout_ms = 30;
  TestServer server(Echo, settings);
  TestClient client(server);
  while (client.Send("\r\n")) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_GE(server.counters().idle_timeouts, 1U);
}

// Sends a byte now and then until the server has had enough.
void Trickle(TestServer& server, TestClient& client, std::string_view first,
             std::string_view drop) {
  client.Send(first);
  while (server.counters().request_timeouts == 0) {
    client.Send(drop);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

TEST(ConnectionLimits, SlowHeadersAre408) {
  Settings settings;
  settings.limits.request_timeout_ms = 50;
  TestServer server(Echo, settings);
  TestClient client(server);
  Trickle(server, client, "GET / HTTP/1.1\r\nHost: h\r\n", "X: y\r\n");
  const TestReply reply = client.Read();
  EXPECT_EQ(reply.status, 408);
  EXPECT_EQ(reply.Header("Connection"), "close");
  client.ReadToEnd();
}

TEST(ConnectionLimits, SlowBodiesAre408) {
  Settings settings;
  settings.limits.request_timeout_ms = 50;
  TestServer server(Echo, settings);
  TestClient client(server);
  Trickle(server, client, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n", "x");
  EXPECT_EQ(client.Read().status, 408);
}

TEST(ConnectionLimits, AReplyThatTakesItsTimeIsNoTimeout) {
  Settings settings;
  settings.limits.request_timeout_ms = 20;
  settings.limits.idle_timeout_ms = 20;
  settings.limits.write_timeout_ms = 20;
  std::optional<Reply> pending;
  TestServer server([&](Request, Reply reply) { pending = std::move(reply); }, settings);
  TestClient waiting(server);
  // Part of the next request has arrived as well; its clock starts after the reply.
  waiting.Send(GetRequest("/") + "GET / HT");
  ASSERT_TRUE(server.WaitFor([&] { return pending.has_value(); }));
  // Another connection's timeout proves that time has passed.
  TestClient idle(server);
  EXPECT_TRUE(idle.AtEnd());
  EXPECT_EQ(server.counters().request_timeouts, 0U);
  server.OnLoop([&] { pending->Send(Response::Json(200, "{}")); });
  EXPECT_EQ(waiting.Read().status, 200);
  EXPECT_EQ(waiting.Read().status, 408);
}

TEST(ConnectionLimits, AClientThatDoesNotReadIsDropped) {
  Settings settings;
  settings.limits.write_timeout_ms = 50;
  Handler big = [](Request, Reply reply) {
    reply.Send(Response::Json(200, std::string(size_t{30} << 20, 'x')));
  };
  TestServer server(big, settings);
  TestClient client(server, 4096);
  client.Send(GetRequest("/"));
  EXPECT_TRUE(server.WaitFor([&] { return server.connections().counters().write_timeouts == 1; }));
  EXPECT_TRUE(server.WaitFor([&] { return server.connections().open() == 0; }));
}

TEST(ConnectionLimits, AClientThatReadsSlowlyIsServed) {
  Settings settings;
  settings.limits.write_timeout_ms = 4000;  // far more than a busy machine keeps a thread waiting
  constexpr size_t kSize = size_t{30} << 20;
  Handler big = [](Request, Reply reply) {
    reply.Send(Response::Json(200, std::string(kSize, 'x')));
  };
  TestServer server(big, settings);
  TestClient client(server, 16384);
  client.Send(GetRequest("/"));
  // Takes longer than the timeout, but always takes something.
  std::string buffer(size_t{16} << 10, '\0');
  for (const int64_t until = SteadyMillis() + 5000; SteadyMillis() < until;) {
    ASSERT_GT(recv(client.fd(), buffer.data(), buffer.size(), 0), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(server.counters().write_timeouts, 0U);
  EXPECT_EQ(server.counters().open, 1U);
}

TEST(ConnectionLimits, ALingeringClientIsLetGo) {
  Settings settings;
  settings.limits.linger_timeout_ms = 30;
  TestServer server(Echo, settings);
  TestClient client(server);
  EXPECT_EQ(client.Ask(GetRequest("/", "Connection: close\r\n")).status, 200);
  // The client keeps its side open.
  EXPECT_TRUE(server.WaitFor([&] { return server.connections().open() == 0; }));
}

TEST(ConnectionLimits, LingeringReadsOnlySoMuch) {
  Settings settings;
  settings.limits.linger_bytes_max = 1000;
  TestServer server(Echo, settings);
  TestClient client(server);
  client.Send("nonsense\r\n\r\n");
  EXPECT_EQ(client.Read().status, 400);
  while (client.Send(std::string(1000, 'x'))) {
  }
  EXPECT_TRUE(server.WaitFor([&] { return server.connections().open() == 0; }));
}

}  // namespace
}  // namespace queen::http
