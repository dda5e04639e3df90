// One connection over a real socket: what is answered, in which order, and what happens when the
// client leaves. Limits and slow clients are in connection_limits_test.cc.
#include "http/connection.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

#include "http/test_server.h"

namespace queen::http {
namespace {

// Keeps the replies of deferred requests, on the loop's thread.
struct Deferred {
  std::vector<Reply> replies;

  Handler handler() {
    return [this](Request request, Reply reply) {
      if (request.target() == "/now") return Echo(std::move(request), std::move(reply));
      replies.push_back(std::move(reply));
    };
  }
};

TEST(Connection, AnswersAndKeepsAlive) {
  TestServer server(Echo);
  TestClient client(server);
  for (int i = 0; i < 3; ++i) {
    const TestReply reply = client.Ask(PostRequest("/a?b", "body", "X: 1\r\n"));
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, "POST /a?b x=1 body");
    EXPECT_EQ(reply.Header("Content-Type"), "application/json");
    EXPECT_EQ(reply.Header("Access-Control-Allow-Origin"), "");
    EXPECT_EQ(reply.Header("Vary"), "");
    EXPECT_EQ(reply.Header("Connection"), "");
    EXPECT_EQ(reply.Header("Date").size(), 29U);
  }
  const Counters counters = server.counters();
  EXPECT_EQ(counters.accepted, 1U);
  EXPECT_EQ(counters.open, 1U);
  EXPECT_EQ(counters.requests, 3U);
  EXPECT_EQ(counters.replies_by_class[2], 3U);
  EXPECT_GT(counters.bytes_in, 0U);
  EXPECT_GT(counters.bytes_out, 0U);
}

TEST(Connection, EveryOriginIsAllowedOnEveryReplyEvenErrors) {
  Settings settings;
  settings.allow_origins = {"*"};
  TestServer server(Echo, settings);
  TestClient client(server);
  EXPECT_EQ(client.Ask(GetRequest("/")).Header("Access-Control-Allow-Origin"), "*");
  const TestReply error = client.Ask("nonsense\r\n\r\n");
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.Header("Access-Control-Allow-Origin"), "*");
}

TEST(Connection, NamedOriginsAreAllowedAndNoOthers) {
  Settings settings;
  settings.allow_origins = {"https://a.example", "http://b.example:8080"};
  settings.limits.body_bytes_max = 10;
  TestServer server(Echo, settings);
  TestClient client(server);
  const auto allowed = [&](std::string_view fields) {
    const TestReply reply = client.Ask(GetRequest("/", fields));
    EXPECT_EQ(reply.Header("Vary"), "Origin") << fields;
    return reply.Header("Access-Control-Allow-Origin");
  };
  EXPECT_EQ(allowed("Origin: https://a.example\r\n"), "https://a.example");
  EXPECT_EQ(allowed("Origin: http://b.example:8080\r\n"), "http://b.example:8080");
  EXPECT_EQ(allowed("Origin: http://b.example\r\n"), "");
  EXPECT_EQ(allowed("Origin: https://a.example.org\r\n"), "");
  EXPECT_EQ(allowed("Origin: null\r\n"), "");
  EXPECT_EQ(allowed("Origin: \r\n"), "");
  EXPECT_EQ(allowed(""), "");
}

