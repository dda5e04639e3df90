// Bodies that arrive: what they are charged, who is refused, who gives way, and slow ones.
#include <gtest/gtest.h>

#include <deque>
#include <optional>

#include "http/test_server.h"

namespace queen::http {
namespace {

std::string Post(size_t size, std::string_view path = "/") {
  return PostRequest(path, std::string(size, 'x'));
}
std::string Announce(size_t size, std::string_view path = "/", std::string_view fields = {}) {
  return std::string("POST ").append(path).append(" HTTP/1.1\r\nHost: h\r\n").append(fields) +
         "Content-Length: " + std::to_string(size) + "\r\n\r\n";
}
constexpr std::string_view kAsking = "Expect: 100-continue\r\n";

// Clients of one process whose handler answers when it is told to. Of the budget, pushes ("/bulk")
// may have 6/8, and large bodies that are arriving 4/8 (bulk) or 5/8.
class RequestBytes : public testing::Test {
 protected:
  static constexpr size_t kEighth = 100'000;
  static constexpr size_t kSmall = 50'000;
  static constexpr size_t kTiny = 5'000;  // comes in one piece, so it is never seen arriving

  static Settings MakeSettings() {
    Settings settings;
    settings.limits.body_bytes_max = 8 * kEighth;
    settings.limits.request_bytes_max = 8 * kEighth;
    settings.bulk_path = "/bulk";
    return settings;
  }
  void Answer(size_t reply) {
    server_.OnLoop([&] { replies_[reply].Send({}); });
  }
  void TearDown() override {
    server_.OnLoop([&] { replies_.clear(); });
  }
  bool WaitForReplies(size_t count) {
    return server_.WaitFor([&] { return replies_.size() == count; });
  }
  bool WaitForTaken(size_t bytes) {
    return server_.WaitFor([&] { return server_.request_budget().taken() == bytes; });
  }
  // Requests of `size` bytes that are whole and wait for their replies.
  void Hold(size_t count, std::string_view path = "/", size_t size = kSmall) {
    for (size_t i = 0; i < count; ++i) {
      holders_.emplace_back(server_);
      holders_.back().Send(Post(size, path));
    }
    ASSERT_TRUE(WaitForReplies(count));
  }

  std::vector<Reply> replies_;
  TestServer server_{[this](Request, Reply reply) { replies_.push_back(std::move(reply)); },
                     MakeSettings()};
  std::deque<TestClient> holders_;
};

TEST_F(RequestBytes, AtTheLimitAndOneMore) {
  Hold(16);
  EXPECT_EQ(server_.request_budget().taken(), 8 * kEighth);
  // Short enough to come whole: the connection stays. No body, no bytes.
  TestClient late(server_);
  const TestReply refused = late.Ask(Post(100));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.Header("Retry-After"), "1");
  EXPECT_NE(refused.body.find("Too many bytes of requests are waiting"), std::string::npos);
  late.Send(GetRequest("/"));
  ASSERT_TRUE(WaitForReplies(17));
  Answer(16);
  EXPECT_EQ(late.Read().status, 200);
  Answer(0);
  EXPECT_EQ(holders_[0].Read().status, 200);
  late.Send(Post(100));
  ASSERT_TRUE(WaitForReplies(18));
  EXPECT_EQ(server_.request_budget().taken(), 8 * kEighth - kSmall + 100);
  for (size_t i = 1; i < 16; ++i) Answer(i);
  Answer(17);
  EXPECT_EQ(late.Read().status, 200);
  EXPECT_EQ(server_.request_budget().taken(), 0U);
}

TEST_F(RequestBytes, WhatIsAnnouncedTakesNothing) {
  std::deque<TestClient> liars;
  size_t sent = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string begun = Announce(4 * kEighth, i % 2 == 0 ? "/" : "/bulk") + "{";
    liars.emplace_back(server_).Send(begun);
    sent += begun.size();
  }
  ASSERT_TRUE(server_.WaitFor([&] { return server_.connections().counters().bytes_in == sent; }));
  EXPECT_LT(server_.request_budget().taken(), 20U * 100);
  TestClient honest(server_);
  honest.Send(Post(kSmall, "/bulk"));
  ASSERT_TRUE(WaitForReplies(1));
  Answer(0);
  EXPECT_EQ(honest.Read().status, 200);
}

