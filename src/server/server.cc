#include "server/server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/clock.h"
#include "base/comma_list.h"
#include "base/log.h"
#include "config/conninfo.h"
#include "config/peer_list.h"
#include "config/version.h"
#include "observe/process.h"
#include "pg/connection_log.h"
#include "server/authentication.h"
#include "server/banner.h"
#include "server/broker_sample.h"
#include "server/embedded_options.h"
#include "tls/self_signed.h"

namespace queen::server {
namespace {

constexpr int kExitFault = 1;
constexpr int64_t kReadyCheckMs = 10;
constexpr int64_t kCertificateCheckMs = 1'000;
constexpr int64_t kLastSpansMsMax = 5'000;

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

void Say(const std::string& text) {
  fmt::print("{}", text);
  std::fflush(stdout);
}

}  // namespace

Server::Server(const config::Config& config)
    : config_(config), for_people_(config.log.format == log::Format::kText), shared_(config) {}

Server::~Server() = default;

Status Server::Open() {
  QUEEN_RETURN_IF_ERROR(CheckNobodyIsLetInUnasked(config_));
  Result<std::unique_ptr<auth::Authority>> authority = MakeAuthority(config_);
  if (!authority.ok()) return authority.status();
  shared_.authority = *std::move(authority);
  // First, so that a start refused for its port leaves nothing behind.
  auto acceptor =
      http::Acceptor::Listen(config_.http.host, static_cast<uint16_t>(config_.http.port));
  if (!acceptor.ok()) return acceptor.status();
  acceptor_ = std::move(*acceptor);
  if (config_.tls.is_on()) QUEEN_RETURN_IF_ERROR(OpenTls());
  if (config_.cluster.is_on()) QUEEN_RETURN_IF_ERROR(OpenCluster());
  std::string conninfo;
  if (config_.uses_embedded()) {
    postgres_ = std::make_unique<embedded::EmbeddedPostgres>(loop_, EmbeddedOptionsOf(config_));
    QUEEN_RETURN_IF_ERROR(postgres_->Open());
    conninfo = postgres_->conninfo();
  } else {
    conninfo = config::Conninfo(config_);
  }
  connect_ = ConnectOptionsOf(config_, conninfo);
  QUEEN_RETURN_IF_ERROR(connect_.Validate());
  connect_.log = std::make_shared<pg::ConnectionLog>(connect_.Describe());
  shared_.connection_log = connect_.log;
  if (config_.buffer.is_on()) QUEEN_RETURN_IF_ERROR(OpenBuffer());
  return shared_.audit.Open();
}

Status Server::OpenBuffer() {
  auto directory = buffer::OpenDirectory(config_.buffer.directory);
  if (!directory.ok()) return directory.status();
  auto opened = buffer::FileBuffer::Open(*std::move(directory),
                                         {.file_bytes = config_.buffer.file_bytes,
                                          .bytes_max = config_.buffer.bytes_max,
                                          .free_bytes_min = config_.buffer.free_bytes_min});
  if (!opened.ok()) return opened.status();
  shared_.buffer = *std::move(opened);
  shared_.buffer->OnStranger([this](const std::string& database_id) {
    loop_.Post([this, database_id] { OnStranger(database_id); });
  });
  shared_.shards.buffer = shared_.buffer.get();
  return Status::Ok();
}

Status Server::OpenCluster() {
  auto opened = cluster::Cluster::Open(
      {.host = SplitCommaList(config_.http.host).front(),
       .port = config_.cluster.notify_port,
       .peers = config::ParsePeerList(config_.cluster.peers, config_.cluster.notify_port).value(),
       .secret = config_.cluster.secret,
       .name = fmt::format("{}:{}", HostName(), acceptor_->port()),
       .course_level = CourseLevel()});
  if (!opened.ok()) return opened.status();
  shared_.cluster = *std::move(opened);
  shared_.shards.peers = shared_.cluster.get();
  return Status::Ok();
}

Status Server::OpenTls() {
  const config::Tls& tls = config_.tls;
  tls::Files files{.certificate = tls.certificate,
                   .key = tls.key,
                   .client_ca = tls.client_ca,
                   .client_certificate_required = tls.client_certificate == "required"};
  if (tls.self_signed) {
    tls::SelfSignedOptions options;
    options.names.push_back(HostName());
    const auto made = tls::KeepSelfSigned(config_.embedded.data_dir + "/tls", options);
    if (!made.ok()) return made.status();
    files.certificate = made->certificate;
    files.key = made->key;
    curl_ = "curl --cacert " + files.certificate;
  }
  auto opened = tls::Certificates::Open(std::move(files));
  if (!opened.ok()) return opened.status();
  shared_.certificates = *std::move(opened);
  if (shared_.certificates->current()->expires_at() <= WallMicros() / 1'000'000) {
    log::Warn("the TLS certificate has expired",
              {{"subject", shared_.certificates->current()->subject()}});
  }
  return Status::Ok();
}

int Server::Run() {
  loop_.Post([this] { Begin(); });
  loop_.Run();
  return exit_code_;
}

void Server::Begin() {
  signals_ = std::make_unique<Signals>(loop_, [this](int number) { OnSignal(number); });
  shared_.maintenance.OnChange(
      [this](const state::MaintenanceFlags& flags) { ApplyMaintenance(flags); });
  administration_ = std::make_unique<Administration>(
      config_, shared_.capacity, shared_.maintenance,
      admin::BrokerName{.broker = shared_.own_brokers.first,
                        .hostname = HostName(),
                        .port = acceptor_->port(),
                        .workers = config_.server.workers},
      [this](Loop& here, UniqueFunction<void(const admin::BrokerSample&)> done) {
        GatherBrokerSample(shared_, here, std::move(done));
      },
      shared_.metrics, shared_.authority.get(), shared_.audit);
  administration_->Start(connect_);
  if (shared_.authority) shared_.authority->Start();
  shared_.admin = &administration_->pool();
  shared_.stats_job = &administration_->stats_job();
  RegisterMetrics();
  if (shared_.buffer) shared_.buffer->Start();
  if (shared_.tracing) shared_.tracing->Start();
  std::vector<http::Connections*> connections;
  for (int i = 0; i < config_.server.workers; ++i) {
    workers_.push_back(std::make_unique<Worker>(shared_, i));
    workers_.back()->Start(connect_);
    connections.push_back(workers_.back()->connections());
  }
  if (shared_.cluster) {
    shared_.cluster->Start(shared_.shards, [this] { administration_->LookAtSettings(); });
  }
  acceptor_->Start(std::move(connections));
  if (shared_.certificates) {
    certificate_check_ =
        std::make_unique<Timer>(loop_, [this] { shared_.certificates->Refresh(); });
    certificate_check_->Start(kCertificateCheckMs, kCertificateCheckMs);
  }
  Report("listening", {{"url", acceptor_->url()},
                       {"workers", config_.server.workers},
                       {"version", config::Version()}});
  if (postgres_) {
    postgres_->Start([this](const Status& status) { OnDatabaseStarted(status); });
  } else {
    OnDatabaseStarted(Status::Ok());
  }
}

void Server::RegisterMetrics() {
  metrics::Registry& registry = shared_.metrics.registry;
  observe::RegisterProcess(registry, config::Version());
  observe::RegisterBudgets(registry, *shared_.budgets);
  observe::RegisterDelivered(registry, shared_.delivered);
  observe::RegisterMaintenance(registry, shared_.maintenance);
  registry.AddComputed(metrics::Kind::kGauge, "queen_database_up",
                       "1 while every worker commits to PostgreSQL.",
                       [this] { return shared_.AllUp() ? 1.0 : 0.0; });
  observe::RegisterTls(registry, shared_.certificates);
  observe::RegisterAudit(registry, shared_.audit);
  observe::RegisterClientLimits(registry, shared_.client_limits);
  if (shared_.buffer) observe::RegisterBuffer(registry, *shared_.buffer);
  if (shared_.cluster) observe::RegisterCluster(registry, *shared_.cluster);
}

void Server::OnDatabaseStarted(const Status& status) {
  if (shutting_down_) return;
  if (!status.ok()) return GiveUp("the embedded PostgreSQL did not start", status);
  schema_ = std::make_unique<SchemaKeeper>(
      loop_, connect_, [this](const Result<ReadyDatabase>& result) { OnSchema(result); });
}

void Server::OnSchema(const Result<ReadyDatabase>& result) {
  schema_->Stop();
  if (shutting_down_) return;
  if (!result.ok()) return GiveUp("the database schema cannot be used", result.status());
  const storage::MigrateReport& report = result->report;
  Report("schema ready", {{"version", report.schema_version},
                          {"procedures", report.procedures_release},
                          {"migrations_applied", report.migrations.size()},
                          {"procedures_installed", report.procedures.size()}});
  if (shared_.buffer && !ClaimBuffer(result->id)) return;
  shared_.schema_ready = true;
  administration_->DatabaseReady([this] { loop_.Post([this] { OnMaintenanceKnown(); }); });
}

// False: it is for another database, and the broker stops.
bool Server::ClaimBuffer(const std::string& database_id) {
  const Status claimed = shared_.buffer->Claim(database_id);
  if (claimed.code() == Code::kConflict) {
    GiveUp("the file buffer belongs to another database", claimed);
    return false;
  }
  // A disk that fails is no reason to keep back what can be stored.
  if (!claimed.ok()) {
    log::WarnRarely("the file buffer could not note whose it is", {{"error", claimed.message()}});
  }
  return true;
}

// The address of the database leads to another one than before. That one is served: nothing that
// was remembered of the other outlived its connections. Only what is buffered is not for it.
void Server::OnStranger(const std::string& database_id) {
  if (shutting_down_) return;
  if (database_id != shared_.buffer->owner()) {
    log::WarnRarely("a connection leads to another database than before", {{"id", database_id}});
  }
  ClaimBuffer(database_id);
}

// A fault that waiting does not end.
void Server::GiveUp(std::string_view what, const Status& status) {
  log::Error(what, {{"error", status.message()}});
  exit_code_ = kExitFault;
  ShutDown();
}

// Not before may anything be stored: pushes may be paused.
void Server::OnMaintenanceKnown() {
  if (shutting_down_) return;
  for (const auto& worker : workers_) worker->DatabaseReady();
  if (shared_.buffer) shared_.buffer->StartReplay(shared_.shards);
  ready_check_ = std::make_unique<Timer>(loop_, [this] { CheckReady(); });
  ready_check_->Start(0, kReadyCheckMs);
}

// On the thread that brings the change.
void Server::ApplyMaintenance(const state::MaintenanceFlags& flags) {
  log::Info("maintenance", {{"push", flags.push}, {"pop", flags.pop}});
  if (shared_.cluster) shared_.cluster->MaintenanceChanged();
  if (shared_.buffer) shared_.buffer->SetForced(flags.push);
  for (const sidecar::Shards::Shard& shard : shared_.shards.shards) {
    shard.loop->Post(
        [sidecar = shard.sidecar, paused = flags.pop] { sidecar->pop().SetPaused(paused); });
  }
}

void Server::CheckReady() {
  if (!shared_.AllUp()) return;
  ready_check_.reset();
  const BannerFacts facts{
      .version = std::string(config::Version()),
      .url = LocalUrl(config_.tls.is_on() ? "https" : "http", config_.http.host, acceptor_->port()),
      .curl = curl_,
      .data = DescribeData(),
      .psql = connect_.PsqlCommand()};
  Report("ready", {{"url", facts.url}, {"data", facts.data}, {"psql", facts.psql}});
  if (for_people_) Say(MakeBanner(facts));
}

std::string Server::DescribeData() const {
  if (postgres_) return fmt::format("{} (its own PostgreSQL)", config_.embedded.data_dir);
  return fmt::format("PostgreSQL {}, schema queen", connect_.Describe());
}

// The course of things: lines for programs; people get the banner, and these when they debug.
void Server::Report(std::string_view what, log::Fields fields) const {
  log::Write(CourseLevel(), what, fields);
}

log::Level Server::CourseLevel() const {
  return for_people_ ? log::Level::kDebug : log::Level::kInfo;
}

void Server::OnSignal(int number) {
  if (shutting_down_) {
    log::Warn("second signal: not waiting any longer", {{"signal", number}});
    for (const auto& worker : workers_) {
      worker->loop().Post([&worker] { worker->AbortConnections(); });
    }
    stop_by_ms_ = 0;
    if (shared_.tracing) shared_.tracing->Hurry();
    return;
  }
  Report("shutting down", {{"signal", number}});
  ShutDown();
}

void Server::ShutDown() {
  shutting_down_ = true;
  stop_by_ms_ = SteadyMillis() + config_.server.shutdown_timeout_ms;
  shared_.draining = true;
  ready_check_.reset();
  certificate_check_.reset();
  acceptor_->Stop();
  if (schema_) schema_->Stop();
  administration_->StopSweeps();
  // Step by step, all workers together (see worker.h).
  ForEachWorker(
      [this](Worker& worker, UniqueFunction<void()> done) {
        worker.Drain(config_.server.shutdown_timeout_ms, std::move(done));
      },
      [this] { CloseSidecars(); });
}

// No client is left; what the file buffer is replaying may still be answered.
void Server::CloseSidecars() {
  if (shared_.cluster) shared_.cluster->Stop();
  if (shared_.buffer) shared_.buffer->StopReplay();
  ForEachWorker(
      [](Worker& worker, UniqueFunction<void()> done) { worker.CloseSidecar(std::move(done)); },
      [this] {
        if (shared_.buffer) shared_.buffer->Close();
        administration_->FinishMetrics([this] { loop_.Post([this] { StopThreads(); }); });
      });
}

// Nothing is done any more, and what was done is written down.
void Server::StopThreads() {
  administration_->Stop();  // it answers through the workers
  if (shared_.authority) shared_.authority->Stop();
  for (const auto& worker : workers_) worker->Stop();
  for (const auto& worker : workers_) worker->Join();
  shared_.audit.Close();
  StopTracing();
}

// What is left of the time to shut down is for the last spans, within reason: a collector that
// hangs holds up nobody's restart.
void Server::StopTracing() {
  if (!shared_.tracing) return StopDatabase();
  shared_.tracing->Stop(std::clamp<int64_t>(stop_by_ms_ - SteadyMillis(), 0, kLastSpansMsMax),
                        [this] { loop_.Post([this] { OnTracingStopped(); }); });
}

void Server::OnTracingStopped() {
  const observe::SpanTotals spans = shared_.tracing->Totals();
  Report("spans", {{"exported", spans.exported},
                   {"dropped", spans.buffer_full + spans.not_sent},
                   {"buffer_full", spans.buffer_full},
                   {"sends_failed", spans.sends_failed}});
  StopDatabase();
}

// Runs `step` for every worker, then `done` on this loop when all have finished it.
void Server::ForEachWorker(const std::function<void(Worker&, UniqueFunction<void()>)>& step,
                           const std::function<void()>& done) {
  auto left = std::make_shared<size_t>(workers_.size());
  for (const auto& worker : workers_) {
    step(*worker, [this, left, done] {
      loop_.Post([left, done] {
        if (--*left == 0) done();
      });
    });
  }
}

void Server::StopDatabase() {
  const auto finish = [this] {
    Report("stopped", {});
    if (for_people_ && exit_code_ == 0) {
      Say(fmt::format("Queen has stopped. The data stays in {}.\n", DescribeData()));
    }
    signals_.reset();
    schema_.reset();
    loop_.Stop();
  };
  if (postgres_) {
    postgres_->Stop([this, finish] {
      finish();
      loop_.Post([this] { postgres_.reset(); });
    });
  } else {
    finish();
  }
}

}  // namespace queen::server
