#include "embedded/data_directory.h"

#include <pwd.h>
#include <sys/wait.h>

#include "embedded/testing.h"

namespace queen::embedded {
namespace {

namespace fs = std::filesystem;

ClusterUser User() { return *FindClusterUser("postgres"); }

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

uid_t OwnerOf(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? info.st_uid : static_cast<uid_t>(-1);
}

TEST(DataDirectory, MakesItsPartsPrivate) {
  const TestDirectory parent;
  const Result<DataDirectory> directory = DataDirectory::Open(parent / "a/b/data", User());
  ASSERT_TRUE(directory.ok()) << directory.status().message();
  const Layout& layout = directory->layout();
  EXPECT_EQ(layout.root, parent / "a/b/data");
  EXPECT_EQ(layout.socket_directory, parent / "a/b/data/run");
  EXPECT_EQ(ModeOf(layout.socket_directory), 0700U);
  EXPECT_EQ(OwnerOf(layout.socket_directory), User().uid);
  EXPECT_EQ(ModeOf(layout.root) & 07, 0U) << "open to everybody";
  EXPECT_EQ(ReadFile(layout.lock_file), fmt::format("{}\n", getpid()));
}

TEST(DataDirectory, SecondHolderIsRefusedWithThePathAndThePid) {
  const TestDirectory parent;
  {
    const Result<DataDirectory> first = DataDirectory::Open(parent / "data", User());
    ASSERT_TRUE(first.ok());
    // Another name of the same directory is no way around it.
    fs::create_directory_symlink(parent / "data", parent / "alias");
    for (const char* name : {"data", "alias", "data/", "./data/../data"}) {
      const Result<DataDirectory> second = DataDirectory::Open(parent / name, User());
      ASSERT_FALSE(second.ok()) << name;
      const std::string& message = second.status().message();
      EXPECT_NE(message.find(parent / "data"), std::string::npos) << message;
      EXPECT_NE(message.find(fmt::format("pid {}", getpid())), std::string::npos) << message;
    }
  }
  EXPECT_TRUE(DataDirectory::Open(parent / "data", User()).ok());
}

TEST(DataDirectory, TheLockEndsWithItsHolder) {
  const TestDirectory parent;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t holder = fork();
  if (holder == 0) {
    const Result<DataDirectory> held = DataDirectory::Open(parent / "data", User());
    [[maybe_unused]] const ssize_t wrote = write(ready[1], held.ok() ? "y" : "n", 1);
    pause();
    _exit(0);
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  const Result<DataDirectory> refused = DataDirectory::Open(parent / "data", User());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find(fmt::format("pid {}", holder)), std::string::npos);
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  EXPECT_TRUE(DataDirectory::Open(parent / "data", User()).ok());
  close(ready[0]);
  close(ready[1]);
}

TEST(DataDirectory, NamesThatCannotWork) {
  const TestDirectory parent;
  EXPECT_FALSE(DataDirectory::Open("", User()).ok());
  EXPECT_FALSE(DataDirectory::Open(parent / "new\nline", User()).ok());
  std::ofstream(parent / "file") << "x";
  const Result<DataDirectory> file = DataDirectory::Open(parent / "file", User());
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.status().message().find("not a directory"), std::string::npos);
  const Result<DataDirectory> below = DataDirectory::Open(parent / "file/below", User());
  ASSERT_FALSE(below.ok());
  EXPECT_NE(below.status().message().find(parent / "file/below"), std::string::npos);
}

TEST(DataDirectory, NotWritableNamesTheDirectory) {
  // /proc takes no files from anybody, root included.
  const Result<DataDirectory> refused = DataDirectory::Open("/proc/self", User());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("cannot write in the data directory /proc/"),
            std::string::npos)
      << refused.status().message();
}

