// The commands of an operator (`queen push`, `queen top`, ...): everything that talks to a broker
// over HTTP, on the client library in clients/cpp.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "config/command_line.h"
#include "config/setting.h"

namespace queen::cli {

// Names and summaries, for the list of all commands.
std::vector<config::OtherCommand> Commands();

// Whether these are the words of a shell that completes a command line.
bool IsCompletion(const std::vector<std::string>& words);

// Runs one of them, or completes. `words` are those behind "queen". Prints to standard output and
// error; answers the exit code (exit_codes.h).
int RunCli(const std::vector<std::string>& words, const config::Environment& environment);

}  // namespace queen::cli
