#include "embedded/machine.h"

#include <sched.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace queen::embedded {
namespace {

constexpr int64_t kMegabyte = int64_t{1024} * 1024;

// Bytes in a cgroup file, or `otherwise` when there is none or it says "max".
int64_t ReadLimit(const std::string& path, int64_t otherwise) {
  std::ifstream file(path);
  int64_t bytes = 0;
  return file >> bytes && bytes > 0 ? bytes : otherwise;
}

int64_t MemoryBytes() {
  const int64_t physical =
      static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(sysconf(_SC_PAGESIZE));
  int64_t limit = physical;
  // Inside a container the process's own group is mounted at the root of each hierarchy.
  limit = std::min(limit, ReadLimit("/sys/fs/cgroup/memory.max", limit));
  limit = std::min(limit, ReadLimit("/sys/fs/cgroup/memory/memory.limit_in_bytes", limit));
  // Elsewhere (a systemd unit with MemoryMax) the group's path is listed in /proc.
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::")) continue;
    limit = std::min(limit, ReadLimit("/sys/fs/cgroup" + line.substr(3) + "/memory.max", limit));
  }
  return limit;
}

int Cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(CPU_COUNT(&set), 1);
}

}  // namespace

Machine DetectMachine(const std::string& data_directory) {
  Machine machine;
  machine.memory_mb = MemoryBytes() / kMegabyte;
  machine.cores = Cores();
  struct statvfs disk {};
  if (statvfs(data_directory.c_str(), &disk) == 0) {
    machine.disk_free_mb =
        static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize) / kMegabyte;
  }
  return machine;
}

}  // namespace queen::embedded
