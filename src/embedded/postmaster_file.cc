#include "embedded/postmaster_file.h"

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/log.h"

namespace queen::embedded {
namespace {

namespace fs = std::filesystem;

std::string PidFileOf(const Layout& layout) { return layout.cluster + "/postmaster.pid"; }

std::string ProcLink(pid_t pid, const char* name) {
  std::error_code error;
  const fs::path target = fs::read_symlink(fs::path("/proc") / std::to_string(pid) / name, error);
  return error ? std::string() : target.string();
}

}  // namespace

bool IsPostmasterOf(pid_t pid, const Layout& layout) {
  // " (deleted)" is appended to the name when the package was upgraded meanwhile.
  const std::string program = fs::path(ProcLink(pid, "exe")).filename();
  return program.starts_with("postgres") && ProcLink(pid, "cwd") == layout.cluster;
}

Leftover FindLeftover(const Layout& layout) {
  std::ifstream file(PidFileOf(layout));
  if (!file) return {};
  pid_t pid = 0;
  if (!(file >> pid) || pid == 0) return {Leftover::kStranger, 0};
  // In single-user mode the number is negative.
  pid = pid < 0 ? -pid : pid;
  if (IsPostmasterOf(pid, layout)) return {Leftover::kPostmaster, pid};
  if (kill(pid, 0) != 0 && errno == ESRCH) return {};
  return {Leftover::kStranger, pid};
}

std::string PostmasterStatus(const Layout& layout, pid_t pid) {
  constexpr int kStatusLine = 8;
  std::ifstream file(PidFileOf(layout));
  std::string line;
  for (int number = 1; number <= kStatusLine; ++number) {
    if (!std::getline(file, line)) return {};
    if (number == 1 && line != std::to_string(pid)) return {};
  }
  return line.substr(0, line.find(' '));
}

void ClearLeftovers(const Layout& layout) {
  const Leftover leftover = FindLeftover(layout);
  assert(leftover.kind != Leftover::kPostmaster);
  if (leftover.kind == Leftover::kStranger) {
    log::Warn("removing a stale postmaster.pid: its process is not this cluster's server",
              {{"pid", leftover.pid}, {"cluster", layout.cluster}});
    unlink(PidFileOf(layout).c_str());
  }
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(layout.socket_directory, error)) {
    if (entry.path().filename().string().starts_with(".s.PGSQL.")) unlink(entry.path().c_str());
  }
}

}  // namespace queen::embedded
