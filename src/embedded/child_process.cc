#include "embedded/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace queen::embedded {
namespace {

// What the child says through the pipe when it cannot become the program.
struct ChildError {
  enum Step : int { kCredentials, kParentGone, kDirectory, kOutput, kExec } step;
  int error;
};

std::string_view NameOf(ChildError::Step step) {
  switch (step) {
    case ChildError::kCredentials:
      return "change to the cluster's user";
    case ChildError::kParentGone:
      return "find its parent alive";
    case ChildError::kDirectory:
      return "enter its working directory";
    case ChildError::kOutput:
      return "redirect its output";
    case ChildError::kExec:
      return "execute the program";
  }
  return "?";
}

// Descriptor 3 is the error pipe; everything above belongs to the broker.
void CloseFromFour() {
  if (syscall(SYS_close_range, 4U, ~0U, 0U) == 0) return;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int end = limit.rlim_cur > 65536 ? 65536 : static_cast<int>(limit.rlim_cur);
  for (int fd = 4; fd < end; ++fd) close(fd);
}

void ResetSignals() {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Moves `fd` to `target`, keeping it open across exec unless `cloexec`.
bool MoveTo(int fd, int target, bool cloexec) {
  if (fd == target) return fcntl(fd, F_SETFD, cloexec ? FD_CLOEXEC : 0) == 0;
  return dup3(fd, target, cloexec ? O_CLOEXEC : 0) >= 0;
}

// Runs in the child: only async-signal-safe calls from here to exec.
[[noreturn]] void BecomeProgram(const Command& command, char* const* argv, char* const* environment,
                                int error_fd, pid_t parent) {
  const auto fail = [](int fd, ChildError::Step step, int error) {
    const ChildError report{step, error};
    [[maybe_unused]] const ssize_t written = write(fd, &report, sizeof(report));
    _exit(127);
  };
  ResetSignals();
  setsid();
  umask(077);
  // Lifted out of the way first, so that placing 0..2 cannot overwrite either of them.
  const int high_error = fcntl(error_fd, F_DUPFD_CLOEXEC, 10);
  const int output =
      command.output_fd >= 0 ? fcntl(command.output_fd, F_DUPFD, 10) : open("/dev/null", O_WRONLY);
  const int input = open("/dev/null", O_RDONLY);
  if (high_error < 0 || output < 0 || input < 0 || !MoveTo(input, 0, false) ||
      !MoveTo(output, 1, false) || !MoveTo(output, 2, false) || !MoveTo(high_error, 3, true)) {
    fail(error_fd, ChildError::kOutput, errno);
  }
  CloseFromFour();
  if (command.user != nullptr) {
    if (const int error = BecomeClusterUser(*command.user); error != 0) {
      fail(3, ChildError::kCredentials, error);
    }
  }
  if (command.death_signal != 0) {
    // After the change of credentials, which would clear it. The parent may have died before.
    prctl(PR_SET_PDEATHSIG, command.death_signal);
    if (getppid() != parent) fail(3, ChildError::kParentGone, ESRCH);
  }
  if (chdir(command.directory.c_str()) != 0) fail(3, ChildError::kDirectory, errno);
  execve(argv[0], argv, environment);
  fail(3, ChildError::kExec, errno);
  _exit(127);
}

std::vector<char*> PointersOf(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::vector<std::string> PlainEnvironment() {
  return {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C",
          "TZ=UTC"};
}

Result<pid_t> Spawn(const Command& command) {
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
    return Status(Code::kInternal, fmt::format("no pipe: {}", std::strerror(errno)));
  }
  const std::vector<char*> argv = PointersOf(command.argv);
  const std::vector<char*> environment = PointersOf(command.environment);
  const pid_t parent = getpid();
  // No handler of the broker may run in the child before it has reset them.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  const int fork_error = errno;
  if (pid == 0) BecomeProgram(command, argv.data(), environment.data(), pipe_fds[1], parent);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  close(pipe_fds[1]);
  if (pid < 0) {
    close(pipe_fds[0]);
    return Status(Code::kInternal, fmt::format("fork failed: {}", std::strerror(fork_error)));
  }
  // Ends with the exec, which closes the other side.
  ChildError report{};
  ssize_t got = 0;
  do {
    got = read(pipe_fds[0], &report, sizeof(report));
  } while (got < 0 && errno == EINTR);
  close(pipe_fds[0]);
  if (got == 0) return pid;
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return Status(Code::kInternal, fmt::format("{} could not {}: {}", command.argv[0],
                                             NameOf(report.step), std::strerror(report.error)));
}

std::string DescribeExit(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return fmt::format("killed by signal {} ({})", signal, strsignal(signal));
  }
  return fmt::format("exit status {}", WEXITSTATUS(wait_status));
}

struct ChildProcess::Watch {
  uv_signal_t handle{};
  ChildProcess* child = nullptr;
};

Result<std::unique_ptr<ChildProcess>> ChildProcess::Start(Loop& loop, const Command& command,
                                                          ExitCallback on_exit) {
  loop.AssertOwner();
  std::unique_ptr<ChildProcess> child(new ChildProcess(loop));
  child->on_exit_ = std::move(on_exit);
  child->watch_ = new Watch;
  child->watch_->child = child.get();
  child->watch_->handle.data = child->watch_;
  uv_signal_init(loop.uv(), &child->watch_->handle);
  // Listening begins before the fork, so that no exit can slip through.
  uv_signal_start(
      &child->watch_->handle,
      [](uv_signal_t* handle, int) { static_cast<Watch*>(handle->data)->child->Reap(); }, SIGCHLD);
  Result<pid_t> pid = Spawn(command);
  if (!pid.ok()) return pid.status();
  child->pid_ = *pid;
  return child;
}

ChildProcess::~ChildProcess() {
  loop_.AssertOwner();
  if (watch_ == nullptr) return;
  uv_close(reinterpret_cast<uv_handle_t*>(&watch_->handle),
           [](uv_handle_t* handle) { delete static_cast<Watch*>(handle->data); });
}

void ChildProcess::Kill(int signal) {
  loop_.AssertOwner();
  if (!reaped_) kill(pid_, signal);
}

void ChildProcess::Reap() {
  if (reaped_ || pid_ < 0) return;
  int wait_status = 0;
  if (waitpid(pid_, &wait_status, WNOHANG) != pid_) return;
  reaped_ = true;
  uv_signal_stop(&watch_->handle);
  ExitCallback on_exit = std::move(on_exit_);
  on_exit(wait_status);
}

}  // namespace queen::embedded
