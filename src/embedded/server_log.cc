#include "embedded/server_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>

#include "base/log.h"

namespace queen::embedded {

Result<int> OpenServerLog(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) {
    return Status(Code::kInternal, fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  }
  return fd;
}

int64_t ServerLogSize(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? static_cast<int64_t>(info.st_size) : 0;
}

void LimitServerLog(const std::string& path, int64_t bytes_max) {
  if (ServerLogSize(path) <= bytes_max) return;
  std::error_code error;
  std::filesystem::copy_file(path, path + ".1", std::filesystem::copy_options::overwrite_existing,
                             error);
  if (error) {
    log::Warn("the server log was cut short without keeping the old part",
              {{"path", path}, {"error", error.message()}});
  }
  if (truncate(path.c_str(), 0) != 0) {
    log::Warn("the server log cannot be cut short",
              {{"path", path}, {"error", std::strerror(errno)}});
  }
}

std::string TailOfServerLog(const std::string& path, int64_t from, int lines_max) {
  constexpr int64_t kTailBytes = int64_t{16} * 1024;
  std::ifstream file(path);
  const int64_t size = ServerLogSize(path);
  // A log that was cut short meanwhile is read from its beginning.
  if (from > size) from = 0;
  file.seekg(std::max(from, size - kTailBytes));
  std::deque<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    lines.push_back(std::move(line));
    if (lines.size() > static_cast<size_t>(lines_max)) lines.pop_front();
  }
  return fmt::format("{}", fmt::join(lines, " | "));
}

}  // namespace queen::embedded
