// The command line of the binary: commands, flags and --help, on top of load.h.
//
//   queen serve | config | migrate | token | bench | version | help, and others that main names
//
// Everything that needs neither a network nor a database is answered here, so that main only has
// `serve`, `migrate`, `token`, `bench` and the others left to do; the words of `bench` and of the
// others are their own and passed on unread. CLI11 is included by command_line.cc alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/setting.h"

namespace queen::config {

enum class Command { kServe, kMigrate, kToken, kBench, kOther };

// A command that somebody else parses and runs.
struct OtherCommand {
  std::string name;
  std::string summary;
};

// queen migrate: apply what is missing, or print the SQL that would.
struct MigrateArguments {
  bool print = false;
  bool all = false;  // with print: everything, as for an empty database, without connecting to one
};

// queen token: tokens that need no issuer.
struct TokenArguments {
  enum class Action { kCreate, kList, kRevoke };

  Action action = Action::kList;
  bool json = false;
  // create
  std::string role;
  std::string subject;
  std::vector<std::string> push;  // patterns of queues
  std::vector<std::string> pop;
  std::vector<std::string> admin;
  std::optional<int64_t> ttl_seconds;  // nullopt: for ever
  // revoke
  std::vector<std::string> ids;
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
  TokenArguments token;
  std::vector<std::string> bench;  // the words behind `queen bench`
  std::vector<std::string> other;  // the words of another command, its name first
  Config config;
  std::vector<std::string> warnings;  // to be logged once logs are configured
};

// Exit codes: 0, or 2 when the command line or the configuration is wrong.
ParseResult ParseCommandLine(int argc, const char* const* argv, const Environment& environment,
                             const std::vector<OtherCommand>& others = {});

// Overwrites connection strings with a password (--database-url, and --database of bench), so that
// who lists the processes of the machine does not see them for as long as this one runs.
void HidePasswords(int argc, char** argv);

}  // namespace queen::config
