// ChildProcess: a program started without a shell and watched from the loop. The child gets its
// own session (a Ctrl-C in the terminal reaches the broker only, which then stops its children in
// order), an environment of its own (nothing like PGDATA or NOTIFY_SOCKET leaks in), no descriptors
// but the three standard ones, and a signal that the kernel sends it when the broker dies.
//
// That signal follows the *thread* that forked: start children only from a loop whose thread lives
// as long as they should.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_function.h"
#include "embedded/cluster_user.h"
#include "loop/loop.h"

namespace queen::embedded {

struct Command {
  std::vector<std::string> argv;         // argv[0] is the absolute path of the program
  std::string directory = "/";           // where it runs
  std::vector<std::string> environment;  // "NAME=value"
  const ClusterUser* user = nullptr;     // who runs it; nullptr = the broker's user
  int output_fd = -1;                    // its standard output and error; -1 = /dev/null
  int death_signal = 0;                  // sent to it when the forking thread ends; 0 = none
};

// What a program needs to find its libraries and speak English, and nothing else.
std::vector<std::string> PlainEnvironment();

// Forks and executes. An error means that nothing runs: the message names the step that failed.
// The caller must reap the returned pid. Any thread.
Result<pid_t> Spawn(const Command& command);

// "exit status 1", "killed by signal 9 (Killed)".
std::string DescribeExit(int wait_status);

class ChildProcess {
 public:
  // Called once, on the loop, with waitpid's status; may destroy the ChildProcess.
  using ExitCallback = UniqueFunction<void(int wait_status)>;

  static Result<std::unique_ptr<ChildProcess>> Start(Loop& loop, const Command& command,
                                                     ExitCallback on_exit);

  // Stops watching. A child that still lives goes on and is never reaped by us.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Does nothing once the child has been reaped, so a reused pid is never hit.
  void Kill(int signal);

 private:
  struct Watch;
  explicit ChildProcess(Loop& loop) : loop_(loop) {}
  void Reap();

  Loop& loop_;
  pid_t pid_ = -1;
  bool reaped_ = false;
  ExitCallback on_exit_;
  Watch* watch_ = nullptr;  // freed by its close callback
};

}  // namespace queen::embedded
