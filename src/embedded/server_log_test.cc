#include "embedded/server_log.h"

#include "embedded/testing.h"

namespace queen::embedded {
namespace {

TEST(ServerLog, TailShowsTheLastLinesOfThisRun) {
  const TestDirectory directory;
  const std::string path = directory / "postgres.log";
  std::ofstream(path) << "old\n";
  const int64_t from = ServerLogSize(path);
  std::ofstream(path, std::ios::app) << "one\ntwo\n\nthree\n";
  EXPECT_EQ(TailOfServerLog(path, from), "one | two | three");
  EXPECT_EQ(TailOfServerLog(path, from, 2), "two | three");
  EXPECT_EQ(TailOfServerLog(path, 1'000'000, 1), "three");
  EXPECT_EQ(TailOfServerLog(directory / "none", 0), "");
}

TEST(ServerLog, IsCutShortWhileTheServerWrites) {
  const TestDirectory directory;
  const std::string path = directory / "postgres.log";
  const Result<int> fd = OpenServerLog(path);
  ASSERT_TRUE(fd.ok());
  ASSERT_EQ(write(*fd, "before\n", 7), 7);
  LimitServerLog(path, 100);
  EXPECT_EQ(ReadFile(path), "before\n");
  LimitServerLog(path, 3);
  EXPECT_EQ(ReadFile(path), "");
  EXPECT_EQ(ReadFile(path + ".1"), "before\n");
  ASSERT_EQ(write(*fd, "after\n", 6), 6);
  EXPECT_EQ(ReadFile(path), "after\n");
  close(*fd);
}

}  // namespace
}  // namespace queen::embedded
