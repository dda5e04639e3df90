#include "server/worker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <future>

#include "admin/queue_manager.h"
#include "api/admission.h"
#include "api/routes.h"
#include "auth/authenticator.h"
#include "base/clock.h"
#include "base/comma_list.h"
#include "base/log.h"
#include "base/random.h"
#include "config/version.h"
#include "loop/timer.h"
#include "observe/observed_engine.h"
#include "observe/traced_engine.h"
#include "pg/connection_log.h"
#include "pg/slots.h"
#include "server/authentication.h"
#include "server/lane_belief.h"
#include "server/shared_state.h"
#include "sidecar/family_pops.h"

namespace queen::server {
namespace {

constexpr size_t kDeliveredMessagesMax = 500'000;
constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr int64_t kTickMs = 20;
constexpr int64_t kPublishQueuesMs = 500;

http::Settings HttpSettings(const config::Config& config) {
  http::Settings settings;
  settings.limits.header_bytes_max = static_cast<size_t>(config.http.header_bytes_max);
  settings.limits.body_bytes_max = static_cast<size_t>(config.http.body_bytes_max);
  settings.limits.connections_max = config.http.connections_max;
  settings.limits.request_bytes_max = static_cast<size_t>(config.http.request_bytes_max);
  settings.limits.reply_bytes_max = static_cast<size_t>(config.http.reply_bytes_max);
  settings.limits.handshake_timeout_ms = config.tls.handshake_timeout_ms;
  settings.limits.idle_timeout_ms = config.http.idle_timeout_ms;
  settings.limits.request_timeout_ms = config.http.request_timeout_ms;
  settings.limits.write_timeout_ms = config.http.write_timeout_ms;
  settings.limits.write_buffer_bytes_max = static_cast<size_t>(config.http.write_buffer_bytes_max);
  settings.limits.pipeline_depth_max = static_cast<size_t>(config.http.pipeline_depth_max);
  settings.limits.upload_bytes_per_second_min = config.http.upload_bytes_per_second_min;
  settings.limits.upload_grace_ms = config.http.upload_grace_ms;
  settings.allow_origins = SplitCommaList(config.http.cors_origins);
  settings.bulk_path = api::kPushPath;
  for (const auth::Role role :
       {auth::Role::kReadOnly, auth::Role::kReadWrite, auth::Role::kAdmin}) {
    if (auth::RoleName(role) == config.tls.client_role) settings.certificate_role = role;
  }
  return settings;
}

// The first encrypts, if there is one; all decrypt.
std::vector<EncryptionKey> EncryptionKeysOf(const config::Encryption& encryption) {
  std::vector<EncryptionKey> keys = ParseEncryptionKeys(encryption.keys).value();
  const std::vector<EncryptionKey> old_keys = ParseEncryptionKeys(encryption.old_keys).value();
  keys.insert(keys.end(), old_keys.begin(), old_keys.end());
  return keys;
}

std::string MachineName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// Those the operator gives, those it listens under, and that of this machine.
http::HostNames OurNames(const config::Http& http) {
  std::vector<std::string> names = SplitCommaList(http.hosts);
  for (std::string& host : SplitCommaList(http.host)) names.push_back(std::move(host));
  if (const std::string machine = MachineName(); !machine.empty()) names.push_back(machine);
  return http::HostNames(names);
}

admin::AuditTrail::Options AuditOptionsOf(const config::Config& config) {
  admin::AuditTrail::Options options;
  options.file = config.audit.file;
  options.to_log = config.log.format == log::Format::kJson;
  options.broker = fmt::format("{}:{}", MachineName(), config.http.port);
  return options;
}

http::ClientLimits::Options ClientLimitsOf(const config::Http& http) {
  http::ClientLimits::Options options;
  options.requests_per_second = http.client_requests_per_second;
  options.bytes_per_second = http.client_bytes_per_second;
  options.connections_max = http.client_connections_max;
  return options;
}

// Names in the ledger that no other process has, as far as randomness goes.
sidecar::OwnBrokers MakeOwnBrokers(int workers) {
  uint64_t random = 0;
  SecureRandomBytes(&random, sizeof random);
  const auto first = static_cast<int64_t>(random >> 2) + 1;  // room for the last; never 0
  return {first, first + workers - 1};
}

int SlotsOf(const config::Config& config) {
  return std::max(2, config.sidecar.pool_size / config.server.workers);
}

sidecar::SidecarOptions SidecarOptionsOf(const Shared& shared, int index) {
  const config::Config& config = shared.config;
  sidecar::SidecarOptions options;
  options.buffer = shared.buffer.get();
  options.slots = SlotsOf(config);
  options.own = shared.own_brokers;
  options.broker = shared.own_brokers.first + index;
  options.away_after_ms = config.buffer.after_ms;
  options.hold_ms = config.sidecar.micro_batch_wait_ms;
  options.push.items_per_batch = config.sidecar.items_per_tx_max;
  options.push.items_waiting_max = config.sidecar.push_items_max;
  options.ack.items_waiting_max = config.sidecar.ack_items_max;
  options.transaction.items_waiting_max = config.sidecar.transaction_items_max;
  options.pop.pops_max = static_cast<size_t>(config.sidecar.pops_max);
  options.replies = &shared.reply_room;
  options.room = &shared.untimed_room;
  options.pop.bytes_max = config.pop.bytes_max;
  options.pop.idle_groups_max = static_cast<size_t>(config.pop.idle_groups_max);
  options.pop.idle_group_ms = config.pop.idle_group_ms;
  options.pop.check = {.base_ms = config.pop.wait_base_interval_ms,
                       .max_ms = config.pop.wait_max_interval_ms,
                       .threshold = config.pop.wait_backoff_threshold,
                       .multiplier = config.pop.wait_backoff_multiplier};
  options.peers = shared.shards.peers;
  options.generation = &shared.generation;
  return options;
}

http::Router MakeRouter(const api::Context& context) {
  http::Router router;
  api::AddRoutes(context, router);
  return router;
}

// On the loop of administration, which has the time for it.
void DescribeMetrics(const Shared& shared, Loop& here, api::MetricsFormat format,
                     api::MetricsDone done) {
  shared.admin->loop().Post([&shared, &here, format, done = std::move(done)]() mutable {
    std::string text =
        format == api::MetricsFormat::kJson ? shared.metrics.Json() : shared.metrics.Prometheus();
    here.Post(
        [done = std::move(done), text = std::move(text)]() mutable { done(std::move(text)); });
  });
}

// Where this broker writes: its own cluster, if it has one, and its file buffer.
std::vector<std::string> DirectoriesOf(const config::Config& config) {
  std::vector<std::string> directories;
  if (config.uses_embedded()) directories.push_back(config.embedded.data_dir);
  if (config.buffer.is_on()) directories.push_back(config.buffer.directory);
  return directories;
}

// There too: a disk that hangs holds up no message.
void DescribeDisks(const Shared& shared, Loop& here, api::DisksDone done) {
  shared.admin->loop().Post([&shared, &here, done = std::move(done)]() mutable {
    std::string disks = api::DescribeDisks(DirectoriesOf(shared.config));
    here.Post(
        [done = std::move(done), disks = std::move(disks)]() mutable { done(std::move(disks)); });
  });
}

std::function<Result<auth::IdentityRef>(std::optional<std::string_view>)> AuthenticateWith(
    auth::Authenticator* authenticator) {
  if (authenticator == nullptr) return {};
  return [authenticator](std::optional<std::string_view> header) {
    return authenticator->Authenticate(header, WallMicros() / kMicrosPerSecond);
  };
}

// Null where nobody is asked.
std::shared_ptr<api::WaitingCallers> WatchWaiting(auth::Authority* authority,
                                                  auth::Authenticator* authenticator) {
  if (authority == nullptr) return nullptr;
  const auto now = [] { return WallMicros() / kMicrosPerSecond; };
  return api::WaitingCallers::Make({.authenticate =
                                        [authenticator, now](const std::string& header) {
                                          return authenticator->Authenticate(header, now());
                                        },
                                    .generation = [authority] { return authority->generation(); },
                                    .now_seconds = now});
}

observe::Tracing::Tracer TracerOf(const Shared& shared, int index) {
  return {*shared.tracing, static_cast<size_t>(index)};
}

std::unique_ptr<observe::TracedEngine> MakeTracedEngine(const Shared& shared, int index,
                                                        sidecar::Engine& engine) {
  if (!shared.tracing) return nullptr;
  return std::make_unique<observe::TracedEngine>(engine, TracerOf(shared, index));
}

std::function<TraceContext(const TraceContext&)> StartSpanOf(const Shared& shared, int index) {
  if (!shared.tracing) return {};
  return [tracer = TracerOf(shared, index)](const TraceContext& caller) {
    return tracer.Start(caller);
  };
}

}  // namespace

bool ReplyRoom::TryTake(size_t bytes, uint64_t place) {
  return budgets_.replies.TryTake(bytes, place);
}

void ReplyRoom::Resize(size_t before, size_t now) { budgets_.replies.Resize(before, now); }

size_t ReplyRoom::LargeFree() const { return budgets_.replies.large_free(); }

bool ReplyRoom::full() const { return budgets_.replies.full(); }

uint64_t ReplyRoom::Join(size_t bytes) { return budgets_.replies.order().Join(bytes); }

void ReplyRoom::Change(uint64_t place, size_t bytes) {
  budgets_.replies.order().Change(place, bytes);
}

void ReplyRoom::Leave(uint64_t place) { budgets_.replies.order().Leave(place); }

pg::ConnectOptions ConnectOptionsOf(const config::Config& config, std::string conninfo) {
  pg::ConnectOptions options;
  options.conninfo = std::move(conninfo);
  options.connect_timeout_ms = config.database.connection_timeout_ms;
  options.statement_timeout_ms = config.database.statement_timeout_ms;
  options.lock_timeout_ms = config.database.lock_timeout_ms;
  options.in_flight_deadline_ms = config.database.in_flight_deadline_ms;
  return options;
}

Shared::Shared(const config::Config& the_config)
    : config(the_config),
      budgets(std::make_shared<http::Budgets>(HttpSettings(the_config).limits)),
      reply_room(*budgets),
      metrics(static_cast<size_t>(the_config.server.workers)),
      tracing(the_config.tracing.is_on()
                  ? std::make_unique<observe::Tracing>(
                        the_config.tracing, static_cast<size_t>(the_config.server.workers),
                        metrics.registry)
                  : nullptr),
      delivered(kDeliveredMessagesMax),
      cipher(EncryptionKeysOf(the_config.encryption)),
      audit(AuditOptionsOf(the_config)),
      host_names(OurNames(the_config.http)),
      client_limits(ClientLimitsOf(the_config.http)),
      own_brokers(MakeOwnBrokers(the_config.server.workers)),
      database_up(static_cast<size_t>(the_config.server.workers)) {
  shards.shards.resize(static_cast<size_t>(the_config.server.workers));
  shards.maintenance = &maintenance;
}

bool Shared::AllUp() const {
  return std::all_of(database_up.begin(), database_up.end(),
                     [](const std::atomic<bool>& up) { return up.load(); });
}

api::MaintenanceStatus Shared::CheckMaintenance() const {
  api::MaintenanceStatus status;
  status.push_paused = maintenance.push();
  status.pop_paused = maintenance.pop();
  status.database_up = AllUp();
  if (!buffer) return status;
  const buffer::FileBufferStats stats = buffer->stats();
  status.buffered_messages = stats.pending_messages;
  status.buffer_healthy = stats.healthy;
  status.failed_messages = stats.failed_messages;
  status.failed_files = stats.failed_files;
  status.failed_bytes = stats.failed_bytes;
  return status;
}

struct Worker::Parts {
  Parts(Shared& shared, int index, Loop& loop, const pg::ConnectOptions& connect,
        api::HealthSource health, Timer::Callback on_tick)
      : notices(shared.shards, loop),
        sidecar(loop, std::make_unique<pg::Slots>(loop, connect, SlotsOf(shared.config)),
                SidecarOptionsOf(shared, index), shared.delivered, shared.capacity, shared.cipher,
                notices),
        engine(shared.shards, loop, shared.delivered),
        observed(engine, {shared.metrics.operations, static_cast<size_t>(index)}, activity,
                 shared.delivered),
        traced(MakeTracedEngine(shared, index, observed)),
        families(loop, engine, sidecar),
        queue_manager(loop, *shared.admin, *shared.stats_job, shared.capacity, shared.maintenance),
        authenticator(shared.authority ? std::make_unique<auth::Authenticator>(*shared.authority)
                                       : nullptr),
        context{.engine = traced ? static_cast<sidecar::Engine&>(*traced) : observed,
                .admin = queue_manager,
                .loop = loop,
                .health = std::move(health),
                .authenticate = AuthenticateWith(authenticator.get()),
                .waiting = WatchWaiting(shared.authority.get(), authenticator.get()),
                .open_to_network = IsOpenToTheNetwork(shared.config),
                .start_span = StartSpanOf(shared, index),
                .pop_paused = [&shared] { return shared.maintenance.pop(); },
                .maintenance = [&shared] { return shared.CheckMaintenance(); },
                .shared_state =
                    [&shared, &loop](api::SharedStateDone done) {
                      DescribeSharedState(shared, loop, std::move(done));
                    },
                .lane =
                    [&shared, &loop](api::LaneQuestion question, api::LaneDone done) {
                      DescribeLane(shared, loop, std::move(question), std::move(done));
                    },
                .metrics =
                    [&shared, &loop](api::MetricsFormat format, api::MetricsDone done) {
                      DescribeMetrics(shared, loop, format, std::move(done));
                    },
                .disks = [&shared, &loop](
                             api::DisksDone done) { DescribeDisks(shared, loop, std::move(done)); },
                .cipher = shared.cipher,
                .host_names = &shared.host_names,
                .allow_origins = SplitCommaList(shared.config.http.cors_origins),
                .client_limits = &shared.client_limits,
                .audit = [&shared](const admin::AuditEntry& entry) { shared.audit.Record(entry); }},
        router(MakeRouter(context)),
        refusals(shared.metrics.refusals.Open(static_cast<size_t>(index), router)),
        drain_limit(loop, [this] { connections->Abort(); }),
        tick(loop, std::move(on_tick)) {
    tick.Start(0, kTickMs);
    http::Settings settings = HttpSettings(shared.config);
    settings.certificates = shared.certificates;
    settings.client_limits = &shared.client_limits;
    settings.refuse_body = [this](http::Request& head) {
      return api::RefuseBody(context, router, head);
    };
    settings.on_refused = [this, &loop](const http::Response& response,
                                        const http::Connection& client) {
      refusals.OnRefused(response, client, loop.NowMillis());
    };
    connections =
        std::make_unique<http::Connections>(loop, shared.budgets, std::move(settings),
                                            [this](http::Request request, http::Reply reply) {
                                              router.Dispatch(std::move(request), std::move(reply));
                                            });
  }