TEST_F(RequestBytes, AClientThatAsksIsToldByTheAnnouncedLength) {
  Hold(8);  // of the 5/8 for large ones that arrive, 1/8 is left
  TestClient refused(server_);
  EXPECT_EQ(refused.Ask(Announce(kEighth + 1, "/", kAsking)).status, 503);
  EXPECT_TRUE(refused.AtEnd());
  TestClient taken(server_);
  EXPECT_EQ(taken.Ask(Announce(kEighth, "/", kAsking)).status, 100);
}

TEST_F(RequestBytes, ABodyThatNeverFindsRoomIs413) {
  for (const auto& [path, largest] : {std::pair("/bulk", 4 * kEighth), {"/", 5 * kEighth}}) {
    TestClient fits(server_);
    EXPECT_EQ(fits.Ask(Announce(largest, path, kAsking)).status, 100) << path;
    for (const std::string_view fields : {std::string_view(), kAsking}) {
      TestClient refused(server_);
      const TestReply reply = refused.Ask(Announce(largest + 1, path, fields));
      EXPECT_EQ(reply.status, 413) << path;
      EXPECT_EQ(reply.Header("Retry-After"), "") << path;
      EXPECT_TRUE(refused.AtEnd());
    }
  }
  TestClient chunks(server_);
  chunks.Send("POST /bulk HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  while (chunks.Send("400\r\n" + std::string(1024, 'x') + "\r\n")) {
    if (server_.counters().replies_by_class[4] > 4) break;
  }
  EXPECT_EQ(chunks.Read().status, 413);
}

TEST_F(RequestBytes, ABodyThatOutgrowsTheRoomIsRefusedAndFreed) {
  Hold(9);
  TestClient third(server_);
  third.Send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  while (third.Send("400\r\n" + std::string(1024, 'x') + "\r\n")) {
    if (server_.counters().replies_by_class[5] > 0) break;
  }
  // Though its client is still there.
  EXPECT_TRUE(WaitForTaken(9 * kSmall));
  EXPECT_EQ(third.Read().status, 503);
}

