#include "embedded/binaries.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "embedded/run_command.h"

namespace queen::embedded {
namespace {

namespace fs = std::filesystem;

bool IsExecutable(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

bool HoldsServer(const std::string& directory) {
  return IsExecutable(directory + "/initdb") && IsExecutable(directory + "/postgres");
}

// First line of what a program prints, or "".
std::string FirstLine(std::vector<std::string> argv) {
  Command command;
  command.argv = std::move(argv);
  command.environment = PlainEnvironment();
  Result<CommandOutput> output = RunCommand(std::move(command));
  if (!output.ok() || !output->succeeded()) return {};
  return output->text.substr(0, output->text.find('\n'));
}

// Asks the server itself: it refuses a value it was not built for.
bool SupportsLz4(const std::string& postgres) {
  Command command;
  command.argv = {postgres,
                  "-C",
                  "default_toast_compression",
                  "-D",
                  "/",
                  "-c",
                  "config_file=/dev/null",
                  "-c",
                  "default_toast_compression=lz4"};
  command.environment = PlainEnvironment();
  const Result<CommandOutput> output = RunCommand(std::move(command));
  return output.ok() && output->succeeded();
}

// Numbered directories with a server in them, newest first.
std::vector<Binaries> PackagedServers(const std::string& root) {
  std::vector<Binaries> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, error)) {
    const std::string name = entry.path().filename();
    int major = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), major);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) continue;
    const std::string directory = entry.path() / "bin";
    if (HoldsServer(directory)) found.push_back({directory, major, false});
  }
  std::sort(found.begin(), found.end(),
            [](const Binaries& a, const Binaries& b) { return a.major > b.major; });
  return found;
}

std::optional<Binaries> ServerAt(const std::string& directory) {
  if (!HoldsServer(directory)) return std::nullopt;
  const std::optional<int> major = ParseMajor(FirstLine({directory + "/postgres", "--version"}));
  if (!major) return std::nullopt;
  return Binaries{directory, *major, false};
}

std::optional<Binaries> ServerOfPgConfig(const std::vector<std::string>& path_directories) {
  for (const std::string& directory : path_directories) {
    const std::string pg_config = directory + "/pg_config";
    if (!IsExecutable(pg_config)) continue;
    return ServerAt(FirstLine({pg_config, "--bindir"}));
  }
  return std::nullopt;
}

bool Serves(const Binaries& binaries, const std::optional<int>& major) {
  return major ? binaries.major == *major : binaries.major >= kOldestMajor;
}

Status NotFound(const BinariesRequest& request, const std::string& seen) {
  const int wanted = request.major.value_or(kPackagedMajor);
  const std::string what =
      request.major
          ? fmt::format(
                "the data directory was made by PostgreSQL {0}, and no PostgreSQL {0} "
                "server is installed",
                wanted)
          : fmt::format("no PostgreSQL server (version {} or later) is installed", kOldestMajor);
  return Status(Code::kInternal,
                fmt::format("{} (looked in {}/*/bin and at pg_config in PATH; found: {}); install "
                            "the package postgresql-{}, or set DATABASE_URL to use a server that "
                            "runs elsewhere",
                            what, request.root, seen.empty() ? "none" : seen, wanted));
}

Result<Binaries> AtOperatorsDirectory(const BinariesRequest& request) {
  const std::optional<Binaries> binaries = ServerAt(request.directory);
  if (!binaries) {
    return Status(Code::kInternal,
                  fmt::format("{} holds no working PostgreSQL server (initdb and postgres)",
                              request.directory));
  }
  if (Serves(*binaries, request.major)) return *binaries;
  if (request.major) {
    return Status(Code::kInternal,
                  fmt::format("the data directory was made by PostgreSQL {}, but {} holds {}",
                              *request.major, request.directory, binaries->major));
  }
  return Status(Code::kInternal, fmt::format("{} holds PostgreSQL {}; {} or later is needed",
                                             request.directory, binaries->major, kOldestMajor));
}

Result<Binaries> Search(const BinariesRequest& request) {
  std::string seen;
  const auto note = [&](const Binaries& binaries) {
    if (!seen.empty()) seen += ", ";
    seen += fmt::format("{} in {}", binaries.major, binaries.directory);
  };
  for (const Binaries& binaries : PackagedServers(request.root)) {
    if (Serves(binaries, request.major)) return binaries;
    note(binaries);
  }
  if (const std::optional<Binaries> binaries = ServerOfPgConfig(request.path_directories)) {
    if (Serves(*binaries, request.major)) return *binaries;
    note(*binaries);
  }
  return NotFound(request, seen);
}

}  // namespace

std::vector<std::string> PathDirectories() {
  std::vector<std::string> directories;
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    // Relative entries would run whatever lies in the current directory.
    if (rest.starts_with('/')) directories.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return directories;
}

std::optional<int> ParseMajor(const std::string& version_text) {
  const size_t digit = version_text.find_first_of("0123456789");
  if (digit == std::string::npos) return std::nullopt;
  int major = 0;
  const char* begin = version_text.data() + digit;
  std::from_chars(begin, version_text.data() + version_text.size(), major);
  return major;
}

Result<Binaries> FindBinaries(const BinariesRequest& request) {
  Result<Binaries> binaries =
      request.directory.empty() ? Search(request) : AtOperatorsDirectory(request);
  if (binaries.ok()) binaries->lz4 = SupportsLz4(binaries->postgres());
  return binaries;
}

}  // namespace queen::embedded
