#include "metrics/process_stats.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "base/clock.h"

namespace queen::metrics {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

uint64_t CountDirectoryEntries(const char* path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path), closedir);
  if (directory == nullptr) return 0;
  uint64_t entries = 0;
  while (readdir(directory.get()) != nullptr) ++entries;
  return entries;
}

}  // namespace

CpuTimes ProcessCpuTimes() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return {};
  return {Seconds(usage.ru_utime), Seconds(usage.ru_stime)};
}

uint64_t ResidentBytes() {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/proc/self/statm", "re"),
                                                   std::fclose);
  if (file == nullptr) return 0;
  unsigned long long size_pages = 0;
  unsigned long long resident_pages = 0;
  if (std::fscanf(file.get(), "%llu %llu", &size_pages, &resident_pages) != 2) return 0;
  return resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t OpenFileDescriptors() {
  constexpr const char* kDirectory = "/proc/self/fd";
  struct stat info {};
  if (stat(kDirectory, &info) == 0 && info.st_size > 0) return static_cast<uint64_t>(info.st_size);
  const uint64_t entries = CountDirectoryEntries(kDirectory);
  return entries > 3 ? entries - 3 : 0;  // ".", ".." and the descriptor that reads them
}

uint64_t FileDescriptorLimit() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<uint64_t>(limit.rlim_cur) : 0;
}

void RegisterProcessMetrics(Registry& registry) {
  constexpr const char* kCpu = "queen_process_cpu_seconds_total";
  constexpr const char* kCpuHelp = "Processor time of the broker process.";
  registry.AddComputed(Kind::kCounter, kCpu, kCpuHelp,
                       [] { return ProcessCpuTimes().user_seconds; }, {{"mode", "user"}});
  registry.AddComputed(Kind::kCounter, kCpu, kCpuHelp,
                       [] { return ProcessCpuTimes().system_seconds; }, {{"mode", "system"}});
  registry.AddComputed(Kind::kGauge, "queen_process_resident_memory_bytes",
                       "Resident memory of the broker process.",
                       [] { return static_cast<double>(ResidentBytes()); });
  registry.AddComputed(Kind::kGauge, "queen_process_open_fds", "Open file descriptors.",
                       [] { return static_cast<double>(OpenFileDescriptors()); });
  registry.AddComputed(Kind::kGauge, "queen_process_max_fds",
                       "Most file descriptors that may be open.",
                       [] { return static_cast<double>(FileDescriptorLimit()); });
  const double started = static_cast<double>(WallMicros()) / 1e6;
  registry.AddComputed(Kind::kGauge, "queen_process_start_time_seconds",
                       "When the process started, in seconds since 1970.",
                       [started] { return started; });
}

}  // namespace queen::metrics
