// Runs a short program to its end and returns what it printed. Blocks, so it is for questions
// answered in milliseconds, such as a version, asked while the broker starts.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "embedded/child_process.h"

namespace queen::embedded {

struct CommandOutput {
  int wait_status = 0;
  std::string text;  // standard output and error, at most the first 64 KiB
  bool succeeded() const { return wait_status == 0; }
};

// An error means that it could not be started or was killed after `timeout_ms`.
Result<CommandOutput> RunCommand(Command command, int64_t timeout_ms = 10'000);

}  // namespace queen::embedded
