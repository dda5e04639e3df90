// The command line of the binary: commands, flags and --help, on top of load.h.
//
//   queen serve | config | migrate | bench | version | help
//
// Everything that needs neither a network nor a database is answered here, so that main only has
// `serve`, `migrate` and `bench` left to do; the words behind `bench` are its own and passed on
// unread. CLI11 is included by command_line.cc alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/setting.h"

namespace queen::config {

enum class Command { kServe, kMigrate, kBench };

// queen migrate: apply what is missing, or print the SQL that would.
struct MigrateArguments {
  bool print = false;
  bool all = false;  // with print: everything, as for an empty database, without connecting to one
};

// A command that is over: what main prints before it exits.
struct Finished {
  int exit_code = 0;
  std::string out;  // for standard output
  std::string err;  // for standard error
};

struct ParseResult {
  // When set, nothing else counts.
  std::optional<Finished> finished;

  Command command = Command::kServe;
  MigrateArguments migrate;
  std::vector<std::string> bench;  // the words behind `queen bench`
  Config config;
  std::vector<std::string> warnings;  // to be logged once logs are configured
};

// Exit codes: 0, or 2 when the command line or the configuration is wrong.
ParseResult ParseCommandLine(int argc, const char* const* argv, const Environment& environment);

// Overwrites connection strings with a password (--database-url, and --database of bench), so that
// who lists the processes of the machine does not see them for as long as this one runs.
void HidePasswords(int argc, char** argv);

}  // namespace queen::config
