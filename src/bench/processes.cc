#include "bench/processes.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

namespace queen::bench {
namespace {

constexpr std::string_view kPostgres = "postgres";

std::optional<std::string> ReadFile(const std::string& path) {
  const std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<std::string> ReadLink(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = readlink(path.c_str(), target.data(), target.size());
  if (size < 0) return std::nullopt;
  return std::string(target.data(), static_cast<size_t>(size));
}

std::vector<std::string> ListDirectory(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
  if (directory == nullptr) return names;
  while (const dirent* entry = readdir(directory.get())) names.emplace_back(entry->d_name);
  return names;
}

std::vector<pid_t> ListPids() {
  std::vector<pid_t> pids;
  for (const std::string& name : ListDirectory("/proc")) {
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec == std::errc() && parsed.ptr == name.data() + name.size()) pids.push_back(pid);
  }
  return pids;
}

// The inodes of the sockets that listen on `port`, as links of /proc/<pid>/fd show them.
std::set<std::string> ListeningSockets(int port) {
  constexpr std::string_view kListen = "0A";
  std::set<std::string> sockets;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::istringstream lines(ReadFile(table).value_or(""));
    std::string line;
    while (std::getline(lines, line)) {
      // sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
      std::istringstream words(line);
      std::array<std::string, 10> word;
      for (std::string& w : word) words >> w;
      if (word[3] != kListen || !word[1].ends_with(fmt::format(":{:04X}", port))) continue;
      sockets.insert(fmt::format("socket:[{}]", word[9]));
    }
  }
  return sockets;
}

}  // namespace

std::optional<Process> ParseStat(std::string_view line, double ticks_per_second) {
  // pid (name) state ppid ...; the name may hold anything, also brackets and spaces.
  const size_t open = line.find('(');
  const size_t close = line.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  Process process;
  process.name = line.substr(open + 1, close - open - 1);
  if (std::from_chars(line.data(), line.data() + open, process.pid).ec != std::errc()) {
    return std::nullopt;
  }
  std::istringstream words{std::string(line.substr(close + 1))};
  std::string state;
  int64_t skipped = 0;
  std::array<double, 4> ticks{};  // utime stime cutime cstime, the fields 14 to 17
  words >> state >> process.parent;
  for (int field = 5; field <= 13; ++field) words >> skipped;
  for (double& tick : ticks) words >> tick;
  if (!words) return std::nullopt;
  process.own_seconds = (ticks[0] + ticks[1]) / ticks_per_second;
  process.reaped_seconds = (ticks[2] + ticks[3]) / ticks_per_second;
  return process;
}

std::optional<Process> ReadProcess(pid_t pid) {
  const auto line = ReadFile(fmt::format("/proc/{}/stat", pid));
  if (!line) return std::nullopt;
  return ParseStat(*line, static_cast<double>(sysconf(_SC_CLK_TCK)));
}

std::vector<Process> ListProcesses() {
  std::vector<Process> processes;
  for (const pid_t pid : ListPids()) {
    if (auto process = ReadProcess(pid)) processes.push_back(*std::move(process));
  }
  return processes;
}

std::optional<pid_t> FindListener(int port) {
  const std::set<std::string> sockets = ListeningSockets(port);
  if (sockets.empty()) return std::nullopt;
  for (const pid_t pid : ListPids()) {
    const std::string directory = fmt::format("/proc/{}/fd/", pid);
    for (const std::string& name : ListDirectory(directory)) {
      const auto target = ReadLink(directory + name);
      if (target && sockets.contains(*target)) return pid;
    }
  }
  return std::nullopt;
}

std::optional<pid_t> FindPostmaster(const std::vector<Process>& processes,
                                    std::optional<pid_t> broker) {
  std::vector<pid_t> found;
  for (const Process& process : processes) {
    if (process.name != kPostgres) continue;
    if (broker && process.parent == *broker) return process.pid;
    const auto parent = std::ranges::find(processes, process.parent, &Process::pid);
    if (parent == processes.end() || parent->name != kPostgres) found.push_back(process.pid);
  }
  return found.size() == 1 ? std::optional(found.front()) : std::nullopt;
}

std::optional<double> ClusterSeconds(const std::vector<Process>& processes, pid_t postmaster) {
  const auto root = std::ranges::find(processes, postmaster, &Process::pid);
  if (root == processes.end()) return std::nullopt;
  double seconds = 0;
  std::vector<pid_t> level = {postmaster};
  seconds += root->own_seconds + root->reaped_seconds;
  while (!level.empty()) {
    std::vector<pid_t> next;
    for (const Process& process : processes) {
      if (std::ranges::find(level, process.parent) == level.end()) continue;
      seconds += process.own_seconds + process.reaped_seconds;
      next.push_back(process.pid);
    }
    level = std::move(next);
  }
  return seconds;
}

bool ResetPeakMemory(pid_t pid) {
  std::ofstream file(fmt::format("/proc/{}/clear_refs", pid));
  file << "5" << std::flush;
  return static_cast<bool>(file);
}

std::optional<uint64_t> PeakMemoryBytes(pid_t pid) {
  std::istringstream lines(ReadFile(fmt::format("/proc/{}/status", pid)).value_or(""));
  std::string key;
  while (lines >> key) {
    uint64_t kilobytes = 0;
    if (key == "VmHWM:" && lines >> kilobytes) return kilobytes * 1024;
    std::getline(lines, key);
  }
  return std::nullopt;
}

std::optional<std::string> EmbeddedConninfo(pid_t postmaster) {
  // pid, data directory, start time, port, socket directory, ...; a postmaster runs in its cluster.
  const auto file = ReadFile(fmt::format("/proc/{}/cwd/postmaster.pid", postmaster));
  if (!file) return std::nullopt;
  std::istringstream lines(*file);
  std::array<std::string, 5> line;
  for (std::string& l : line) std::getline(lines, l);
  if (line[0] != std::to_string(postmaster) || line[3].empty() || line[4].empty()) {
    return std::nullopt;
  }
  return fmt::format("host='{}' port={} user=queen dbname=queen", line[4], line[3]);
}

}  // namespace queen::bench
