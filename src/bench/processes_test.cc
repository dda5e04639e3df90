#include "bench/processes.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace queen::bench {
namespace {

TEST(ProcessesTest, AStatLineIsReadWhateverTheName) {
  const auto process =
      ParseStat("42 (a) b (c) S 7 42 42 0 -1 4194560 100 200 0 0 150 50 30 20 20 0 3 0 1 2 3", 100);
  ASSERT_TRUE(process);
  EXPECT_EQ(process->pid, 42);
  EXPECT_EQ(process->parent, 7);
  EXPECT_EQ(process->name, "a) b (c");
  EXPECT_DOUBLE_EQ(process->own_seconds, 2.0);
  EXPECT_DOUBLE_EQ(process->reaped_seconds, 0.5);
  EXPECT_FALSE(ParseStat("", 100));
  EXPECT_FALSE(ParseStat("42 (name) S 7 42", 100));
}

TEST(ProcessesTest, APostmasterIsTheBrokersChildOrTheOnlyOne) {
  const std::vector<Process> one = {{.pid = 1, .parent = 0, .name = "init"},
                                    {.pid = 10, .parent = 1, .name = "postgres"},
                                    {.pid = 11, .parent = 10, .name = "postgres"}};
  EXPECT_EQ(FindPostmaster(one, std::nullopt), 10);
  EXPECT_EQ(FindPostmaster(one, 99), 10);
  std::vector<Process> two = one;
  two.push_back({.pid = 20, .parent = 5, .name = "postgres"});
  two.push_back({.pid = 21, .parent = 20, .name = "postgres"});
  EXPECT_EQ(FindPostmaster(two, std::nullopt), std::nullopt);
  EXPECT_EQ(FindPostmaster(two, 5), 20);
  EXPECT_EQ(FindPostmaster({}, 5), std::nullopt);
}

TEST(ProcessesTest, AClusterIsThePostmasterAndEverythingBelow) {
  const std::vector<Process> processes = {
      {.pid = 10, .parent = 1, .own_seconds = 1, .reaped_seconds = 2},
      {.pid = 11, .parent = 10, .own_seconds = 4},
      {.pid = 12, .parent = 11, .own_seconds = 8},
      {.pid = 13, .parent = 1, .own_seconds = 100},
  };
  EXPECT_EQ(ClusterSeconds(processes, 10), 15);
  EXPECT_EQ(ClusterSeconds(processes, 99), std::nullopt);
}

TEST(ProcessesTest, ThisProcessIsFoundByThePortItListensOn) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  EXPECT_EQ(FindListener(ntohs(address.sin_port)), std::nullopt) << "it does not listen yet";
  ASSERT_EQ(listen(fd, 1), 0);
  EXPECT_EQ(FindListener(ntohs(address.sin_port)), getpid());
  close(fd);
}

TEST(ProcessesTest, ThisProcessCanBeRead) {
  const auto self = ReadProcess(getpid());
  ASSERT_TRUE(self);
  EXPECT_EQ(self->parent, getppid());
  EXPECT_GT(PeakMemoryBytes(getpid()).value_or(0), 1'000'000u);
  EXPECT_FALSE(ReadProcess(-1));
  EXPECT_FALSE(EmbeddedConninfo(getpid())) << "it is no postmaster";
}

}  // namespace
}  // namespace queen::bench
