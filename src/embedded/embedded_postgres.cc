#include "embedded/embedded_postgres.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "embedded/cluster_files.h"
#include "embedded/initdb.h"
#include "embedded/initial_connection.h"
#include "embedded/postmaster_file.h"
#include "embedded/server_log.h"
#include "embedded/tuning.h"

namespace queen::embedded {
namespace {

constexpr int64_t kPollMs = 25;
constexpr int64_t kReconnectMs = 200;
constexpr int64_t kProgressMs = 5'000;
constexpr int64_t kLogCheckMs = 60'000;

// One blocking question on libuv's pool and its answer back on the loop.
struct ConnectionRequest {
  uv_work_t work{};
  std::string socket_directory;
  Status status;
  UniqueFunction<void(const Status&)> done;
};

// A list of one directory, as unix_socket_directories is parsed.
std::string QuoteListItem(const std::string& item) {
  std::string quoted = "\"";
  for (const char c : item) {
    if (c == '"') quoted += c;
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

std::string_view NameOf(State state) {
  switch (state) {
    case State::kStopped:
      return "stopped";
    case State::kInitializing:
      return "initializing";
    case State::kStarting:
      return "starting";
    case State::kRunning:
      return "running";
    case State::kBackoff:
      return "backoff";
    case State::kStopping:
      return "stopping";
    case State::kFailed:
      return "failed";
  }
  return "?";
}

EmbeddedPostgres::~EmbeddedPostgres() {
  assert(state() == State::kStopped || state() == State::kFailed);
}

Status EmbeddedPostgres::Open() {
  assert(!directory_);
  Result<ClusterUser> user = FindClusterUser(options_.user);
  if (!user.ok()) return user.status();
  Result<DataDirectory> directory = DataDirectory::Open(options_.data_dir, *user);
  if (!directory.ok()) return directory.status();
  const Result<std::optional<int>> major = ClusterMajor(directory->layout());
  if (!major.ok()) return major.status();
  BinariesRequest request;
  request.directory = options_.bin_dir;
  request.major = *major;
  request.path_directories = PathDirectories();
  Result<Binaries> binaries = FindBinaries(request);
  if (!binaries.ok()) return binaries.status();
  user_ = *std::move(user);
  binaries_ = *std::move(binaries);
  directory_.emplace(*std::move(directory));
  return Status::Ok();
}

std::string EmbeddedPostgres::conninfo() const {
  return ConnInfo(layout().socket_directory, "queen", "queen");
}

void EmbeddedPostgres::SetState(State state) {
  log::Debug("embedded PostgreSQL", {{"state", NameOf(state)}});
  state_ = state;
}

void EmbeddedPostgres::After(int64_t delay_ms, Timer::Callback step) {
  timer_ = std::make_unique<Timer>(loop_, std::move(step));
  timer_->Start(delay_ms);
}

// ---- kInitializing ----

void EmbeddedPostgres::Start(StartCallback on_started) {
  loop_.AssertOwner();
  assert(directory_ && state() == State::kStopped);
  on_started_ = std::move(on_started);
  backoff_ms_ = options_.backoff_min_ms;
  SetState(State::kInitializing);
  const Leftover leftover = FindLeftover(layout());
  if (leftover.kind == Leftover::kPostmaster) {
    BeginLeftoverStop(leftover.pid);
  } else {
    InitializeOrLaunch();
  }
}

void EmbeddedPostgres::BeginLeftoverStop(pid_t pid) {
  log::Warn(
      "a PostgreSQL server of an earlier broker still runs on this data directory; stopping it",
      {{"pid", pid}, {"data_dir", layout().root}});
  kill(pid, SIGINT);
  progress_ms_ = SteadyMillis();
  WaitForLeftover(pid, SteadyMillis(), 1);
}

void EmbeddedPostgres::WaitForLeftover(pid_t pid, int64_t since_ms, int signals_sent) {
  if (!IsPostmasterOf(pid, layout())) return InitializeOrLaunch();
  const int64_t waited_ms = SteadyMillis() - since_ms;
  if (signals_sent == 1 && waited_ms > options_.stop_limit_ms) {
    kill(pid, SIGQUIT);
    signals_sent = 2;
  } else if (signals_sent == 2 && waited_ms > options_.stop_limit_ms + options_.quit_limit_ms) {
    kill(pid, SIGKILL);
    signals_sent = 3;
  }
  ReportProgress("the server of an earlier broker is shutting down");
  After(kPollMs, [=, this] { WaitForLeftover(pid, since_ms, signals_sent); });
}

void EmbeddedPostgres::InitializeOrLaunch() {
  const Result<std::optional<int>> major = ClusterMajor(layout());
  if (!major.ok()) return Fail(major.status());
  if (major->has_value()) return Launch();
  BeginInitdb();
}

void EmbeddedPostgres::BeginInitdb() {
  RemoveInterruptedInitdb(layout());
  Result<std::string> temporary = MakeInitdbDirectory(layout(), *user_);
  if (!temporary.ok()) return Fail(temporary.status());
  const Result<int> log_fd = OpenServerLog(layout().log_file);
  if (!log_fd.ok()) return Fail(log_fd.status());
  log::Debug(
      "making a PostgreSQL cluster",
      {{"directory", layout().cluster}, {"version", binaries_->major}, {"user", user_->name}});
  Command command = InitdbCommand(*binaries_, *temporary);
  command.user = &*user_;
  command.output_fd = *log_fd;
  const int64_t log_from = ServerLogSize(layout().log_file);
  Result<std::unique_ptr<ChildProcess>> child = ChildProcess::Start(
      loop_, command, [this, directory = *temporary, log_from](int wait_status) {
        OnInitdbExit(directory, log_from, wait_status);
      });
  close(*log_fd);
  if (!child.ok()) return Fail(child.status());
  child_ = *std::move(child);
}

void EmbeddedPostgres::OnInitdbExit(const std::string& temporary, int64_t log_from,
                                    int wait_status) {
  child_.reset();
  if (state() == State::kStopping) return FinishStopWhenIdle();
  if (wait_status != 0) {
    RemoveInterruptedInitdb(layout());
    return Fail(
        Status(Code::kInternal, fmt::format("initdb failed ({}): {}", DescribeExit(wait_status),
                                            TailOfServerLog(layout().log_file, log_from))));
  }
  if (const Status status = PublishCluster(layout(), temporary); !status.ok()) return Fail(status);
  Launch();
}

void EmbeddedPostgres::Fail(const Status& status) {
  log::Error("embedded PostgreSQL cannot be started", {{"error", status.message()}});
  timer_.reset();
  SetState(State::kFailed);
  ReportStarted(status);
}

void EmbeddedPostgres::ReportStarted(const Status& status) {
  if (!on_started_) return;
  loop_.Post(
      [on_started = std::exchange(on_started_, nullptr), status]() mutable { on_started(status); });
}

// ---- kStarting, kRunning, kBackoff ----

void EmbeddedPostgres::Launch() {
  SetState(State::kStarting);
  const Status status = LaunchServer();
  if (!status.ok()) {
    log::Error("PostgreSQL could not be launched", {{"error", status.message()}});
    return EnterBackoff();
  }
  progress_ms_ = launched_ms_ = SteadyMillis();
  AwaitReady();
}

Status EmbeddedPostgres::LaunchServer() {
  // Somebody may have started a server by hand while ours was down.
  if (FindLeftover(layout()).kind == Leftover::kPostmaster) {
    return Status(Code::kInternal, "another server runs on this data directory");
  }
  ClearLeftovers(layout());
  TuningInput tuning;
  tuning.machine = options_.machine ? *options_.machine : DetectMachine(layout().root);
  tuning.major = binaries_->major;
  tuning.lz4 = binaries_->lz4;
  tuning.max_connections = options_.max_connections;
  QUEEN_RETURN_IF_ERROR(WriteClusterFiles(TuneFor(tuning), layout(), *user_));
  LimitServerLog(layout().log_file);
  const Result<int> log_fd = OpenServerLog(layout().log_file);
  if (!log_fd.ok()) return log_fd.status();
  launch_log_from_ = ServerLogSize(layout().log_file);
  Command command;
  // What conninfo() promises is on the command line, out of reach of the operator's file.
  command.argv = {binaries_->postgres(),
                  "-D",
                  layout().cluster,
                  "-k",
                  QuoteListItem(layout().socket_directory),
                  "-p",
                  fmt::format("{}", kSocketPort)};
  command.directory = layout().cluster;
  command.environment = PlainEnvironment();
  command.user = &*user_;
  command.output_fd = *log_fd;
  command.death_signal = SIGINT;
  Result<std::unique_ptr<ChildProcess>> child =
      ChildProcess::Start(loop_, command, [this](int wait_status) { OnServerExit(wait_status); });
  close(*log_fd);
  if (!child.ok()) return child.status();
  child_ = *std::move(child);
  server_pid_ = child_->pid();
  return Status::Ok();
}

void EmbeddedPostgres::OnServerExit(int wait_status) {
  child_.reset();
  server_pid_ = 0;
  if (state() == State::kStopping) {
    log::Debug("PostgreSQL has stopped", {{"exit", DescribeExit(wait_status)}});
    return FinishStopWhenIdle();
  }
  log::Error("PostgreSQL exited unexpectedly",
             {{"exit", DescribeExit(wait_status)},
              {"log", TailOfServerLog(layout().log_file, launch_log_from_)},
              {"log_file", layout().log_file}});
  EnterBackoff();
}

void EmbeddedPostgres::EnterBackoff() {
  const bool stable =
      state() == State::kRunning && SteadyMillis() - running_since_ms_ >= options_.stable_ms;
  if (stable) backoff_ms_ = options_.backoff_min_ms;
  SetState(State::kBackoff);
  log::Warn("restarting PostgreSQL", {{"in_ms", backoff_ms_}});
  After(backoff_ms_, [this] {
    ++restart_count_;
    Launch();
  });
  backoff_ms_ = std::min(backoff_ms_ * 2, options_.backoff_max_ms);
}

void EmbeddedPostgres::AwaitReady() {
  const std::string status = PostmasterStatus(layout(), server_pid_);
  if (status == "ready" && !connecting_) return BeginInitialConnection();
  ReportProgress(status.empty() ? "no status yet" : status);
  After(kPollMs, [this] { AwaitReady(); });
}

void EmbeddedPostgres::BeginInitialConnection() {
  connecting_ = true;
  auto* request = new ConnectionRequest;
  request->work.data = request;
  request->socket_directory = layout().socket_directory;
  request->done = [this, pid = server_pid_.load()](const Status& status) {
    connecting_ = false;
    if (state() == State::kStopping) return FinishStopWhenIdle();
    // The server that was asked may be gone, and another one on its way.
    if (state() == State::kStarting && server_pid_ == pid) OnInitialConnection(status);
  };
  uv_queue_work(
      loop_.uv(), &request->work,
      [](uv_work_t* work) {
        auto* self = static_cast<ConnectionRequest*>(work->data);
        self->status = MakeInitialConnection(self->socket_directory);
      },
      [](uv_work_t* work, int) {
        const std::unique_ptr<ConnectionRequest> self(static_cast<ConnectionRequest*>(work->data));
        self->done(self->status);
      });
}

void EmbeddedPostgres::OnInitialConnection(const Status& status) {
  if (status.ok()) return BecomeRunning();
  ReportProgress(status.message());
  After(kReconnectMs, [this] { AwaitReady(); });
}

void EmbeddedPostgres::ReportProgress(const std::string& reason) {
  const int64_t now_ms = SteadyMillis();
  if (now_ms - progress_ms_ < kProgressMs) return;
  progress_ms_ = now_ms;
  log::Info("waiting for PostgreSQL",
            {{"reason", reason}, {"log", TailOfServerLog(layout().log_file, launch_log_from_, 1)}});
}

void EmbeddedPostgres::BecomeRunning() {
  SetState(State::kRunning);
  running_since_ms_ = SteadyMillis();
  // After a restart it is news.
  log::Write(restart_count() > 0 ? log::Level::kInfo : log::Level::kDebug, "PostgreSQL is ready",
             {{"pid", server_pid_.load()},
              {"version", binaries_->major},
              {"after_ms", running_since_ms_ - launched_ms_},
              {"socket", layout().socket_directory},
              {"log_file", layout().log_file}});
  ReportStarted(Status::Ok());
  WatchLog();
}

void EmbeddedPostgres::WatchLog() {
  LimitServerLog(layout().log_file);
  After(kLogCheckMs, [this] { WatchLog(); });
}

// ---- kStopping ----

void EmbeddedPostgres::Stop(StopCallback on_stopped) {
  loop_.AssertOwner();
  on_stopped_.push_back(std::move(on_stopped));
  if (state() == State::kStopping) return;
  timer_.reset();
  ReportStarted(Status(Code::kShuttingDown, "stopped before PostgreSQL was ready"));
  SetState(State::kStopping);
  if (child_ == nullptr) return FinishStopWhenIdle();
  if (server_pid_ == 0) {
    child_->Kill(SIGKILL);  // initdb: what it leaves behind is removed at the next start
    return;
  }
  log::Debug("stopping PostgreSQL", {{"pid", server_pid_.load()}});
  Escalate(0);
}

void EmbeddedPostgres::Escalate(int step) {
  constexpr int kSignals[] = {SIGINT, SIGQUIT, SIGKILL};
  const int64_t limits_ms[] = {options_.stop_limit_ms, options_.quit_limit_ms};
  if (step > 0) {
    log::Warn("PostgreSQL is slow to stop; insisting",
              {{"signal", strsignal(kSignals[step])}, {"pid", server_pid_.load()}});
  }
  child_->Kill(kSignals[step]);
  if (step == 2) return;
  After(limits_ms[step], [this, step] { Escalate(step + 1); });
}

void EmbeddedPostgres::FinishStopWhenIdle() {
  if (child_ != nullptr || connecting_) return;
  timer_.reset();
  SetState(State::kStopped);
  for (StopCallback& callback : std::exchange(on_stopped_, {})) loop_.Post(std::move(callback));
}

}  // namespace queen::embedded
