#include "bench/resources.h"

#include <fmt/format.h>

#include <charconv>

#include "bench/processes.h"
#include "metrics/process_stats.h"

namespace queen::bench {
namespace {

constexpr int kConnectTimeoutMs = 5'000;

std::optional<double> Difference(const std::optional<double>& end,
                                 const std::optional<double>& begin) {
  if (!end || !begin) return std::nullopt;
  return *end - *begin;
}

Status NoSuchProcess(std::string_view option, int64_t pid) {
  return Status(Code::kInvalidRequest, fmt::format("{} {} is no process", option, pid));
}

}  // namespace

Result<Resources> Resources::Open(const Options& options, const Target& target,
                                  const std::string& environment_database) {
  Resources resources;
  if (options.broker_pid != 0) {
    resources.broker_ = static_cast<pid_t>(options.broker_pid);
    if (!ReadProcess(*resources.broker_)) return NoSuchProcess("--broker-pid", options.broker_pid);
  } else if (target.is_loopback()) {
    resources.broker_ = FindListener(target.port());
  }
  if (options.postgres_pid != 0) {
    resources.postmaster_ = static_cast<pid_t>(options.postgres_pid);
    if (!ReadProcess(*resources.postmaster_)) {
      return NoSuchProcess("--postgres-pid", options.postgres_pid);
    }
  } else if (resources.broker_) {
    resources.postmaster_ = FindPostmaster(ListProcesses(), resources.broker_);
  }

  const std::string given = options.database.empty() ? environment_database : options.database;
  resources.conninfo_ = given;
  if (given.empty() && resources.OwnsCluster()) {
    resources.conninfo_ = EmbeddedConninfo(*resources.postmaster_).value_or("");
  }
  if (resources.conninfo_.empty()) return resources;
  auto connected = pg::BlockingConnection::Connect(resources.conninfo_, kConnectTimeoutMs);
  if (connected.ok()) {
    resources.database_ = *std::move(connected);
  } else if (!given.empty()) {
    return Status(Code::kInvalidRequest,
                  fmt::format("--database: {}", connected.status().message()));
  } else {
    resources.conninfo_.clear();
  }
  return resources;
}

bool Resources::OwnsCluster() const {
  if (!broker_ || !postmaster_) return false;
  const auto postmaster = ReadProcess(*postmaster_);
  return postmaster && postmaster->parent == *broker_;
}

Usage Resources::Begin() {
  if (broker_) ResetPeakMemory(*broker_);
  Usage usage = Now();
  usage.wal_bytes = WalBytes();
  return usage;
}

Usage Resources::Now() const {
  Usage usage;
  const metrics::CpuTimes own = metrics::ProcessCpuTimes();
  usage.generator_cpu_seconds = own.user_seconds + own.system_seconds;
  if (broker_) {
    if (const auto broker = ReadProcess(*broker_)) usage.broker_cpu_seconds = broker->own_seconds;
  }
  if (postmaster_) usage.postgres_cpu_seconds = ClusterSeconds(ListProcesses(), *postmaster_);
  return usage;
}

Spent Resources::End(const Usage& begin) {
  const Usage end = Now();
  Spent spent;
  spent.broker_cpu_seconds = Difference(end.broker_cpu_seconds, begin.broker_cpu_seconds);
  spent.postgres_cpu_seconds = Difference(end.postgres_cpu_seconds, begin.postgres_cpu_seconds);
  spent.wal_bytes = Difference(WalBytes(), begin.wal_bytes);
  spent.generator_cpu_seconds = end.generator_cpu_seconds - begin.generator_cpu_seconds;
  if (broker_) spent.broker_peak_bytes = PeakMemoryBytes(*broker_);
  return spent;
}

std::optional<double> Resources::WalBytes() {
  if (!database_) return std::nullopt;
  const auto rows = database_->Exec("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')");
  if (!rows.ok()) return std::nullopt;
  const std::string_view text = rows->Text(0, 0);
  double bytes = 0;
  std::from_chars(text.data(), text.data() + text.size(), bytes);
  return bytes;
}

}  // namespace queen::bench
