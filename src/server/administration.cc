#include "server/administration.h"

#include <algorithm>
#include <future>

namespace queen::server {
namespace {

admin::SweepIntervals IntervalsOf(const config::Config& config) {
  admin::SweepIntervals intervals;
  intervals.segments_ms =
      std::min(config.sweep.retention_interval_ms, config.sweep.eviction_interval_ms);
  intervals.aged_ms = intervals.segments_ms;
  intervals.trace_days = config.sweep.trace_days;
  intervals.dead_letter_days = config.sweep.dead_letter_days;
  intervals.early_group_days = config.sweep.early_group_days;
  intervals.metrics_days = config.sweep.metrics_days;
  intervals.audit_days = config.sweep.audit_days;
  // A batch is in doubt from the end of its connection on, which comes this late at most.
  intervals.batch_age_s =
      std::max(intervals.batch_age_s, 3 * config.database.in_flight_deadline_ms / 1'000);
  return intervals;
}

}  // namespace

Administration::Parts::Parts(Loop& loop, const pg::ConnectOptions& connect,
                             const config::Config& config, state::QueueCapacity& capacity,
                             state::Maintenance& maintenance, const admin::BrokerName& name,
                             const Gather& gather, observe::Metrics& metrics,
                             auth::Authority* authority)
    : pool(loop, connect, config.database.pool_size),
      sweeper(pool, IntervalsOf(config)),
      queue_watch(pool, capacity),
      maintenance_watch(pool, maintenance),
      stats_job(pool, config.sweep.stats_interval_ms),
      metrics_flush(pool, name, config.metrics.flush_interval_ms,
                    [&loop, gather](UniqueFunction<void(const admin::BrokerSample&)> done) {
                      gather(loop, std::move(done));
                    }),
      database_watch(pool, metrics.queues, metrics.database, [&metrics] { metrics.Sample(); }),
      token_watch(authority == nullptr ? nullptr
                                       : std::make_unique<admin::TokenWatch>(pool, *authority)) {}

Administration::Administration(const config::Config& config, state::QueueCapacity& capacity,
                               state::Maintenance& maintenance, admin::BrokerName name,
                               Gather gather, observe::Metrics& metrics, auth::Authority* authority,
                               admin::AuditTrail& audit)
    : config_(config),
      capacity_(capacity),
      maintenance_(maintenance),
      name_(std::move(name)),
      gather_(std::move(gather)),
      metrics_(metrics),
      authority_(authority),
      audit_(audit) {}

Administration::~Administration() { assert(!thread_.joinable()); }

void Administration::Start(const pg::ConnectOptions& connect) {
  std::promise<void> ready;
  thread_ = std::thread([this, &ready, &connect] {
    loop_.Post([this, &ready, &connect] {
      parts_ = std::make_unique<Parts>(loop_, connect, config_, capacity_, maintenance_, name_,
                                       gather_, metrics_, authority_);
      if (parts_->token_watch) parts_->token_watch->Start();
      ready.set_value();
    });
    loop_.Run();
  });
  ready.get_future().wait();
}

admin::AdminPool& Administration::pool() { return parts_->pool; }

admin::StatsJob& Administration::stats_job() { return parts_->stats_job; }

void Administration::DatabaseReady(UniqueFunction<void()> known) {
  loop_.Post([this, known = std::move(known)]() mutable {
    parts_->pool.Start();
    parts_->maintenance_watch.Start(std::move(known));
    parts_->sweeper.Start();
    parts_->queue_watch.Start();
    parts_->stats_job.Start();
    parts_->metrics_flush.Start();
    audit_.Start(parts_->pool);
    parts_->database_watch.Start();
    if (parts_->token_watch) parts_->token_watch->DatabaseReady();
  });
}

void Administration::LookAtSettings() {
  loop_.Post([this] {
    parts_->maintenance_watch.Look();
    parts_->queue_watch.Look();
  });
}

void Administration::StopSweeps() {
  loop_.Post([this] {
    parts_->sweeper.Stop();
    parts_->queue_watch.Stop();
    parts_->maintenance_watch.Stop();
    parts_->stats_job.Stop();
    parts_->database_watch.Stop();
    if (parts_->token_watch) parts_->token_watch->Stop();
  });
}

void Administration::FinishMetrics(UniqueFunction<void()> done) {
  loop_.Post([this, done = std::move(done)]() mutable {
    parts_->metrics_flush.Finish(
        [this, done = std::move(done)]() mutable { audit_.Finish(std::move(done)); });
  });
}

void Administration::Stop() {
  loop_.Post([this] {
    parts_->pool.Close([this] {
      // Refusals of the pool are on their way as tasks that still name it.
      loop_.Post([this] {
        parts_.reset();
        loop_.Stop();
      });
    });
  });
  thread_.join();
}

}  // namespace queen::server
