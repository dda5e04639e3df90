#include "embedded/run_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/clock.h"

namespace queen::embedded {
namespace {

constexpr size_t kOutputBytesMax = size_t{64} * 1024;

// Reads until end of file; false when the deadline passed first.
bool ReadAll(int fd, int64_t deadline_ms, std::string& text) {
  char buffer[4096];
  while (true) {
    const int64_t left_ms = deadline_ms - SteadyMillis();
    if (left_ms <= 0) return false;
    pollfd event{fd, POLLIN, 0};
    if (poll(&event, 1, static_cast<int>(left_ms)) <= 0) continue;
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    if (text.size() < kOutputBytesMax) text.append(buffer, static_cast<size_t>(got));
  }
}

}  // namespace

Result<CommandOutput> RunCommand(Command command, int64_t timeout_ms) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return Status(Code::kInternal, fmt::format("no pipe: {}", std::strerror(errno)));
  }
  command.output_fd = fds[1];
  const Result<pid_t> pid = Spawn(command);
  close(fds[1]);
  if (!pid.ok()) {
    close(fds[0]);
    return pid.status();
  }
  CommandOutput output;
  const bool ended = ReadAll(fds[0], SteadyMillis() + timeout_ms, output.text);
  close(fds[0]);
  if (!ended) kill(*pid, SIGKILL);
  while (waitpid(*pid, &output.wait_status, 0) < 0 && errno == EINTR) {
  }
  if (!ended) {
    return Status(Code::kInternal,
                  fmt::format("{} did not end in {} ms", command.argv[0], timeout_ms));
  }
  return output;
}

}  // namespace queen::embedded
