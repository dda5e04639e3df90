#include "server/schema_keeper.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "config/version.h"

namespace queen::server {
namespace {

constexpr int kPauseFirstMs = 100;
constexpr int kPauseMaxMs = 2'000;

}  // namespace

SchemaKeeper::SchemaKeeper(Loop& loop, std::string conninfo, int connect_timeout_ms,
                           UniqueFunction<void(Result<storage::MigrateReport>)> done)
    : loop_(loop),
      conninfo_(std::move(conninfo)),
      connect_timeout_ms_(connect_timeout_ms),
      done_(std::move(done)),
      thread_([this] { Run(); }) {}

SchemaKeeper::~SchemaKeeper() { Stop(); }

void SchemaKeeper::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<storage::MigrateReport> SchemaKeeper::Attempt() const {
  auto connection = pg::BlockingConnection::Connect(conninfo_, connect_timeout_ms_);
  if (!connection.ok()) return connection.status();
  storage::MigrateOptions options;
  options.applied_by = "queen " + std::string(config::Version());
  return storage::Migrate(*connection, storage::EmbeddedSchema(), options);
}

void SchemaKeeper::Run() {
  int pause_ms = kPauseFirstMs;
  std::string last_error;
  while (true) {
    Result<storage::MigrateReport> result = Attempt();
    if (result.ok() || !result.status().retryable()) {
      loop_.Post([this, result = std::move(result)]() mutable { done_(std::move(result)); });
      return;
    }
    if (result.status().message() != last_error) {
      last_error = result.status().message();
      log::Warn("the database is not ready; trying again", {{"error", last_error}});
    }
    std::unique_lock lock(mutex_);
    stop_changed_.wait_for(lock, std::chrono::milliseconds(pause_ms), [this] { return stop_; });
    if (stop_) return;
    pause_ms = std::min(pause_ms * 2, kPauseMaxMs);
  }
}

}  // namespace queen::server
