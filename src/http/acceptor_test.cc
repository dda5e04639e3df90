#include "http/acceptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/log.h"
#include "http/test_server.h"

namespace queen::http {
namespace {

TEST(Acceptor, AFreePortIsReported) {
  auto acceptor = Acceptor::Listen("127.0.0.1", 0);
  ASSERT_TRUE(acceptor.ok());
  EXPECT_GT((*acceptor)->port(), 0);
}

TEST(Acceptor, ErrorsNameAddressAndReason) {
  auto taken = Acceptor::Listen("127.0.0.1", 0);
  ASSERT_TRUE(taken.ok());
  const uint16_t port = (*taken)->port();
  const auto again = Acceptor::Listen("127.0.0.1", port);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.status().message(),
            "Cannot listen on 127.0.0.1:" + std::to_string(port) + ": Address already in use");
  const auto foreign = Acceptor::Listen("192.0.2.1", 6632);
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.status().message(),
            "Cannot listen on 192.0.2.1:6632: Cannot assign requested address");
  const auto nowhere = Acceptor::Listen("host.invalid", 6632);
  ASSERT_FALSE(nowhere.ok());
  EXPECT_TRUE(nowhere.status().message().starts_with("Cannot listen on host.invalid:6632: "));
}

TEST(Acceptor, WildcardAndLocalhostServeIpv4) {
  for (const char* host : {"", "0.0.0.0", "localhost"}) {
    TestServer server(Echo);
    auto acceptor = Acceptor::Listen(host, 0);
    ASSERT_TRUE(acceptor.ok()) << host << ": " << acceptor.status().message();
    (*acceptor)->Start({&server.connections()});
    TestClient client((*acceptor)->port());
    EXPECT_EQ(client.Ask(GetRequest("/")).status, 200) << host;
    (*acceptor)->Stop();
  }
}

TEST(Acceptor, ServesIpv6WhereThereIsSome) {
  TestServer server(Echo);
  auto acceptor = Acceptor::Listen("::1", 0);
  if (!acceptor.ok()) GTEST_SKIP() << acceptor.status().message();
  (*acceptor)->Start({&server.connections()});
  UniqueFd socket(::socket(AF_INET6, SOCK_STREAM, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons((*acceptor)->port());
  address.sin6_addr = in6addr_loopback;
  EXPECT_EQ(connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_TRUE(server.WaitFor([&] { return server.connections().open() == 1; }));
  (*acceptor)->Stop();
}

TEST(Acceptor, WorkersTakeTurns) {
  TestServer a(Echo);
  TestServer b(Echo);
  auto acceptor = Acceptor::Listen("127.0.0.1", 0);
  ASSERT_TRUE(acceptor.ok());
  (*acceptor)->Start({&a.connections(), &b.connections()});
  std::vector<TestClient> clients;
  for (int i = 0; i < 10; ++i) clients.emplace_back((*acceptor)->port());
  EXPECT_TRUE(a.WaitFor([&] { return a.connections().open() == 5; }));
  EXPECT_TRUE(b.WaitFor([&] { return b.connections().open() == 5; }));
  (*acceptor)->Stop();
}

TEST(Acceptor, StopRefusesNewConnectionsAndKeepsTheOld) {
  TestServer server(Echo);
  TestClient client(server);
  EXPECT_EQ(client.Ask(GetRequest("/")).status, 200);
  const uint16_t port = server.port();
  server.acceptor().Stop();
  server.acceptor().Stop();
  EXPECT_EQ(client.Ask(GetRequest("/")).status, 200);
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_NE(connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(errno, ECONNREFUSED);
}

// Takes every file descriptor the process may still open.
class NoDescriptorsLeft {
 public:
  NoDescriptorsLeft() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit small = before_;
    small.rlim_cur = 256;
    setrlimit(RLIMIT_NOFILE, &small);
    while (true) {
      UniqueFd fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (!fd) break;
      taken_.push_back(std::move(fd));
    }
  }
  ~NoDescriptorsLeft() { setrlimit(RLIMIT_NOFILE, &before_); }
  void GiveBack(size_t count) { taken_.resize(taken_.size() - count); }

 private:
  rlimit before_{};
  std::vector<UniqueFd> taken_;
};

TEST(Acceptor, SurvivesRunningOutOfDescriptors) {
  TestServer server(Echo);
  // The logger and UBSan open files the first time they are used.
  log::Info("no file descriptors are left from here on");
  TestClient before(server);
  EXPECT_EQ(before.Ask(GetRequest("/")).status, 200);
  NoDescriptorsLeft none;
  none.GiveBack(1);
  TestClient client(server);  // takes the last one; its server side must wait
  client.Send(GetRequest("/"));
  while (server.acceptor().pauses() == 0) std::this_thread::yield();
  none.GiveBack(4);
  EXPECT_EQ(client.Read().status, 200);
}

}  // namespace
}  // namespace queen::http
