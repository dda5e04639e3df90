#include "embedded/child_process.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "embedded/testing.h"

namespace queen::embedded {
namespace {

Command Shell(const std::string& script) {
  Command command;
  command.argv = {"/bin/sh", "-c", script};
  command.environment = PlainEnvironment();
  return command;
}

TEST(ChildProcess, ReportsHowItEnded) {
  for (const auto& [script, expected] :
       {std::pair<std::string, std::string>{"exit 3", "exit status 3"},
        {"kill -9 $$", "killed by signal 9 (Killed)"},
        {"true", "exit status 0"}}) {
    Loop loop("test");
    std::unique_ptr<ChildProcess> child;
    std::string ended;
    loop.Post([&, script = script] {
      child = *ChildProcess::Start(loop, Shell(script), [&](int wait_status) {
        ended = DescribeExit(wait_status);
        child.reset();
        loop.Stop();
      });
    });
    loop.Run();
    EXPECT_EQ(ended, expected);
  }
}

TEST(ChildProcess, WhatCannotRunIsAnErrorThatNamesTheStep) {
  Command command = Shell("true");
  command.argv[0] = "/nowhere/program";
  EXPECT_NE(Spawn(command).status().message().find("execute the program"), std::string::npos);
  command = Shell("true");
  command.directory = "/nowhere";
  EXPECT_NE(Spawn(command).status().message().find("working directory"), std::string::npos);
}

TEST(RunCommand, GivesNothingOfTheBrokerToTheChild) {
  ASSERT_EQ(setenv("PGDATA", "/wrong", 1), 0);
  const int leaked = open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  ASSERT_GE(leaked, 3);
  // Lists the descriptors without needing one more, then the environment and the ignored signals.
  signal(SIGPIPE, SIG_IGN);
  const Result<CommandOutput> output = RunCommand(
      Shell("for fd in 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$fd ] && echo \"leaked $fd\"; done; env; "
            "grep SigIgn /proc/$$/status; umask"));
  signal(SIGPIPE, SIG_DFL);
  close(leaked);
  unsetenv("PGDATA");
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->text.find("leaked"), std::string::npos) << output->text;
  EXPECT_EQ(output->text.find("PGDATA"), std::string::npos) << output->text;
  const size_t ignored = output->text.find("SigIgn:\t");
  ASSERT_NE(ignored, std::string::npos) << output->text;
  // Signals 32 and 33 are the C library's own: whoever started us may have them ignored, and nobody
  // can change that.
  constexpr uint64_t kLibrarySignals = uint64_t{3} << 31;
  EXPECT_EQ(std::stoull(output->text.substr(ignored + 8), nullptr, 16) & ~kLibrarySignals, 0U)
      << output->text;
  EXPECT_NE(output->text.find("0077"), std::string::npos) << output->text;
}

TEST(RunCommand, EndsWhatTakesTooLong) {
  EXPECT_FALSE(RunCommand(Shell("exec sleep 60"), 100).ok());
}

TEST(Spawn, TheChildDiesWithTheThreadThatForkedIt) {
  Command command = Shell("exec sleep 60");
  command.death_signal = SIGTERM;
  pid_t pid = 0;
  std::thread([&] { pid = *Spawn(command); }).join();
  int wait_status = 0;
  ASSERT_EQ(waitpid(pid, &wait_status, 0), pid);
  EXPECT_TRUE(WIFSIGNALED(wait_status));
  EXPECT_EQ(WTERMSIG(wait_status), SIGTERM);
}

TEST(Spawn, RunsAsTheClustersUserWithNoWayBack) {
  if (geteuid() != 0) GTEST_SKIP() << "only root changes users";
  const ClusterUser user = *FindClusterUser("postgres");
  Command command = Shell("id -u; id -g; id -G; kill -0 1 2>/dev/null && echo privileged");
  command.user = &user;
  const Result<CommandOutput> output = RunCommand(command);
  ASSERT_TRUE(output.ok());
  EXPECT_TRUE(output->text.starts_with(fmt::format("{}\n{}\n", user.uid, user.gid)))
      << output->text;
  EXPECT_EQ(output->text.find("privileged"), std::string::npos);
}

}  // namespace
}  // namespace queen::embedded
