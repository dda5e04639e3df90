#include "config/computed_defaults.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "config/pair_list.h"

namespace queen::config {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;
constexpr int kSlotsPerWorker = 4;
constexpr int64_t kReservedShare = 20;  // one part in so many of the buffer's file system
constexpr int kInFlightGraceMs = 5'000;

}  // namespace

void ComputeWorkers(Config& config, const Environment&) {
  config.server.workers = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 2, 8);
}

void ComputeSidecarPool(Config& config, const Environment&) {
  config.sidecar.pool_size = kSlotsPerWorker * config.server.workers;
}

void ComputeInFlightDeadline(Config& config, const Environment&) {
  config.database.in_flight_deadline_ms = config.database.statement_timeout_ms + kInFlightGraceMs;
}

void ComputeSslMode(Config& config, const Environment&) {
  config.database.ssl_mode = config.database.use_ssl ? "require" : "prefer";
}

void ComputeDataDir(Config& config, const Environment& environment) {
  // Relative values of XDG_DATA_HOME are to be ignored, says its specification.
  const auto absolute = [&](std::string_view name) -> std::string {
    const auto found = environment.find(name);
    return found != environment.end() && found->second.starts_with('/') ? found->second : "";
  };
  const std::string data_home = absolute("XDG_DATA_HOME");
  const std::string home = absolute("HOME");
  if (geteuid() == 0) {
    config.embedded.data_dir = "/var/lib/queen";
  } else if (!data_home.empty()) {
    config.embedded.data_dir = data_home + "/queen";
  } else if (!home.empty()) {
    config.embedded.data_dir = home + "/.local/share/queen";
  }
}

void ComputeBufferDirectory(Config& config, const Environment&) {
  if (config.embedded.data_dir.empty()) return;
  config.buffer.directory = config.embedded.data_dir + "/buffer";
}

// The directory may not be there yet: its file system is that of the nearest parent that is.
void ComputeBufferReserve(Config& config, const Environment&) {
  struct statvfs info {};
  std::filesystem::path path = config.buffer.directory;
  while (path.has_relative_path() && statvfs(path.c_str(), &info) != 0) path = path.parent_path();
  if (path.empty() || statvfs(path.c_str(), &info) != 0) return;
  const auto size = static_cast<int64_t>(info.f_blocks * info.f_frsize);
  config.buffer.free_bytes_min = std::min(kGiB, size / kReservedShare);
}

void ComputeServiceName(Config& config, const Environment&) {
  for (auto& [key, value] :
       ParsePairList(config.tracing.resource_attributes).value_or(PairList())) {
    if (key == "service.name" && !value.empty()) config.tracing.service_name = value;
  }
}

void ComputeRequestBytes(Config& config, const Environment&) {
  config.http.request_bytes_max = 4 * config.http.body_bytes_max;
}

}  // namespace queen::config
