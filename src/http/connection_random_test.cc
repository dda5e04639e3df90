// Random and mutated requests: whatever arrives, each client is answered or closed, and the server
// lives on to serve a good request. QUEEN_TEST_SEED replays a run.
#include <gtest/gtest.h>

#include "http/test_server.h"

namespace queen::http {
namespace {

const std::vector<std::string>& GoodOnes() {
  static const std::vector<std::string> good = {
      GetRequest("/api/v1/pop/queue/orders?batch=10&wait=true"),
      PostRequest("/api/v1/push", R"({"items":[{"queue":"q","payload":{"a":1}}]})", "X: y\r\n"),
      ("POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;e=1\r\nabc\r\n0\r\nT: "
       "1\r\n\r\n"),
      "OPTIONS * HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
      "GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
      PostRequest("/e", "xy", "Expect: 100-continue\r\n"),
  };
  return good;
}

// Pieces that parsers have stumbled over.
const std::vector<std::string>& Nasty() {
  static const std::vector<std::string> nasty = {
      "\r\n",
      "\n",
      "\r",
      std::string(1, '\0'),
      "\r\n\r\n",
      ": ",
      " ",
      "\t",
      "%",
      "%00",
      "%ff",
      "Content-Length: 5\r\n",
      "Content-Length: 18446744073709551616\r\n",
      "Transfer-Encoding: chunked\r\n",
      "Transfer-Encoding: xchunked\r\n",
      "Expect: 100-continue\r\n",
      "Connection: upgrade\r\nUpgrade: h2c\r\n",
      "HTTP/1.1",
      "HTTP/2.0",
      "\xff\xfe",
      "\xc3",
      "ffffffffffffffff\r\n",
      "0\r\n\r\n",
      ";",
      "GET ",
      "Host: a\r\n",
  };
  return nasty;
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  std::string Next() {
    std::string bytes;
    if (Below(10) == 0) {
      bytes.resize(Below(200) + 1);
      for (char& c : bytes) c = static_cast<char>(Below(256));
      return bytes;
    }
    for (size_t i = Below(3) + 1; i > 0; --i) bytes += Pick(GoodOnes());
    for (size_t i = Below(6); i > 0; --i) Mutate(bytes);
    return bytes;
  }
  size_t Below(size_t bound) {
    return static_cast<size_t>(RandomBetween(random_, 0, static_cast<int64_t>(bound) - 1));
  }

 private:
  const std::string& Pick(const std::vector<std::string>& from) { return from[Below(from.size())]; }

  void Mutate(std::string& bytes) {
    if (bytes.empty()) return;
    const size_t at = Below(bytes.size());
    switch (Below(5)) {
      case 0:
        bytes[at] = static_cast<char>(Below(256));
        break;
      case 1:
        bytes.insert(at, Pick(Nasty()));
        break;
      case 2:
        bytes.erase(at, Below(20) + 1);
        break;
      case 3:
        bytes.insert(at, bytes.substr(Below(bytes.size()), Below(50)));
        break;
      default:
        bytes.resize(at);
    }
  }

  std::mt19937_64 random_;
};

TEST(ConnectionRandom, TenThousandRequestsAndStillAlive) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("QUEEN_TEST_SEED=" + std::to_string(seed));
  Mutator mutator(seed);
  Router router;
  router.Add(Method::kGet, "/api/v1/pop/queue/:queue", Echo);
  router.Add(Method::kPost, "/api/v1/push", Echo);
  router.Add(Method::kPost, "/c", Echo);
  router.Add(Method::kGet, "/old", Echo);
  TestServer server(
      [&](Request request, Reply reply) { router.Dispatch(std::move(request), std::move(reply)); });
  for (int i = 0; i < 10'000; ++i) {
    const std::string bytes = mutator.Next();
    TestClient client(server);
    const size_t cut = mutator.Below(bytes.size() + 1);
    client.Send(std::string_view(bytes).substr(0, cut));
    client.Send(std::string_view(bytes).substr(cut));
    client.ShutdownWrite();
    const std::string answers = client.ReadToEnd();
    if (!answers.empty()) {
      ASSERT_TRUE(answers.starts_with("HTTP/1.1 ")) << "request " << i;
      const std::string status = answers.substr(9, 3);
      ASSERT_TRUE(status[0] == '2' || status[0] == '4' || status == "100" || status == "501" ||
                  status == "505")
          << "request " << i << ": " << status;
    }
    if (i % 100 == 0) {
      TestClient good(server);
      ASSERT_EQ(good.Ask(GetRequest("/old")).status, 200) << "after request " << i;
    }
  }
  EXPECT_TRUE(server.WaitFor([&] { return server.connections().open() == 0; }));
  const Counters counters = server.counters();
  EXPECT_GT(counters.parse_errors, 1000U);
  EXPECT_GT(counters.requests, 1000U);
}

}  // namespace
}  // namespace queen::http
