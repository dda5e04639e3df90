#include "http/acceptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <sched.h>
#include <sys/resource.h>

#include <chrono>
#include <deque>
#include <thread>

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

bool HasIpv6Loopback() { return Acceptor::Listen("::1", 0).ok(); }

// A connected socket, or none.
UniqueFd ConnectTo(const char* host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  EXPECT_EQ(getaddrinfo(host, std::to_string(port).c_str(), &hints, &found), 0);
  UniqueFd socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const bool connected = connect(socket.get(), found->ai_addr, found->ai_addrlen) == 0;
  freeaddrinfo(found);
  return connected ? std::move(socket) : UniqueFd();
}

TEST(Acceptor, ListensOnEveryAddressOfAList) {
  TestServer server(Echo);
  auto acceptor = Acceptor::Listen("127.0.0.2, 127.0.0.1,::1", 0);
  ASSERT_TRUE(acceptor.ok()) << acceptor.status().message();
  (*acceptor)->Start({&server.connections()});
  const uint16_t port = (*acceptor)->port();
  EXPECT_EQ((*acceptor)->url(), "http://127.0.0.2:" + std::to_string(port));
  EXPECT_TRUE(ConnectTo("127.0.0.1", port));
  EXPECT_TRUE(ConnectTo("127.0.0.2", port));
  EXPECT_FALSE(ConnectTo("127.0.0.3", port));
  EXPECT_EQ(static_cast<bool>(ConnectTo("::1", port)), HasIpv6Loopback());
  (*acceptor)->Stop();
}

TEST(Acceptor, AnAddressOfAListThatCannotBeBoundIsAnError) {
  const auto foreign = Acceptor::Listen("127.0.0.1,192.0.2.1", 0);
  ASSERT_FALSE(foreign.ok());
  EXPECT_TRUE(foreign.status().message().starts_with("Cannot listen on 192.0.2.1:"));
  if (!HasIpv6Loopback()) GTEST_SKIP() << "there is no ::1";
  auto taken = Acceptor::Listen("::1", 0);
  ASSERT_TRUE(taken.ok());
  const auto second = Acceptor::Listen("127.0.0.1,::1", (*taken)->port());
  ASSERT_FALSE(second.ok());
  EXPECT_TRUE(second.status().message().starts_with("Cannot listen on [::1]:"));
}

TEST(Acceptor, TheIpv6LoopbackMayBeMissingBesideOthers) {
  std::thread([] {
    // This thread alone gets a network without any address.
    if (unshare(CLONE_NEWNET) != 0) GTEST_SKIP() << "needs the right to make a network";
    ASSERT_FALSE(Acceptor::Listen("::1", 0).ok());
    const auto acceptor = Acceptor::Listen("0.0.0.0,::1", 0);
    EXPECT_TRUE(acceptor.ok()) << acceptor.status().message();
    EXPECT_FALSE(Acceptor::Listen("0.0.0.0,127.0.0.1", 0).ok());
  }).join();
}

TEST(Acceptor, BothWildcardsMayBeNamed) {
  if (!HasIpv6Loopback()) GTEST_SKIP() << "there is no ::1";
  TestServer server(Echo);
  auto acceptor = Acceptor::Listen("0.0.0.0,::", 0);
  ASSERT_TRUE(acceptor.ok()) << acceptor.status().message();
  (*acceptor)->Start({&server.connections()});
  EXPECT_TRUE(ConnectTo("127.0.0.1", (*acceptor)->port()));
  EXPECT_TRUE(ConnectTo("::1", (*acceptor)->port()));
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

TEST(Acceptor, WhoHasConnectedWhenItStopsIsServed) {
  TestServer server(Echo);
  auto acceptor = Acceptor::Listen("127.0.0.1", 0);
  ASSERT_TRUE(acceptor.ok());
  TestClient client((*acceptor)->port());  // waits in the backlog
  (*acceptor)->Start({&server.connections()});
  (*acceptor)->Stop();
  EXPECT_EQ(client.Ask(GetRequest("/")).status, 200);
}

// Takes every file descriptor the process may still open.
class NoDescriptorsLeft {
 public:
  NoDescriptorsLeft() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit small = before_;
    small.rlim_cur = 256;
    setrlimit(RLIMIT_NOFILE, &small);
    // Also the one that accept4 borrows for a moment when it looks for a client.
    for (int round = 0; round < 50; ++round) {
      while (UniqueFd fd{open("/dev/null", O_RDONLY | O_CLOEXEC)}) taken_.push_back(std::move(fd));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  ~NoDescriptorsLeft() { setrlimit(RLIMIT_NOFILE, &before_); }
  void GiveBack(size_t count) { taken_.resize(taken_.size() - count); }

 private:
  rlimit before_{};
  std::vector<UniqueFd> taken_;
};

TEST(Acceptor, WithoutADescriptorLeftClientsAreToldAndClosed) {
  TestServer server(Echo);
  // The logger and UBSan open files the first time they are used.
  log::Info("no file descriptors are left from here on");
  TestClient before(server);
  EXPECT_EQ(before.Ask(GetRequest("/")).status, 200);
  NoDescriptorsLeft none;
  std::deque<TestClient> refused;
  for (int i = 0; i < 3; ++i) {
    none.GiveBack(1);
    refused.emplace_back(server);  // takes it
    EXPECT_EQ(refused.back().Read().status, 503);
    EXPECT_TRUE(refused.back().AtEnd());
  }
  EXPECT_EQ(server.acceptor().refused(), 3U);
  none.GiveBack(4);
  EXPECT_EQ(before.Ask(GetRequest("/")).status, 200);
  TestClient after(server);
  EXPECT_EQ(after.Ask(GetRequest("/")).status, 200);
}

}  // namespace
}  // namespace queen::http
