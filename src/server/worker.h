// Worker: one thread, one loop, and everything that lives on it: the HTTP connections handed over
// by the acceptor, the API's routes, and the sidecar with its PostgreSQL slots.
//
//   Start --> running --DatabaseReady--> serving --Drain--> drained --CloseSidecar--> closed
//   --Stop--> over
//
// All workers take each step of the way out together (server.cc): a sidecar serves the requests of
// every worker, so it closes when no worker has clients, and answers through loops that still run.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "admin/admin_pool.h"
#include "admin/audit_trail.h"
#include "admin/stats_job.h"
#include "api/context.h"
#include "auth/authority.h"
#include "buffer/file_buffer.h"
#include "cluster/cluster.h"
#include "config/config.h"
#include "http/client_limits.h"
#include "http/connections.h"
#include "http/host_names.h"
#include "loop/loop.h"
#include "observe/metrics.h"
#include "observe/tracing.h"
#include "sidecar/engine_router.h"
#include "tls/certificates.h"

namespace queen::server {

// The process's room for replies, as pops take it.
class ReplyRoom final : public sidecar::ReplyRoom {
 public:
  explicit ReplyRoom(http::Budgets& budgets) : budgets_(budgets) {}
  bool TryTake(size_t bytes, uint64_t place) override;
  void Resize(size_t before, size_t now) override;
  size_t LargeFree() const override;
  bool full() const override;
  uint64_t Join(size_t bytes) override;
  void Change(uint64_t place, size_t bytes) override;
  void Leave(uint64_t place) override;

 private:
  http::Budgets& budgets_;
};

// What all workers share. Outlives them.
struct Shared {
  const config::Config& config;
  const std::shared_ptr<http::Budgets> budgets;
  mutable ReplyRoom reply_room;
  mutable engine::Generation generation;
  mutable sidecar::UntimedRoom untimed_room{sidecar::PushLimits::kUntimedBytesMax};
  sidecar::Shards shards;
  mutable observe::Metrics metrics;                 // worker i is writer i
  const std::unique_ptr<observe::Tracing> tracing;  // null: no spans are exported
  state::DeliveredIndex delivered;
  state::QueueCapacity capacity;
  state::Maintenance maintenance;
  const storage::PayloadCipher cipher;
  mutable admin::AuditTrail audit;
  const http::HostNames host_names;
  mutable http::ClientLimits client_limits;
  std::shared_ptr<tls::Certificates> certificates;  // opened before the first worker; null: no TLS
  std::unique_ptr<auth::Authority> authority;  // made before anything starts; null: nobody is asked
  const sidecar::OwnBrokers own_brokers;       // worker i is number first + i
  admin::AdminPool* admin = nullptr;           // set before the first worker starts
  admin::StatsJob* stats_job = nullptr;        // likewise
  std::shared_ptr<pg::ConnectionLog> connection_log;  // set before the first worker starts
  // Opened before the first worker starts; null: it is turned off.
  std::unique_ptr<buffer::FileBuffer> buffer;
  // Opened before the first worker starts; null: no peers are named.
  std::unique_ptr<cluster::Cluster> cluster;
  std::atomic<bool> schema_ready{false};
  std::atomic<bool> draining{false};
  // Per worker: whether its sidecar commits. The broker is healthy when all do, whichever is asked.
  std::vector<std::atomic<bool>> database_up;

  explicit Shared(const config::Config& config);
  bool AllUp() const;
  api::MaintenanceStatus CheckMaintenance() const;
};

class Worker {
 public:
  Worker(Shared& shared, int index);
  ~Worker();  // REQUIRES: never started, or joined

  // Starts the thread and makes everything on it; returns when that is done.
  void Start(const pg::ConnectOptions& connect);
  // The schema is in place: connect the slots. Any thread, once.
  void DatabaseReady();
  // The way out; any thread, each once, `done` runs on the worker's loop.
  // Answers what is in flight within `limit_ms`, closes every connection.
  void Drain(int64_t limit_ms, UniqueFunction<void()> done);
  void CloseSidecar(UniqueFunction<void()> done);
  // Destroys everything and ends the thread.
  void Stop();
  // On the worker's thread: while draining, closes what is left at once.
  void AbortConnections();
  void Join();

  http::Connections* connections();
  Loop& loop() { return loop_; }

 private:
  struct Parts;

  api::Health CheckHealth() const;
  void OnTick();

  Shared& shared_;
  const int index_;
  Loop loop_;
  std::unique_ptr<Parts> parts_;  // made and destroyed on the worker's thread
  std::thread thread_;
};

// How to reach PostgreSQL, with the session settings of the sidecars.
pg::ConnectOptions ConnectOptionsOf(const config::Config& config, std::string conninfo);

}  // namespace queen::server