TEST(DataDirectory, AComponentTheClustersUserMayNotEnterIsNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "only a broker run by root drops its privileges";
  const TestDirectory parent;
  fs::create_directories(parent / "closed/inner/data");
  chmod((parent / "closed").c_str(), 0700);
  const Result<DataDirectory> refused = DataDirectory::Open(parent / "closed/inner/data", User());
  ASSERT_FALSE(refused.ok());
  const std::string& message = refused.status().message();
  EXPECT_NE(message.find("may not enter " + (parent / "closed,")), std::string::npos) << message;
  EXPECT_EQ(ModeOf(parent / "closed"), 0700U) << "a directory that is not ours was changed";
}

TEST(DataDirectory, OpensItselfToTheClustersGroupOnly) {
  if (geteuid() != 0) GTEST_SKIP() << "only a broker run by root drops its privileges";
  const TestDirectory parent;
  fs::create_directory(parent / "data");
  chmod((parent / "data").c_str(), 0700);
  ASSERT_TRUE(DataDirectory::Open(parent / "data", User()).ok());
  EXPECT_EQ(ModeOf(parent / "data"), 0710U);
}

TEST(DataDirectory, AClusterOfSomebodyElseIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to give a directory away";
  const TestDirectory parent;
  fs::create_directories(parent / "data/postgres");  // root's
  const Result<DataDirectory> refused = DataDirectory::Open(parent / "data", User());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("belongs to user id 0"), std::string::npos);
}

TEST(DataDirectory, LongPathMovesTheSocketToAPrivateDirectory) {
  const TestDirectory parent;
  const std::string path = parent / std::string(120, 'x');
  const Result<DataDirectory> directory = DataDirectory::Open(path, User());
  ASSERT_TRUE(directory.ok()) << directory.status().message();
  const std::string& socket = directory->layout().socket_directory;
  EXPECT_TRUE(socket.starts_with("/tmp/queen-")) << socket;
  EXPECT_LT(socket.size(), 80U);
  EXPECT_EQ(ModeOf(socket), 0700U);
  EXPECT_EQ(OwnerOf(socket), User().uid);
  fs::remove(socket);
}

TEST(DataDirectory, AFallbackThatAStrangerMadeFirstIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to play the stranger";
  const TestDirectory parent;
  const std::string path = parent / std::string(120, 'y');
  const std::string socket = LayoutOf(path, User().uid).socket_directory;
  ASSERT_EQ(mkdir(socket.c_str(), 0777), 0);
  ASSERT_EQ(chown(socket.c_str(), 65534, 65534), 0);
  EXPECT_FALSE(DataDirectory::Open(path, User()).ok());
  fs::remove(socket);
  ASSERT_EQ(symlink(parent.path().c_str(), socket.c_str()), 0);
  EXPECT_FALSE(DataDirectory::Open(path, User()).ok());
  fs::remove(socket);
}

TEST(LayoutOf, TheSocketPathFitsExactlyOrMoves) {
  // The kernel takes 107 characters; "/run/.s.PGSQL.5432" are 18 of them.
  EXPECT_EQ(LayoutOf("/" + std::string(88, 'd'), 1).socket_directory,
            "/" + std::string(88, 'd') + "/run");
  EXPECT_TRUE(LayoutOf("/" + std::string(89, 'd'), 1).socket_directory.starts_with("/tmp/"));
  EXPECT_TRUE(LayoutOf("/a,b", 1).socket_directory.starts_with("/tmp/"));
  EXPECT_NE(LayoutOf("/a,b", 1).socket_directory, LayoutOf("/a,c", 1).socket_directory);
}

TEST(ClusterUser, RootNeedsAnExistingUnprivilegedUser) {
  if (geteuid() != 0) GTEST_SKIP() << "any other user runs the cluster itself";
  EXPECT_TRUE(FindClusterUser("postgres").ok());
  EXPECT_NE(FindClusterUser("no-such-user").status().message().find("\"no-such-user\""),
            std::string::npos);
  EXPECT_FALSE(FindClusterUser("root").ok());
}

}  // namespace
}  // namespace queen::embedded
