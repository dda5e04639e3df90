// EmbeddedPostgres: the broker's private PostgreSQL cluster, made, started, watched and stopped
// from one loop. The server is a child process; its death is an event that leads to a restart.
//
//   kStopped --Start--> kInitializing --> kStarting --> kRunning
//                        |  ^              |   ^          |
//          initdb failed |  |        exits |   | delay    | exits
//                        v  |              v   |          |
//                    kFailed               kBackoff <-----+
//   any --Stop--> kStopping --> kStopped
//
//   kStopped       nothing runs
//   kInitializing  a server left by a killed broker is being stopped, then initdb runs if there is
//                  no cluster yet
//   kStarting      the server runs and does not serve yet; crash recovery may take minutes, so
//   there
//                  is no limit as long as the process lives, only a log line every few seconds
//   kRunning       the role queen has connected to the database queen
//   kBackoff       the server exited by itself; the next start waits, twice as long each time, and
//                  starts over from the shortest delay after a stable period. Never gives up.
//   kStopping      fast shutdown (SIGINT), then SIGQUIT, then SIGKILL, each after its limit
//   kFailed        no cluster could be made; failure() says why. Only Stop leads out.
//
// 1. The lock on the data directory is held from Open until destruction, so at most one
//    EmbeddedPostgres acts on a cluster, in this process or any other.
// 2. The server gets SIGINT from the kernel when the thread that runs the loop ends, so a broker
//    killed with -9 leaves a cluster that shuts down by itself; the next start waits for that.
// 3. initdb works under a temporary name and is renamed when complete: a cluster directory is
//    either whole or absent.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_function.h"
#include "embedded/binaries.h"
#include "embedded/child_process.h"
#include "embedded/cluster_user.h"
#include "embedded/data_directory.h"
#include "embedded/machine.h"
#include "loop/loop.h"
#include "loop/timer.h"

namespace queen::embedded {

enum class State {
  kStopped,
  kInitializing,
  kStarting,
  kRunning,
  kBackoff,
  kStopping,
  kFailed,
};
std::string_view NameOf(State state);

struct Options {
  std::string data_dir;
  std::string bin_dir;            // of the server programs; "" = search (see binaries.h)
  std::string user = "postgres";  // runs the cluster when the broker is root
  int max_connections = 200;
  std::optional<Machine> machine;  // to tune for; nullopt = detect

  int64_t stop_limit_ms = 60'000;  // fast shutdown, which writes a checkpoint
  int64_t quit_limit_ms = 10'000;  // immediate shutdown
  int64_t backoff_min_ms = 100;
  int64_t backoff_max_ms = 10'000;
  int64_t stable_ms = 30'000;  // running this long resets the backoff
};

class EmbeddedPostgres {
 public:
  using StartCallback = UniqueFunction<void(Status)>;
  using StopCallback = UniqueFunction<void()>;

  EmbeddedPostgres(Loop& loop, Options options) : loop_(loop), options_(std::move(options)) {}
  ~EmbeddedPostgres();  // REQUIRES: kStopped or kFailed
  EmbeddedPostgres(const EmbeddedPostgres&) = delete;
  EmbeddedPostgres& operator=(const EmbeddedPostgres&) = delete;

  // Locks the data directory and finds the programs. Everything that the operator must put right
  // before a start makes sense is refused here, with a text to show. Once, before anything else;
  // any thread; blocks for some milliseconds.
  Status Open();

  // Begins to start the server. `on_started` is called once, later, on the loop: ok when the server
  // serves for the first time (restarts are not reported), an error when the state is kFailed or
  // when Stop came first. REQUIRES: Open was ok, kStopped.
  void Start(StartCallback on_started);

  // Ends what runs, in any state; `on_stopped` is called later, when no process is left.
  void Stop(StopCallback on_stopped);

  // Any thread.
  State state() const { return state_.load(); }
  int64_t restart_count() const { return restart_count_.load(); }
  pid_t server_pid() const { return server_pid_.load(); }  // 0 = none

  // For the broker's connections. REQUIRES: Open was ok. Any thread.
  std::string conninfo() const;
  const Layout& layout() const { return directory_->layout(); }
  const std::string& log_path() const { return layout().log_file; }
  const Binaries& binaries() const { return *binaries_; }

 private:
  void SetState(State state);
  void After(int64_t delay_ms, Timer::Callback step);
  void Fail(const Status& status);
  void ReportStarted(const Status& status);

  void BeginLeftoverStop(pid_t pid);
  void WaitForLeftover(pid_t pid, int64_t since_ms, int signals_sent);
  void InitializeOrLaunch();
  void BeginInitdb();
  void OnInitdbExit(const std::string& temporary, int64_t log_from, int wait_status);

  void Launch();
  Status LaunchServer();
  void OnServerExit(int wait_status);
  void EnterBackoff();
  void AwaitReady();
  void BeginInitialConnection();
  void OnInitialConnection(const Status& status);
  void ReportProgress(const std::string& reason);
  void BecomeRunning();
  void WatchLog();

  void Escalate(int step);
  void FinishStopWhenIdle();

  Loop& loop_;
  const Options options_;
  std::optional<ClusterUser> user_;
  std::optional<DataDirectory> directory_;
  std::optional<Binaries> binaries_;

  std::atomic<State> state_{State::kStopped};
  std::atomic<int64_t> restart_count_{0};
  std::atomic<pid_t> server_pid_{0};

  StartCallback on_started_;
  std::vector<StopCallback> on_stopped_;
  std::unique_ptr<ChildProcess> child_;  // initdb or the server
  std::unique_ptr<Timer> timer_;         // the one delayed step; what it is depends on the state
  bool connecting_ = false;              // an initial connection is on its way in the pool
  int64_t backoff_ms_ = 0;
  int64_t launched_ms_ = 0;
  int64_t running_since_ms_ = 0;
  int64_t progress_ms_ = 0;      // of the last progress line
  int64_t launch_log_from_ = 0;  // where this launch's part of the server log begins
};

}  // namespace queen::embedded