TEST(Connection, CloseIsHonoured) {
  TestServer server(Echo);
  TestClient client(server);
  const TestReply reply = client.Ask(GetRequest("/", "Connection: close\r\n") + GetRequest("/no"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.Header("Connection"), "close");
  EXPECT_TRUE(client.AtEnd());
  EXPECT_EQ(server.counters().requests, 1U);
}

TEST(Connection, Http10ClosesUnlessAskedNotTo) {
  TestServer server(Echo);
  TestClient keeping(server);
  for (int i = 0; i < 2; ++i) {
    const TestReply reply = keeping.Ask("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.Header("Connection"), "keep-alive");
  }
  TestClient closing(server);
  EXPECT_EQ(closing.Ask("GET / HTTP/1.0\r\n\r\n").Header("Connection"), "close");
  EXPECT_TRUE(closing.AtEnd());
}

TEST(Connection, HeadHasTheLengthButNoBody) {
  TestServer server(Echo);
  TestClient client(server);
  const TestReply reply = client.Ask("HEAD /abc HTTP/1.1\r\nHost: h\r\n\r\n", true);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.Header("Content-Length"), std::to_string(std::string("HEAD /abc x= ").size()));
  EXPECT_EQ(client.Ask(GetRequest("/next")).body, "GET /next x= ");
}

TEST(Connection, NoContentHasNoBodyAndNoLength) {
  TestServer server([](Request, Reply reply) { reply.Send(Response::Empty()); });
  TestClient client(server);
  for (int i = 0; i < 2; ++i) {
    const TestReply reply = client.Ask(GetRequest("/"));
    EXPECT_EQ(reply.status, 204);
    EXPECT_EQ(reply.Header("Content-Length"), "");
    EXPECT_EQ(reply.Header("Content-Type"), "");
  }
}

TEST(Connection, PipelinedRepliesKeepTheOrderOfTheRequests) {
  Deferred deferred;
  TestServer server(deferred.handler());
  TestClient client(server);
  client.Send(GetRequest("/0") + GetRequest("/now") + GetRequest("/2") + GetRequest("/3"));
  ASSERT_TRUE(server.WaitFor([&] { return deferred.replies.size() == 3; }));
  EXPECT_EQ(server.counters().bytes_out, 0U);
  for (const size_t index : {2U, 0U, 1U}) {
    server.OnLoop(
        [&] { deferred.replies[index].Send(Response::Json(200, std::to_string(index))); });
  }
  EXPECT_EQ(client.Read().body, "0");
  EXPECT_EQ(client.Read().body, "GET /now x= ");
  EXPECT_EQ(client.Read().body, "1");
  EXPECT_EQ(client.Read().body, "2");
  server.OnLoop([&] { deferred.replies.clear(); });
}

TEST(Connection, AnErrorWaitsForTheRepliesBeforeIt) {
  Deferred deferred;
  TestServer server(deferred.handler());
  TestClient client(server);
  client.Send(GetRequest("/0") + "nonsense\r\n\r\n" + GetRequest("/never"));
  ASSERT_TRUE(server.WaitFor([&] { return server.connections().counters().parse_errors == 1; }));
  server.OnLoop([&] { deferred.replies[0].Send(Response::Json(200, "first")); });
  EXPECT_EQ(client.Read().body, "first");
  EXPECT_EQ(client.Read().status, 400);
  EXPECT_TRUE(client.AtEnd());
  EXPECT_EQ(server.counters().requests, 1U);
}

TEST(Connection, ContinueIsSentOnceTheHeadIsAccepted) {
  TestServer server(Echo);
  TestClient client(server);
  const TestReply interim =
      client.Ask("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(interim.status, 100);
  EXPECT_EQ(client.Ask("{}").body, "POST / x= {}");
}

TEST(Connection, ContinueIsNotSentToAClientThatDoesNotWait) {
  TestServer server(Echo);
  TestClient client(server);
  EXPECT_EQ(client.Ask(PostRequest("/", "{}", "Expect: 100-continue\r\n")).status, 200);
}

TEST(Connection, ContinueWaitsForTheRepliesBeforeIt) {
  Deferred deferred;
  TestServer server(deferred.handler());
  TestClient client(server);
  client.Send(GetRequest("/0") +
              "POST /now HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  ASSERT_TRUE(server.WaitFor([&] { return deferred.replies.size() == 1; }));
  server.OnLoop([&] { deferred.replies[0].Send(Response::Json(200, "first")); });
  EXPECT_EQ(client.Read().body, "first");
  EXPECT_EQ(client.Read().status, 100);
  EXPECT_EQ(client.Ask("{}").body, "POST /now x= {}");
}

TEST(Connection, OtherExpectationsAreRefused) {
  TestServer server(Echo);
  TestClient client(server);
  EXPECT_EQ(client.Ask(GetRequest("/", "Expect: magic\r\n")).status, 417);
  EXPECT_TRUE(client.AtEnd());
}

TEST(Connection, ErrorsAreJsonAndClose) {
  TestServer server(Echo);
  TestClient client(server);
  const TestReply reply = client.Ask("GET / HTTP/9.9\r\n\r\n");
  EXPECT_EQ(reply.status, 505);
  EXPECT_EQ(reply.Header("Connection"), "close");
  EXPECT_EQ(reply.body,
            R"({"error":"Unsupported HTTP version","code":"http_version_not_supported"})");
  EXPECT_TRUE(client.AtEnd());
  EXPECT_EQ(server.counters().parse_errors, 1U);
}

TEST(Connection, AClientThatStillSendsCanReadItsError) {
  Settings settings;
  settings.limits.body_bytes_max = 1000;
  TestServer server(Echo, settings);
  TestClient client(server);
  // Far more than socket buffers hold, so the server must read to be readable.
  EXPECT_TRUE(client.Send(PostRequest("/", std::string(size_t{20} << 20, 'x'))));
  EXPECT_EQ(client.Read().status, 413);
  EXPECT_TRUE(client.AtEnd());
}

TEST(Connection, AHandlerThatForgetsAnswers500) {
  TestServer server([](Request, Reply) {});
  TestClient client(server);
  const TestReply reply = client.Ask(GetRequest("/"));
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(reply.body, R"({"error":"Internal error","code":"internal"})");
  EXPECT_EQ(client.Ask(GetRequest("/")).status, 500);
}

TEST(Connection, AHandlerThatThrowsAnswers500) {
  TestServer server([](Request, Reply) { throw std::runtime_error("oops"); });
  TestClient client(server);
  EXPECT_EQ(client.Ask(GetRequest("/")).status, 500);
  EXPECT_EQ(client.Ask(GetRequest("/")).status, 500);
}

TEST(Connection, HalfClosedClientsStillGetTheirReplies) {
  Deferred deferred;
  TestServer server(deferred.handler());
  TestClient client(server);
  client.Send(GetRequest("/now") + GetRequest("/0"));
  client.ShutdownWrite();
  EXPECT_EQ(client.Read().status, 200);
  ASSERT_TRUE(server.WaitFor(
      [&] { return deferred.replies.size() == 1 && !deferred.replies[0].connected(); }));
  server.OnLoop([&] { deferred.replies[0].Send(Response::Json(200, "late")); });
  const TestReply late = client.Read();
  EXPECT_EQ(late.body, "late");
  EXPECT_EQ(late.Header("Connection"), "close");
  EXPECT_TRUE(client.AtEnd());
  EXPECT_TRUE(server.WaitFor([&] { return server.connections().open() == 0; }));
}

TEST(Connection, AHalfClosedClientGetsEveryPipelinedReply) {
  Settings settings;
  settings.limits.pipeline_depth_max = 2;
  TestServer server(Echo, settings);
  TestClient client(server);
  std::string all;
  for (int i = 0; i < 100; ++i) all += GetRequest("/" + std::to_string(i));
  client.Send(all);
  client.ShutdownWrite();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(client.Read().status, 200) << i;
  EXPECT_TRUE(client.AtEnd());
}

// A long poll that says when it was forgotten.
struct LongPoll {
  std::optional<Reply> reply;
  std::promise<void> forgotten;

  Handler handler() {
    return [this](Request, Reply r) {
      reply = std::move(r);
      reply->OnDisconnect([this] {
        reply.reset();
        forgotten.set_value();
      });
    };
  }
  bool WaitUntilForgotten() {
    return forgotten.get_future().wait_for(std::chrono::seconds(kHangSeconds)) ==
           std::future_status::ready;
  }
};

TEST(Connection, WhatStandsBehindALongPollIsNotBegunBeforeItIsAnswered) {
  std::vector<Reply> polls;
  TestServer server([&](Request request, Reply reply) {
    if (request.target() == "/now") return Echo(std::move(request), std::move(reply));
    reply.HoldNext();
    polls.push_back(std::move(reply));
  });
  TestClient client(server);
  client.Send(GetRequest("/0") + GetRequest("/1") + GetRequest("/now"));
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(server.WaitFor([&] { return polls.size() == i + 1; }));
    TestClient other(server);
    EXPECT_EQ(other.Ask(GetRequest("/now")).status, 200);
    server.OnLoop([&] {
      EXPECT_EQ(polls.size(), i + 1);
      polls[i].Send(Response::Json(200, std::to_string(i)));
    });
    EXPECT_EQ(client.Read().body, std::to_string(i));
  }
  EXPECT_EQ(client.Read().body, "GET /now x= ");
  server.OnLoop([&] { polls.clear(); });
}

TEST(Connection, ALongPollIsForgottenWhenItsClientCloses) {
  LongPoll poll;
  TestServer server(poll.handler());
  TestClient client(server);
  client.Send(GetRequest("/"));
  ASSERT_TRUE(server.WaitFor([&] { return poll.reply.has_value(); }));
  client.Close();
  EXPECT_TRUE(poll.WaitUntilForgotten());
  EXPECT_TRUE(server.WaitFor([&] { return server.connections().open() == 0; }));
  EXPECT_EQ(server.counters().disconnects, 1U);
}

TEST(Connection, ALongPollIsForgottenWhenItsClientResets) {
  LongPoll poll;
  TestServer server(poll.handler());
  TestClient client(server);
  client.Send(GetRequest("/"));
  ASSERT_TRUE(server.WaitFor([&] { return poll.reply.has_value(); }));
  client.Reset();
  EXPECT_TRUE(poll.WaitUntilForgotten());
  EXPECT_TRUE(server.WaitFor([&] { return server.connections().open() == 0; }));
}

TEST(Connection, AClientThatLeavesWithUnreadInputIsNoticed) {
  Settings settings;
  settings.limits.pipeline_depth_max = 1;
  settings.limits.linger_timeout_ms = 20;  // ticks are a fraction of the shortest timeout
  LongPoll poll;
  TestServer server(poll.handler(), settings);
  TestClient client(server);
  // The first is a long poll; the others fill every buffer behind it.
  client.Send(GetRequest("/poll"));
  ASSERT_TRUE(server.WaitFor([&] { return poll.reply.has_value(); }));
  const std::string more = GetRequest("/more");
  std::string flood;
  for (size_t i = 0; i < 4000; ++i) flood += more;
  client.Send(flood);
  client.Close();
  EXPECT_TRUE(poll.WaitUntilForgotten());
}

TEST(Connection, SendAfterTheClientLeftDoesNothing) {
  Deferred deferred;
  TestServer server(deferred.handler());
  {
    TestClient client(server);
    client.Send(GetRequest("/0"));
    ASSERT_TRUE(server.WaitFor([&] { return deferred.replies.size() == 1; }));
    client.Reset();
  }
  ASSERT_TRUE(server.WaitFor([&] { return server.connections().open() == 0; }));
  server.OnLoop([&] {
    EXPECT_FALSE(deferred.replies[0].connected());
    bool told = false;
    deferred.replies[0].OnDisconnect([&] { told = true; });
    EXPECT_TRUE(told);
    deferred.replies[0].Send(Response::Json(200, "late"));
  });
  TestClient other(server);
  EXPECT_EQ(other.Ask(GetRequest("/now")).status, 200);
}

TEST(Connection, RepliesMayOutliveTheWholeServer) {
  Deferred deferred;
  {
    TestServer server(deferred.handler());
    TestClient client(server);
    client.Send(GetRequest("/0") + GetRequest("/1"));
    ASSERT_TRUE(server.WaitFor([&] { return deferred.replies.size() == 2; }));
  }
  deferred.replies[0].Send(Response::Json(200, "late"));
  deferred.replies.clear();
}

TEST(Connection, DisconnectMidBodyIsForgotten) {
  TestServer server(Echo);
  for (const bool reset : {false, true}) {
    TestClient client(server);
    client.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nhalf");
    ASSERT_TRUE(server.WaitFor([&] { return server.connections().open() == 1; }));
    reset ? client.Reset() : client.Close();
    ASSERT_TRUE(server.WaitFor([&] { return server.connections().open() == 0; }));
  }
  EXPECT_EQ(server.counters().requests, 0U);
}

TEST(Connection, DisconnectMidReplyIsForgotten) {
  Handler big = [](Request, Reply reply) {
    reply.Send(Response::Json(200, std::string(size_t{30} << 20, 'x')));
  };
  TestServer server(big);
  for (const bool reset : {false, true}) {
    TestClient client(server, 4096);
    client.Send(GetRequest("/"));
    char some[100];
    ASSERT_GT(recv(client.fd(), some, sizeof some, 0), 0);
    reset ? client.Reset() : client.Close();
    ASSERT_TRUE(server.WaitFor([&] { return server.connections().open() == 0; }));
  }
}

TEST(Connection, ALargeReplyArrivesWhole) {
  constexpr size_t kSize = size_t{30} << 20;
  Handler big = [](Request request, Reply reply) {
    std::string body(kSize, 'x');
    body.back() = request.target().back();
    reply.Send(Response::Json(200, std::move(body)));
  };
  TestServer server(big);
  TestClient client(server, 65536);
  client.Send(GetRequest("/a") + GetRequest("/b"));
  for (const char last : {'a', 'b'}) {
    const TestReply reply = client.Read();
    ASSERT_EQ(reply.body.size(), kSize);
    EXPECT_EQ(reply.body.back(), last);
  }
}

TEST(Connection, RepliesOfOneTurnLeaveInOneSegment) {
  Deferred deferred;
  TestServer server(deferred.handler());
  TestClient client(server);
  client.Send(GetRequest("/0") + GetRequest("/1") + GetRequest("/2"));
  ASSERT_TRUE(server.WaitFor([&] { return deferred.replies.size() == 3; }));
  server.OnLoop([&] {
    for (auto& reply : deferred.replies) reply.Send(Response::Json(200, "{}"));
  });
  std::string buffer(10'000, '\0');
  const ssize_t size = recv(client.fd(), buffer.data(), buffer.size(), 0);
  ASSERT_GT(size, 0);
  EXPECT_EQ(static_cast<uint64_t>(size), server.counters().bytes_out);
}

}  // namespace
}  // namespace queen::http