TEST_F(RequestBytes, LargeBodiesThatArriveLeaveRoomForTheOthers) {
  TestClient large(server_);
  large.Send(Post(4 * kEighth, "/bulk").substr(0, 4 * kEighth));
  ASSERT_TRUE(WaitForTaken(4 * kEighth));
  TestClient other(server_);
  EXPECT_EQ(other.Ask(Announce(4 * kEighth, "/bulk", kAsking)).status, 503);
  // Small pushes have 2/8 beside it, and the rest of all requests another 2/8.
  Hold(40, "/bulk", kTiny);
  TestClient small(server_);
  EXPECT_EQ(small.Ask(Post(4 * kEighth + 1, "/").substr(0, 120'000)).status, 503);
  EXPECT_EQ(server_.request_budget().taken(), 6 * kEighth);
  TestClient ack(server_);
  ack.Send(Post(kTiny));
  EXPECT_TRUE(WaitForReplies(41));
}

TEST_F(RequestBytes, TheLargestArrivingBodyGivesWayToASmallerOne) {
  TestClient large(server_);
  large.Send(Post(3 * kEighth).substr(0, 3 * kEighth));
  ASSERT_TRUE(WaitForTaken(3 * kEighth));
  TestClient larger(server_);
  larger.Send(Post(2 * kEighth).substr(0, 2 * kEighth));
  ASSERT_TRUE(WaitForTaken(5 * kEighth));
  TestClient same(server_);
  EXPECT_EQ(same.Ask(Announce(3 * kEighth, "/", kAsking)).status, 503);
  TestClient smaller(server_);
  EXPECT_EQ(smaller.Ask(Announce(kEighth, "/", kAsking)).status, 100);
  EXPECT_EQ(large.Read().status, 503);
  smaller.Send(std::string(kEighth, 'x'));
  ASSERT_TRUE(WaitForReplies(1));
  EXPECT_EQ(server_.request_budget().taken(), 3 * kEighth);
  EXPECT_EQ(server_.counters().bodies_given_way, 1U);
}

TEST_F(RequestBytes, SmallBodiesThatArriveLeaveRoomForCompleteOnes) {
  std::deque<TestClient> slow;
  for (size_t i = 1; i <= 10; ++i) {
    // Memory for a body doubles up to its length.
    slow.emplace_back(server_).Send(Announce(kSmall) + std::string(30'000, 'x'));
    ASSERT_TRUE(WaitForTaken((i - 1) * kSmall + 30'000));
    slow.back().Send(std::string(10'000, 'x'));
    ASSERT_TRUE(WaitForTaken(i * kSmall));
  }
  EXPECT_EQ(server_.request_budget().arriving(), 5 * kEighth);
  TestClient another(server_);
  EXPECT_EQ(another.Ask(Announce(kSmall, "/", kAsking)).status, 503);
  // Pushes that are whole find the sixth eighth, and all others the rest.
  Hold(20, "/bulk", kTiny);
  TestClient ack(server_);
  ack.Send(Post(kTiny));
  ASSERT_TRUE(WaitForReplies(21));
  EXPECT_EQ(server_.counters().bodies_given_way, 0U);
  // One that becomes whole does not count as arriving.
  slow[0].Send(std::string(10'000, 'x'));
  ASSERT_TRUE(WaitForReplies(22));
  EXPECT_EQ(server_.request_budget().arriving(), 5 * kEighth - kSmall);
}

TEST_F(RequestBytes, AsManyGiveWayAsASmallerOneNeeds) {
  TestClient first(server_);
  first.Send(Post(2 * kEighth).substr(0, 2 * kEighth));
  ASSERT_TRUE(WaitForTaken(2 * kEighth));
  TestClient second(server_);
  second.Send(Post(2 * kEighth).substr(0, 2 * kEighth));
  ASSERT_TRUE(WaitForTaken(4 * kEighth));
  Hold(6);
  // Together they take 7/8; a large one that arrives may have 5/8 with all that is there.
  TestClient newcomer(server_);
  EXPECT_EQ(newcomer.Ask(Announce(3 * kEighth / 2, "/", kAsking)).status, 100);
  EXPECT_EQ(server_.counters().bodies_given_way, 2U);
  EXPECT_EQ(first.Read().status, 503);
  EXPECT_EQ(second.Read().status, 503);
}

TEST_F(RequestBytes, NobodyGivesWayForNothing) {
  TestClient large(server_);
  large.Send(Post(2 * kEighth).substr(0, 2 * kEighth));
  ASSERT_TRUE(WaitForTaken(2 * kEighth));
  Hold(8);
  TestClient newcomer(server_);
  EXPECT_EQ(newcomer.Ask(Announce(3 * kEighth / 2, "/", kAsking)).status, 503);
  EXPECT_EQ(server_.counters().bodies_given_way, 0U);
}

TEST_F(RequestBytes, ARequestCountsUntilItIsAnsweredThoughItsClientHasGone) {
  Hold(2);
  holders_[0].Reset();
  ASSERT_TRUE(server_.WaitFor([&] { return server_.connections().open() == 1; }));
  EXPECT_EQ(server_.request_budget().taken(), 2 * kSmall);
  server_.OnLoop([&] { replies_.clear(); });
  EXPECT_EQ(server_.request_budget().taken(), 0U);
  // A body that never came to its end.
  TestClient half(server_);
  half.Send(Post(kEighth).substr(0, kEighth - 1000));
  ASSERT_TRUE(WaitForTaken(kEighth));
  half.Reset();
  EXPECT_TRUE(WaitForTaken(0));
}

TEST_F(RequestBytes, BulkLeavesRoomForTheOthers) {
  Hold(12, "/bulk");
  TestClient third(server_);
  EXPECT_EQ(third.Ask(Post(100, "/bulk?x=1")).status, 503);
  third.Send(Post(kSmall));
  ASSERT_TRUE(WaitForReplies(13));
  EXPECT_EQ(server_.request_budget().taken(), 6 * kEighth + kSmall);
}

// At least 1,000 bytes in every 50 ms.
Settings MinimumRate() {
  Settings settings;
  settings.limits.upload_bytes_per_second_min = 20'000;
  settings.limits.upload_grace_ms = 50;
  return settings;
}

// Sends `drop` now and then until the server has had enough.
void TrickleUntilTooSlow(TestServer& server, TestClient& client, std::string_view drop) {
  while (server.counters().slow_uploads == 0 && client.Send(drop)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

TEST(SlowUploads, AreAnswered408AndClosed) {
  for (const std::string& head :
       {Announce(1'000'000),
        std::string("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")}) {
    TestServer server(Echo, MinimumRate());
    TestClient client(server);
    client.Send(head);
    TrickleUntilTooSlow(server, client, "1\r\nx\r\n");
    const TestReply reply = client.Read();
    EXPECT_EQ(reply.status, 408);
    EXPECT_EQ(reply.Header("Connection"), "close");
    EXPECT_TRUE(client.AtEnd());
    EXPECT_EQ(server.request_budget().taken(), 0U);
  }
}

TEST(SlowUploads, AFastBeginningIsNoCredit) {
  TestServer server(Echo, MinimumRate());
  TestClient client(server);
  client.Send(Announce(1'000'000) + std::string(900'000, 'x'));
  EXPECT_EQ(client.Read().status, 408);
}

TEST(SlowUploads, CountWhileAReplyIsOwedToo) {
  std::optional<Reply> pending;
  TestServer server([&](Request, Reply reply) { pending = std::move(reply); }, MinimumRate());
  TestClient client(server);
  client.Send(GetRequest("/") + Announce(1'000'000) + "x");
  ASSERT_TRUE(server.WaitFor([&] { return server.connections().counters().slow_uploads == 1; }));
  EXPECT_EQ(server.request_budget().taken(), 0U);
  server.OnLoop([&] { pending->Send({}); });
  EXPECT_EQ(client.Read().status, 200);
  EXPECT_EQ(client.Read().status, 408);
}

TEST(SlowUploads, WhoWaitsForUsIsNotSlow) {
  std::optional<Reply> pending;
  Settings settings = MinimumRate();
  settings.limits.idle_timeout_ms = 200;
  TestServer server([&](Request, Reply reply) { pending = std::move(reply); }, settings);
  // The 100 of the second request comes after the reply to the first.
  TestClient client(server);
  client.Send(GetRequest("/") + Announce(2, "/", kAsking));
  ASSERT_TRUE(server.WaitFor([&] { return pending.has_value(); }));
  TestClient idle(server);
  EXPECT_TRUE(idle.AtEnd());  // time has passed
  EXPECT_EQ(server.counters().slow_uploads, 0U);
  server.OnLoop([&] { std::exchange(pending, {})->Send({}); });
  EXPECT_EQ(client.Read().status, 200);
  EXPECT_EQ(client.Ask("").status, 100);
  client.Send("{}");
  ASSERT_TRUE(server.WaitFor([&] { return pending.has_value(); }));
  server.OnLoop([&] { pending->Send({}); });
  EXPECT_EQ(client.Read().status, 200);
}

// ---- who may not send one

class StrangersBodies : public testing::Test {
 protected:
  static Settings MakeSettings() {
    Settings settings;
    settings.refuse_body = [](Request& head) -> std::optional<Response> {
      EXPECT_TRUE(head.body().empty());
      EXPECT_NE(head.peer().address, "");
      if (head.Header("Authorization")) return std::nullopt;
      return ErrorResponse(Status(Code::kUnauthenticated));
    };
    return settings;
  }

  int handled_ = 0;
  TestServer server_{[this](Request request, Reply reply) {
                       ++handled_;
                       reply.Send(Response::Json(200, request.TakeBody()));
                     },
                     MakeSettings()};
};

TEST_F(StrangersBodies, AreNotRead) {
  for (const std::string& head :
       {Announce(1'000'000), Announce(1'000'000, "/", kAsking), Announce(1'000'000) + "x",
        std::string("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab")}) {
    TestClient client(server_);
    client.Send(head);
    const TestReply reply = client.Read();
    EXPECT_EQ(reply.status, 401) << head;
    EXPECT_EQ(reply.Header("Connection"), "close") << head;
    EXPECT_EQ(server_.OnLoop([&] { return server_.request_budget().taken(); }), 0U);
  }
  EXPECT_EQ(server_.OnLoop([&] { return handled_; }), 0);
}

TEST_F(StrangersBodies, WhoIsKnownIsServedInWhateverPieces) {
  TestClient client(server_);
  const std::string fields = "Authorization: x\r\n";
  const std::string body(200'000, 'y');
  for (const size_t first : {size_t{0}, size_t{1}, body.size()}) {
    client.Send(Announce(body.size(), "/", fields) + body.substr(0, first));
    client.Send(body.substr(first));
    EXPECT_EQ(client.Read().body, body);
  }
  EXPECT_EQ(client.Ask(GetRequest("/")).status, 200);
}

}  // namespace
}  // namespace queen::http
