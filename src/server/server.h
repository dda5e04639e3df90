// Server: `queen serve`, from the first bind to the last goodbye, on the main thread's loop.
//
//   Open      what must be right before anything runs: the address, the data directory, the file
//             buffer
//   Run       workers first, so that the broker answers (pushes are buffered, the rest is 503)
//             while its database is not there yet; then the embedded cluster, the schema, what
//             maintenance there is, and with them the workers' slots and the replay of the buffer
//   shutdown  on SIGTERM or SIGINT: stop accepting, answer what is in flight within a limit, close
//             the slots and the file buffer, send the last spans, stop the cluster, return 0. A
//             second signal does not wait for anybody.
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <vector>

#include "base/log.h"
#include "config/config.h"
#include "embedded/embedded_postgres.h"
#include "http/acceptor.h"
#include "loop/timer.h"
#include "server/administration.h"
#include "server/schema_keeper.h"
#include "server/signals.h"
#include "server/worker.h"

namespace queen::server {

class Server {
 public:
  explicit Server(const config::Config& config);
  ~Server();

  Status Open();
  // Until shutdown; the exit code of the process. REQUIRES: Open was ok
  int Run();

 private:
  Status OpenBuffer();
  Status OpenCluster();
  Status OpenTls();
  void Begin();
  void RegisterMetrics();
  void OnDatabaseStarted(const Status& status);
  void OnSchema(const Result<ReadyDatabase>& result);
  bool ClaimBuffer(const std::string& database_id);
  void OnStranger(const std::string& database_id);
  void GiveUp(std::string_view what, const Status& status);
  void OnMaintenanceKnown();
  void ApplyMaintenance(const state::MaintenanceFlags& flags);
  void CheckReady();
  std::string DescribeData() const;
  void Report(std::string_view what, log::Fields fields) const;
  log::Level CourseLevel() const;
  void OnSignal(int number);
  void ShutDown();
  void ForEachWorker(const std::function<void(Worker&, UniqueFunction<void()>)>& step,
                     const std::function<void()>& done);
  void CloseSidecars();
  void StopThreads();
  void StopTracing();
  void OnTracingStopped();
  void StopDatabase();

  const config::Config& config_;
  const bool
      for_people_;  // a banner on standard output instead of lines about the course of things
  Loop loop_{"main"};
  Shared shared_;
  pg::ConnectOptions connect_;
  std::unique_ptr<embedded::EmbeddedPostgres> postgres_;
  std::unique_ptr<http::Acceptor> acceptor_;
  std::unique_ptr<Administration> administration_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<SchemaKeeper> schema_;
  std::unique_ptr<Timer> ready_check_;        // until the first time everything is up
  std::unique_ptr<Timer> certificate_check_;  // with TLS only
  std::string curl_ = "curl";                 // how a person on this machine calls it
  std::unique_ptr<Signals> signals_;
  bool shutting_down_ = false;
  int64_t stop_by_ms_ = 0;  // of the steady clock, while shutting down
  int exit_code_ = 0;
};

}  // namespace queen::server
