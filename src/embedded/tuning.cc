#include "embedded/tuning.h"

#include <fmt/format.h>

#include <algorithm>

namespace queen::embedded {
namespace {

std::string Megabytes(int64_t mb) { return fmt::format("{}MB", mb); }

void AddMemory(const TuningInput& input, std::vector<Setting>& settings) {
  const int64_t memory_mb = std::max<int64_t>(input.machine.memory_mb, 256);
  const int64_t shared_buffers_mb = std::clamp<int64_t>(memory_mb / 4, 64, 16384);
  settings.push_back({"shared_buffers", Megabytes(shared_buffers_mb)});
  settings.push_back({"effective_cache_size", Megabytes(memory_mb / 2)});
  settings.push_back(
      {"maintenance_work_mem", Megabytes(std::clamp<int64_t>(memory_mb / 32, 32, 1024))});
  settings.push_back({"work_mem", Megabytes(std::clamp<int64_t>(memory_mb / 512, 4, 32))});
  settings.push_back({"huge_pages", "try"});
}

// A checkpoint starts when about half of max_wal_size has been written, and each one makes the
// next write of every page a full page image. A quarter of the free disk is the bound: a full disk
// stops the broker altogether.
void AddWal(const TuningInput& input, std::vector<Setting>& settings) {
  const int64_t max_wal_mb = std::clamp<int64_t>(input.machine.disk_free_mb / 4, 1024, 16384);
  settings.push_back({"max_wal_size", Megabytes(max_wal_mb)});
  settings.push_back({"min_wal_size", Megabytes(std::min<int64_t>(max_wal_mb / 4, 2048))});
  settings.push_back({"wal_buffers", input.machine.memory_mb >= 2048 ? "64MB" : "16MB"});
  settings.push_back({"checkpoint_timeout", "15min"});
  settings.push_back({"checkpoint_completion_target", "0.9"});
  settings.push_back({"wal_compression", input.lz4 && input.major >= 15 ? "lz4" : "on"});
  settings.push_back({"fsync", "on"});
  settings.push_back({"full_page_writes", "on"});
  settings.push_back({"synchronous_commit", "on"});
}

// max_locks_per_transaction x max_connections is one table that advisory locks share; a batch takes
// a lock per partition.
void AddConnections(const TuningInput& input, std::vector<Setting>& settings) {
  settings.push_back({"max_connections", fmt::format("{}", input.max_connections)});
  settings.push_back(
      {"max_locks_per_transaction", input.machine.memory_mb >= 2048 ? "512" : "256"});
}

void AddVacuum(const TuningInput& input, std::vector<Setting>& settings) {
  settings.push_back({"autovacuum", "on"});
  settings.push_back({"autovacuum_max_workers", input.machine.cores >= 4 ? "4" : "3"});
  settings.push_back({"autovacuum_naptime", "10s"});
  settings.push_back({"autovacuum_vacuum_scale_factor", "0.05"});
  settings.push_back({"autovacuum_vacuum_insert_scale_factor", "0.1"});
  settings.push_back({"autovacuum_analyze_scale_factor", "0.05"});
  settings.push_back({"autovacuum_vacuum_cost_delay", "2ms"});
  settings.push_back({"autovacuum_vacuum_cost_limit", "2000"});
  settings.push_back({"bgwriter_delay", "50ms"});
  settings.push_back({"bgwriter_lru_maxpages", "400"});
}

// Statements are short and many: compiling one or spreading it over workers costs more than it
// saves, and takes cores from delivery.
void AddPlanner(const TuningInput& input, std::vector<Setting>& settings) {
  settings.push_back({"jit", "off"});
  settings.push_back({"max_parallel_workers_per_gather", "0"});
  settings.push_back({"random_page_cost", "1.1"});
  settings.push_back({"effective_io_concurrency", "200"});
  if (input.lz4) settings.push_back({"default_toast_compression", "lz4"});
}

// Nothing of a message reaches the log: neither statements nor parameters.
void AddLog(std::vector<Setting>& settings) {
  settings.push_back({"logging_collector", "off"});
  settings.push_back({"log_destination", "stderr"});
  settings.push_back({"log_line_prefix", "%m [%p] %q%u@%d "});
  settings.push_back({"log_timezone", "UTC"});
  settings.push_back({"timezone", "UTC"});
  settings.push_back({"lc_messages", "C"});
  settings.push_back({"log_min_messages", "warning"});
  settings.push_back({"log_min_error_statement", "panic"});
  settings.push_back({"log_parameter_max_length", "0"});
  settings.push_back({"log_parameter_max_length_on_error", "0"});
  settings.push_back({"log_checkpoints", "on"});
  settings.push_back({"log_lock_waits", "on"});
  settings.push_back({"log_autovacuum_min_duration", "60s"});
}

}  // namespace

std::vector<Setting> TuneFor(const TuningInput& input) {
  std::vector<Setting> settings;
  AddMemory(input, settings);
  AddWal(input, settings);
  AddConnections(input, settings);
  AddVacuum(input, settings);
  AddPlanner(input, settings);
  AddLog(settings);
  return settings;
}

}  // namespace queen::embedded
