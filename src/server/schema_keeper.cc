#include "server/schema_keeper.h"

#include <algorithm>
#include <cassert>
#include <chrono>

#include "base/clock.h"
#include "base/log.h"
#include "config/version.h"
#include "pg/connection_log.h"
#include "pg/connector.h"

namespace queen::server {
namespace {

constexpr int kPauseFirstMs = 100;
constexpr int kPauseMaxMs = 2'000;
constexpr int64_t kAnsweredMs = 1'000;  // a failure within this time was somebody's answer

// Why connecting fails, with the SQLSTATE, which libpq tells only who connects without blocking.
pg::ConnectFailure FindFailure(const pg::ConnectOptions& options, const Status& status) {
  pg::ConnectFailure failure{.status = status};
  Loop loop("schema");
  std::unique_ptr<pg::Connector> connector;  // made and destroyed on the loop
  loop.Post([&] {
    connector = std::make_unique<pg::Connector>(loop, options);
    connector->Start([&](pg::Connector::Attempt attempt) {
      if (!attempt.connection) failure = std::move(attempt.failure);
      loop.Post([&] {
        connector.reset();
        loop.Stop();
      });
    });
  });
  loop.Run();
  return failure;
}

// The database is there and is not ready: said here when it will be tried again.
Status NotReady(const Status& status) {
  if (status.retryable()) {
    log::WarnRarely("the database is not ready; trying again", {{"error", status.message()}});
  }
  return status;
}

}  // namespace

SchemaKeeper::SchemaKeeper(Loop& loop, pg::ConnectOptions options, Done done)
    : loop_(loop),
      options_(std::move(options)),
      done_(std::move(done)),
      thread_([this] { Run(); }) {
  assert(options_.log);
}

SchemaKeeper::~SchemaKeeper() { Stop(); }

void SchemaKeeper::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<ReadyDatabase> SchemaKeeper::Attempt() const {
  const int64_t started_ms = SteadyMillis();
  auto connection = pg::BlockingConnection::Connect(options_.conninfo, options_.connect_timeout_ms);
  if (!connection.ok()) {
    const bool answered = SteadyMillis() - started_ms < kAnsweredMs;
    options_.log->OnConnectFailed(answered ? FindFailure(options_, connection.status())
                                           : pg::ConnectFailure{.status = connection.status()},
                                  SteadyMillis());
    return connection.status();
  }
  storage::MigrateOptions options;
  options.applied_by = "queen " + std::string(config::Version());
  auto report = storage::Migrate(*connection, storage::EmbeddedSchema(), options);
  if (!report.ok()) return NotReady(report.status());
  auto id = storage::ReadDatabaseId(*connection);
  if (!id.ok()) return NotReady(id.status());
  return ReadyDatabase{*std::move(report), *std::move(id)};
}

void SchemaKeeper::Run() {
  int pause_ms = kPauseFirstMs;
  while (true) {
    Result<ReadyDatabase> result = Attempt();
    if (result.ok() || !result.status().retryable()) {
      loop_.Post([this, result = std::move(result)] { done_(result); });
      return;
    }
    std::unique_lock lock(mutex_);
    stop_changed_.wait_for(lock, std::chrono::milliseconds(pause_ms), [this] { return stop_; });
    if (stop_) return;
    pause_ms = std::min(pause_ms * 2, kPauseMaxMs);
  }
}

}  // namespace queen::server
