#include "embedded/initdb.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <locale.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/log.h"

namespace queen::embedded {
namespace {

constexpr int kRemoveAttempts = 50;
constexpr std::chrono::milliseconds kRemovePause{20};

namespace fs = std::filesystem;

constexpr char kTemporaryPrefix[] = "postgres.new.";

// Byte order for text, so that an upgrade of the C library never reorders an index. Systems without
// C.UTF-8 get C, which differs in upper and lower case beyond ASCII only.
std::string Locale() {
  const locale_t locale = newlocale(LC_ALL_MASK, "C.UTF-8", nullptr);
  if (locale == nullptr) return "C";
  freelocale(locale);
  return "C.UTF-8";
}

}  // namespace

Result<std::optional<int>> ClusterMajor(const Layout& layout) {
  std::error_code error;
  if (!fs::exists(layout.cluster, error) || fs::is_empty(layout.cluster, error)) {
    return std::optional<int>();
  }
  std::ifstream file(layout.cluster + "/PG_VERSION");
  std::string text;
  std::getline(file, text);
  const std::optional<int> major = ParseMajor(text);
  if (!major) {
    return Status(Code::kInternal,
                  fmt::format("{} is neither empty nor a PostgreSQL cluster (it has no readable "
                              "PG_VERSION); move it away, or choose another data directory",
                              layout.cluster));
  }
  return major;
}

void RemoveInterruptedInitdb(const Layout& layout) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(layout.root, error)) {
    if (entry.path().filename().string().starts_with(kTemporaryPrefix)) {
      found.push_back(entry.path());
    }
  }
  for (const fs::path& path : found) {
    log::Info("removing what an interrupted initdb left", {{"directory", path.string()}});
    // That initdb may be dying just now, and removing or still writing files of its own.
    for (int attempt = 0; attempt < kRemoveAttempts && fs::exists(path); ++attempt) {
      if (attempt > 0) std::this_thread::sleep_for(kRemovePause);
      fs::remove_all(path, error);
    }
    if (fs::exists(path)) {
      log::Warn("cannot remove it", {{"directory", path.string()}, {"error", error.message()}});
    }
  }
}

Result<std::string> MakeInitdbDirectory(const Layout& layout, const ClusterUser& user) {
  std::string directory = fmt::format("{}/{}XXXXXX", layout.root, kTemporaryPrefix);
  if (mkdtemp(directory.data()) == nullptr ||
      (user.drops && chown(directory.c_str(), user.uid, user.gid) != 0)) {
    return Status(Code::kInternal,
                  fmt::format("cannot create {}: {}", directory, std::strerror(errno)));
  }
  return directory;
}

Command InitdbCommand(const Binaries& binaries, const std::string& directory) {
  Command command;
  command.argv = {binaries.initdb(),    "--pgdata=" + directory, "--username=postgres",
                  "--encoding=UTF8",    "--locale=" + Locale(),  "--auth-local=peer",
                  "--auth-host=reject", "--no-instructions"};
  command.directory = directory;
  command.environment = PlainEnvironment();
  command.death_signal = SIGKILL;
  return command;
}

Status PublishCluster(const Layout& layout, const std::string& directory) {
  if (rename(directory.c_str(), layout.cluster.c_str()) != 0) {
    return Status(Code::kInternal, fmt::format("cannot rename {} to {}: {}", directory,
                                               layout.cluster, std::strerror(errno)));
  }
  const int fd = open(layout.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  if (fd >= 0) close(fd);
  if (!synced) {
    return Status(Code::kInternal,
                  fmt::format("cannot sync {}: {}", layout.root, std::strerror(errno)));
  }
  return Status::Ok();
}

}  // namespace queen::embedded
