// The cluster after faults: the server killed, the broker killed, pid files that lie, an initdb cut
// short. Each case ends by showing that the cluster serves again.
#include <sys/wait.h>

#include <csignal>

#include "embedded/embedded_service.h"
#include "embedded/postmaster_file.h"
#include "embedded/testing.h"

namespace queen::embedded {
namespace {

namespace fs = std::filesystem;

constexpr char kBrokerDirectory[] = "QUEEN_TEST_BROKER_DIRECTORY";

// Another process that runs a broker's cluster: this program again, at the test BrokerProcess.
class BrokerProcess {
 public:
  explicit BrokerProcess(const std::string& data_dir) {
    Command command;
    command.argv = {fs::read_symlink("/proc/self/exe"), "--gtest_also_run_disabled_tests",
                    "--gtest_filter=Helper.DISABLED_BrokerProcess"};
    command.environment = PlainEnvironment();
    command.environment.push_back(std::string(kBrokerDirectory) + "=" + data_dir);
    command.death_signal = SIGKILL;
    command.output_fd = STDERR_FILENO;
    pid_ = *Spawn(command);
  }
  ~BrokerProcess() { Kill(); }
  void Kill() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
};

TEST(Helper, DISABLED_BrokerProcess) {
  const char* directory = std::getenv(kBrokerDirectory);
  ASSERT_NE(directory, nullptr);
  EmbeddedService service(SmallOptions(directory));
  ASSERT_TRUE(service.Open().ok());
  ASSERT_TRUE(service.StartAndWait().ok());
  pause();
}

std::string FirstWord(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

// A cluster that was made, given one row, and stopped.
void MakeCluster(const std::string& data_dir) {
  EmbeddedService service(SmallOptions(data_dir));
  ASSERT_TRUE(service.Open().ok());
  ASSERT_TRUE(service.StartAndWait().ok());
  ASSERT_EQ(Query(service.postgres().conninfo(), "CREATE TABLE t AS SELECT 7 AS n"), "");
}

void ExpectServes(const std::string& data_dir) {
  EmbeddedService service(SmallOptions(data_dir));
  const Status opened = service.Open();
  ASSERT_TRUE(opened.ok()) << opened.message();
  ASSERT_TRUE(service.StartAndWait().ok());
  EXPECT_EQ(service.postgres().restart_count(), 0) << "started at the first attempt";
  EXPECT_EQ(Query(service.postgres().conninfo(), "SELECT n FROM t"), "7");
  service.Stop();
  EXPECT_EQ(ControlState(service.postgres()), "shut down");
}

TEST(Recovery, AKilledServerIsStartedAgain) {
  const TestDirectory parent;
  EmbeddedService service(SmallOptions(parent / "data"));
  ASSERT_TRUE(service.Open().ok());
  ASSERT_TRUE(service.StartAndWait().ok());
  const EmbeddedPostgres& postgres = service.postgres();
  ASSERT_EQ(Query(postgres.conninfo(), "CREATE TABLE t AS SELECT 7 AS n"), "");
  for (int kills = 1; kills <= 2; ++kills) {
    const pid_t before = postgres.server_pid();
    ASSERT_EQ(kill(before, SIGKILL), 0);
    ASSERT_TRUE(WaitFor(
        [&] { return postgres.state() == State::kRunning && postgres.server_pid() != before; }));
    EXPECT_GE(postgres.restart_count(), kills);
    EXPECT_EQ(Query(postgres.conninfo(), "SELECT n FROM t"), "7");
  }
  service.Stop();
  EXPECT_EQ(ControlState(postgres), "shut down");
}

TEST(Recovery, AServerThatCannotStartIsTriedAgainUntilItCan) {
  const TestDirectory parent;
  MakeCluster(parent / "data");
  std::ofstream(parent / "data/postgres-custom.conf") << "no_such_setting = 1\n";
  Options options = SmallOptions(parent / "data");
  options.backoff_min_ms = 10;
  options.backoff_max_ms = 100;
  EmbeddedService service(options);
  ASSERT_TRUE(service.Open().ok());
  std::atomic<bool> started = false;
  service.Start([&](const Status& status) { started = status.ok(); });
  ASSERT_TRUE(WaitFor([&] { return service.postgres().restart_count() >= 3; }));
  EXPECT_FALSE(started);
  EXPECT_NE(ReadFile(service.postgres().log_path()).find("no_such_setting"), std::string::npos);
  fs::remove(parent / "data/postgres-custom.conf");
  ASSERT_TRUE(WaitFor([&] { return started.load(); }));
  EXPECT_EQ(Query(service.postgres().conninfo(), "SELECT n FROM t"), "7");
}

TEST(Recovery, StopInBackoffEndsAtOnce) {
  const TestDirectory parent;
  MakeCluster(parent / "data");
  std::ofstream(parent / "data/postgres-custom.conf") << "no_such_setting = 1\n";
  Options options = SmallOptions(parent / "data");
  options.backoff_min_ms = 3'600'000;
  options.backoff_max_ms = 3'600'000;
  EmbeddedService service(options);
  ASSERT_TRUE(service.Open().ok());
  service.Start([](const Status&) {});
  ASSERT_TRUE(WaitFor([&] { return service.postgres().state() == State::kBackoff; }));
  service.Stop();
  EXPECT_EQ(service.postgres().state(), State::kStopped);
}

TEST(Recovery, AServerThatDoesNotListenToSignalsIsKilled) {
  const TestDirectory parent;
  MakeCluster(parent / "data");
  Options options = SmallOptions(parent / "data");
  options.stop_limit_ms = 100;
  options.quit_limit_ms = 100;
  EmbeddedService service(options);
  ASSERT_TRUE(service.Open().ok());
  ASSERT_TRUE(service.StartAndWait().ok());
  const pid_t pid = service.postgres().server_pid();
  ASSERT_EQ(kill(pid, SIGSTOP), 0);
  service.Stop();
  EXPECT_FALSE(IsAlive(pid));
  ASSERT_TRUE(
      WaitFor([&] { return FindLeftover(service.postgres().layout()).kind == Leftover::kNone; }));
}

TEST(Recovery, AKilledBrokerTakesItsServerWithItAndTheNextOneStarts) {
  const TestDirectory parent;
  MakeCluster(parent / "data");
  BrokerProcess broker(parent / "data");
  const std::string pid_file = parent / "data/postgres/postmaster.pid";
  ASSERT_TRUE(WaitFor([&] { return ReadFile(pid_file).find("ready") != std::string::npos; }));
  const pid_t server = std::stoi(FirstWord(pid_file));
  broker.Kill();
  // At once, while the old server is still going down.
  ExpectServes(parent / "data");
  EXPECT_FALSE(IsPostmasterOf(server, LayoutOf(parent / "data", 0)));
}

TEST(Recovery, AServerLeftBehindIsStoppedFirst) {
  const TestDirectory parent;
  MakeCluster(parent / "data");
  const ClusterUser user = *FindClusterUser("postgres");
  BinariesRequest request;
  request.path_directories = PathDirectories();
  // As after a kill -9 whose signal to the server was lost: nobody is going to stop it but we.
  Command command;
  command.argv = {FindBinaries(request)->postgres(), "-D", parent / "data/postgres", "-k",
                  parent / "data/run"};
  command.environment = PlainEnvironment();
  command.user = &user;
  const pid_t server = *Spawn(command);
  const std::string pid_file = parent / "data/postgres/postmaster.pid";
  ASSERT_TRUE(WaitFor([&] { return ReadFile(pid_file).find("ready") != std::string::npos; }));
  std::thread reaper([server] { waitpid(server, nullptr, 0); });
  ExpectServes(parent / "data");
  reaper.join();
}

// Replaces the pid in a file that PostgreSQL left.
void WritePidFile(const std::string& path, pid_t pid, const std::string& data_dir) {
  std::ofstream(path) << pid << "\n"
                      << data_dir << "/postgres\n1700000000\n5432\n"
                      << data_dir << "/run\n\n        0         0\nready   \n";
  const ClusterUser user = *FindClusterUser("postgres");
  if (user.drops) {
    ASSERT_EQ(chown(path.c_str(), user.uid, user.gid), 0);
  }
}

TEST(Recovery, APidFileOfADeadProcess) {
  const TestDirectory parent;
  MakeCluster(parent / "data");
  Command command;
  command.argv = {"/bin/true"};
  const pid_t dead = *Spawn(command);
  waitpid(dead, nullptr, 0);
  WritePidFile(parent / "data/postgres/postmaster.pid", dead, parent / "data");
  WritePidFile(parent / "data/run/.s.PGSQL.5432.lock", dead, parent / "data");
  ExpectServes(parent / "data");
}

TEST(Recovery, APidFileWhosePidIsAStrangersNow) {
  const TestDirectory parent;
  MakeCluster(parent / "data");
  // Of the cluster's user: PostgreSQL ignores the processes of others, and refuses for this one.
  const ClusterUser user = *FindClusterUser("postgres");
  Command command;
  command.argv = {"/bin/sleep", "600"};
  command.user = &user;
  const pid_t stranger = *Spawn(command);
  WritePidFile(parent / "data/postgres/postmaster.pid", stranger, parent / "data");
  WritePidFile(parent / "data/run/.s.PGSQL.5432.lock", stranger, parent / "data");
  ExpectServes(parent / "data");
  EXPECT_EQ(waitpid(stranger, nullptr, WNOHANG), 0) << "the stranger was killed";
  kill(stranger, SIGKILL);
  waitpid(stranger, nullptr, 0);
}

TEST(Recovery, APidFileWhosePidIsAZombie) {
  const TestDirectory parent;
  MakeCluster(parent / "data");
  const ClusterUser user = *FindClusterUser("postgres");
  Command command;
  command.argv = {"/bin/true"};
  command.user = &user;
  const pid_t zombie = *Spawn(command);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(zombie), &info, WEXITED | WNOWAIT), 0);
  WritePidFile(parent / "data/postgres/postmaster.pid", zombie, parent / "data");
  ExpectServes(parent / "data");
  waitpid(zombie, nullptr, 0);
}

TEST(Recovery, APidFileThatIsGarbage) {
  const TestDirectory parent;
  MakeCluster(parent / "data");
  for (const char* text : {"", "garbage\n", "99999999999999999999\n"}) {
    std::ofstream(parent / "data/postgres/postmaster.pid") << text;
    ExpectServes(parent / "data");
  }
}

TEST(Recovery, AnInterruptedInitdbIsStartedOver) {
  const TestDirectory parent;
  {
    BrokerProcess broker(parent / "data");
    const auto initdb_began = [&] {
      std::error_code error;
      for (const fs::directory_entry& entry : fs::directory_iterator(parent / "data", error)) {
        const std::string name = entry.path().filename();
        if (name.starts_with("postgres.new.") && fs::exists(entry.path() / "PG_VERSION"))
          return true;
      }
      return false;
    };
    ASSERT_TRUE(WaitFor(initdb_began));
    broker.Kill();
  }
  EXPECT_FALSE(fs::exists(parent / "data/postgres"));
  MakeCluster(parent / "data");
  ExpectServes(parent / "data");
  for (const fs::directory_entry& entry : fs::directory_iterator(parent / "data")) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("postgres.new")) << entry.path();
  }
}

}  // namespace
}  // namespace queen::embedded
