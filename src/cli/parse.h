// From words to a command that is ready to run. CLI11 splits the words; what they mean is judged
// here, and every problem is told in one line.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace queen::cli {

struct Parsed {
  const Command* command = nullptr;  // null: nothing to run
  std::string path;                  // "queue show"
  bool wants_help = false;           // of `command`
  std::string problem;               // unless empty, the command line is wrong
};

// `root` is a command whose children are the commands of the first word. Fills the targets of the
// command that was found.
Parsed Parse(const Command& root, const std::vector<std::string>& words);

// The text of `queen PATH --help`.
std::string HelpOf(const Command& command, const std::string& path);

}  // namespace queen::cli