  sidecar::ShardNotices notices;
  sidecar::Sidecar sidecar;
  sidecar::EngineRouter engine;
  state::QueueActivity activity;
  observe::ObservedEngine observed;
  const std::unique_ptr<observe::TracedEngine> traced;  // the API's, if there is one
  sidecar::FamilyPops families;
  admin::AsyncQueueManager queue_manager;
  const std::unique_ptr<auth::Authenticator> authenticator;  // null: nobody is asked
  api::Context context;
  const http::Router router;
  observe::Refusals::Writer refusals;
  int64_t publish_queues_ms = 0;  // when its queues are published again
  Timer drain_limit;
  Timer tick;
  std::unique_ptr<http::Connections> connections;  // last: its requests use all of the above
};

Worker::Worker(Shared& shared, int index)
    : shared_(shared), index_(index), loop_("worker " + std::to_string(index)) {}

Worker::~Worker() { assert(!thread_.joinable()); }

void Worker::Start(const pg::ConnectOptions& connect) {
  std::promise<void> ready;
  thread_ = std::thread([this, &ready, &connect] {
    loop_.Post([this, &ready, &connect] {
      api::HealthSource health;
      health.version = config::Version();
      health.worker_id = index_;
      health.check = [this] { return CheckHealth(); };
      parts_ = std::make_unique<Parts>(shared_, index_, loop_, connect, std::move(health),
                                       [this] { OnTick(); });
      shared_.shards.shards[static_cast<size_t>(index_)] = {&loop_, &parts_->sidecar,
                                                            &parts_->families, &parts_->activity};
      ready.set_value();
    });
    loop_.Run();
  });
  ready.get_future().wait();
}

http::Connections* Worker::connections() { return parts_->connections.get(); }

void Worker::DatabaseReady() {
  loop_.Post([this] {
    if (parts_) parts_->sidecar.Start();
  });
}

// Publishes what only this loop may look at, and looks at those who wait.
void Worker::OnTick() {
  const auto worker = static_cast<size_t>(index_);
  const observe::WorkerSnapshot snapshot =
      observe::TakeSnapshot(parts_->sidecar, parts_->connections->counters());
  shared_.database_up[worker] = snapshot.database_up;
  shared_.metrics.workers.Publish(worker, snapshot);
  const int64_t now = loop_.NowMillis();
  parts_->refusals.Tick(now);
  if (parts_->context.waiting) parts_->context.waiting->Look();
  if (now < parts_->publish_queues_ms) return;
  shared_.metrics.queues.Publish(worker, parts_->activity.Snapshot());
  // So that with many queues the loop spends no more time on this than with few.
  parts_->publish_queues_ms =
      now + std::max(kPublishQueuesMs, static_cast<int64_t>(parts_->activity.size()));
}

api::Health Worker::CheckHealth() const {
  api::Health health;
  health.database_connected = shared_.AllUp();
  health.shared_state = SummarizeSharedState(shared_);
  if (!health.database_connected) health.database_problem = shared_.connection_log->problem();
  if (shared_.draining) {
    health.readiness = Status(Code::kShuttingDown);
  } else if (!shared_.schema_ready) {
    health.readiness = Status(Code::kDatabaseUnavailable, health.database_problem.empty()
                                                              ? "The database is not ready yet"
                                                              : health.database_problem);
  } else if (health.database_connected) {
    health.readiness = Status::Ok();
  } else {
    health.readiness = Status(Code::kDatabaseUnavailable, health.database_problem);
  }
  return health;
}

void Worker::Drain(int64_t limit_ms, UniqueFunction<void()> done) {
  loop_.Post([this, limit_ms, done = std::move(done)]() mutable {
    parts_->drain_limit.Start(limit_ms);
    parts_->sidecar.pop().StopWaiting();
    parts_->families.StopWaiting();
    parts_->connections->Drain([this, done = std::move(done)]() mutable {
      parts_->drain_limit.Stop();
      done();
    });
  });
}

void Worker::CloseSidecar(UniqueFunction<void()> done) {
  loop_.Post([this, done = std::move(done)]() mutable {
    parts_->tick.Stop();
    parts_->sidecar.Close(std::move(done));
  });
}

void Worker::Stop() {
  loop_.Post([this] {
    parts_.reset();
    loop_.Stop();
  });
}

void Worker::AbortConnections() {
  if (parts_) parts_->connections->Abort();
}

void Worker::Join() { thread_.join(); }

}  // namespace queen::server
