// queen: one binary, several commands (config/command_line.h). Exit codes: 0, 1 for a fault that is
// not the command line's, 2 for a bad command line or configuration; commands of operators have
// more (cli/exit_codes.h).
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>

#include "base/log.h"
#include "bench/bench.h"
#include "cli/cli.h"
#include "config/command_line.h"
#include "config/load.h"
#include "server/descriptors.h"
#include "server/migrate_command.h"
#include "server/server.h"
#include "server/signals.h"
#include "server/token_command.h"

namespace queen {
namespace {

// A reply of some hundred KiB is memory that comes and goes with every request. Left to itself
// malloc gives it back to the kernel each time, and taking it again page by page costs more than
// what is done with it. Larger ones are still given back at once.
void KeepMemoryOfReplies() {
  constexpr int kKeptBlockBytes = 4 << 20;
  constexpr int kKeptFreeBytes = 16 << 20;
  mallopt(M_MMAP_THRESHOLD, kKeptBlockBytes);
  mallopt(M_TRIM_THRESHOLD, kKeptFreeBytes);
}

int Serve(config::Config config) {
  KeepMemoryOfReplies();
  server::HoldSignals();
  server::FitConnectionsToDescriptors(config);
  server::Server server(config);
  if (const Status opened = server.Open(); !opened.ok()) {
    fmt::print(stderr, "queen: {}\n", opened.message());
    return 1;
  }
  return server.Run();
}

std::string ValueOf(const config::Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

int Main(int argc, char** argv) {
  const config::Environment environment = config::EnvironmentOf(environ);
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (cli::IsCompletion(words)) return cli::RunCli(words, environment);
  const config::ParseResult parsed =
      config::ParseCommandLine(argc, argv, environment, cli::Commands());
  config::HidePasswords(argc, argv);
  if (parsed.finished) {
    fmt::print("{}", parsed.finished->out);
    fmt::print(stderr, "{}", parsed.finished->err);
    return parsed.finished->exit_code;
  }
  if (parsed.command == config::Command::kOther) return cli::RunCli(parsed.other, environment);
  log::Configure(parsed.config.log.level, parsed.config.log.format);
  for (const std::string& warning : parsed.warnings) log::Warn(warning);
  switch (parsed.command) {
    case config::Command::kServe:
      return Serve(parsed.config);
    case config::Command::kMigrate:
      return server::RunMigrate(parsed.config, parsed.migrate);
    case config::Command::kToken:
      return server::RunToken(parsed.config, parsed.token);
    case config::Command::kOther:
      break;
    case config::Command::kBench:
      return bench::RunBench(parsed.bench, ValueOf(environment, "DATABASE_URL"),
                             ValueOf(environment, "QUEEN_TOKEN"));
  }
  return 1;
}

}  // namespace
}  // namespace queen

int main(int argc, char** argv) { return queen::Main(argc, argv); }
