// Administration: the thread of the AdminPool, of the sweeps, of the stats job, of the watches over
// queues with a limit, over maintenance, over tokens and over the database, and of what is written
// down about each minute; metrics are put into words there.
//
//   Start --> idle --DatabaseReady--> serving and sweeping --StopSweeps--> serving
//   --FinishMetrics--> serving --Stop--> ended
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "admin/admin_pool.h"
#include "admin/audit_trail.h"
#include "admin/maintenance_watch.h"
#include "admin/metrics_flush.h"
#include "admin/queue_watch.h"
#include "admin/stats_job.h"
#include "admin/sweeper.h"
#include "admin/token_watch.h"
#include "auth/authority.h"
#include "config/config.h"
#include "loop/loop.h"
#include "observe/database_watch.h"
#include "observe/metrics.h"

namespace queen::server {

class Administration {
 public:
  using Gather = std::function<void(Loop& here, UniqueFunction<void(const admin::BrokerSample&)>)>;

  // What it is given outlives it; `authority` may be null. `gather` asks the workers what they have
  // counted, once the database is ready.
  Administration(const config::Config& config, state::QueueCapacity& capacity,
                 state::Maintenance& maintenance, admin::BrokerName name, Gather gather,
                 observe::Metrics& metrics, auth::Authority* authority, admin::AuditTrail& audit);
  ~Administration();  // REQUIRES: never started, or stopped

  // Starts the thread and makes everything on it; returns when that is done.
  void Start(const pg::ConnectOptions& connect);
  // The schema is in place. Any thread, once. `known` runs on its thread when it has been read
  // what maintenance there is.
  void DatabaseReady(UniqueFunction<void()> known);
  // Limits or maintenance may have changed: has them read. Any thread.
  void LookAtSettings();
  // Any thread.
  void StopSweeps();
  // Writes down what was counted last and what is left of the audit trail, then runs `done` on its
  // thread. Any thread, once. REQUIRES: the workers run, and count nothing any more
  void FinishMetrics(UniqueFunction<void()> done);
  // Waits for what is in flight and ends the thread. REQUIRES: nobody asks the pool any more
  void Stop();

  // REQUIRES: started
  admin::AdminPool& pool();
  admin::StatsJob& stats_job();

 private:
  struct Parts {
    Parts(Loop& loop, const pg::ConnectOptions& connect, const config::Config& config,
          state::QueueCapacity& capacity, state::Maintenance& maintenance,
          const admin::BrokerName& name, const Gather& gather, observe::Metrics& metrics,
          auth::Authority* authority);

    admin::AdminPool pool;
    admin::Sweeper sweeper;
    admin::QueueWatch queue_watch;
    admin::MaintenanceWatch maintenance_watch;
    admin::StatsJob stats_job;
    admin::MetricsFlush metrics_flush;
    observe::DatabaseWatch database_watch;
    std::unique_ptr<admin::TokenWatch> token_watch;  // null: nobody is asked for a token
  };

  const config::Config& config_;
  state::QueueCapacity& capacity_;
  state::Maintenance& maintenance_;
  const admin::BrokerName name_;
  const Gather gather_;
  observe::Metrics& metrics_;
  auth::Authority* const authority_;
  admin::AuditTrail& audit_;
  Loop loop_{"admin"};
  std::unique_ptr<Parts> parts_;  // made and destroyed on the thread
  std::thread thread_;
};

}  // namespace queen::server
