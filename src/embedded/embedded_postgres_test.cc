// The life of a cluster without faults: made, started, stopped, started again, refused.
#include "embedded/embedded_postgres.h"

#include <csignal>

#include "embedded/embedded_service.h"
#include "embedded/testing.h"

namespace queen::embedded {
namespace {

namespace fs = std::filesystem;

TEST(Server, FirstStartServesTheDatabaseQueenAndStopIsClean) {
  const TestDirectory parent;
  EmbeddedService service(SmallOptions(parent / "data"));
  ASSERT_TRUE(service.Open().ok());
  const EmbeddedPostgres& postgres = service.postgres();
  EXPECT_EQ(postgres.state(), State::kStopped);
  ASSERT_TRUE(service.StartAndWait().ok());
  EXPECT_EQ(postgres.state(), State::kRunning);
  const std::string conninfo = postgres.conninfo();
  EXPECT_EQ(Query(conninfo, "SELECT current_database() || '/' || current_user"), "queen/queen");
  EXPECT_EQ(Query(conninfo, "SELECT rolsuper FROM pg_roles WHERE rolname = 'queen'"), "f");
  EXPECT_EQ(Query(conninfo, "CREATE TABLE t(); SELECT 1"), "1");
  EXPECT_EQ(Query(conninfo, "SHOW server_encoding"), "UTF8");

  const pid_t pid = postgres.server_pid();
  EXPECT_TRUE(IsAlive(pid));
  service.Stop();
  EXPECT_EQ(postgres.state(), State::kStopped);
  EXPECT_FALSE(IsAlive(pid));
  EXPECT_EQ(ControlState(postgres), "shut down");
  EXPECT_TRUE(fs::is_empty(postgres.layout().socket_directory));
}

TEST(Server, RestartKeepsTheDataAndTheOperatorsSettings) {
  const TestDirectory parent;
  {
    EmbeddedService service(SmallOptions(parent / "data"));
    ASSERT_TRUE(service.Open().ok());
    ASSERT_TRUE(service.StartAndWait().ok());
    const std::string conninfo = service.postgres().conninfo();
    EXPECT_EQ(Query(conninfo, "CREATE TABLE t AS SELECT 42 AS n"), "");
    EXPECT_EQ(Query(conninfo, "SHOW work_mem"), "4MB");
    EXPECT_EQ(Query(conninfo, "SHOW fsync"), "on");
    EXPECT_EQ(Query(conninfo, "SHOW listen_addresses"), "");
    EXPECT_EQ(Query(conninfo, "SHOW max_connections"), "20");
  }
  std::ofstream(parent / "data/postgres-custom.conf") << "work_mem = '7MB'\nport = 1\n";
  EmbeddedService service(SmallOptions(parent / "data"));
  ASSERT_TRUE(service.Open().ok());
  ASSERT_TRUE(service.StartAndWait().ok());
  const std::string conninfo = service.postgres().conninfo();
  EXPECT_EQ(Query(conninfo, "SELECT n FROM t"), "42");
  EXPECT_EQ(Query(conninfo, "SHOW work_mem"), "7MB");
}

TEST(Server, TheMachineItRunsOnIsAValidConfiguration) {
  const TestDirectory parent;
  Options options = SmallOptions(parent / "data");
  options.machine.reset();
  EmbeddedService service(options);
  ASSERT_TRUE(service.Open().ok());
  ASSERT_TRUE(service.StartAndWait().ok());
  EXPECT_EQ(service.postgres().restart_count(), 0);
}

TEST(Server, SecondBrokerOnTheDirectoryIsRefusedAndTheFirstGoesOn) {
  const TestDirectory parent;
  EmbeddedService first(SmallOptions(parent / "data"));
  ASSERT_TRUE(first.Open().ok());
  ASSERT_TRUE(first.StartAndWait().ok());
  EmbeddedService second(SmallOptions(parent / "data"));
  const Status refused = second.Open();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.message().find("in use by another broker"), std::string::npos);
  EXPECT_NE(refused.message().find(parent / "data"), std::string::npos);
  EXPECT_EQ(Query(first.postgres().conninfo(), "SELECT 1"), "1");
}

TEST(Server, StrangersMayNotConnect) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to play the stranger";
  const TestDirectory parent;
  EmbeddedService service(SmallOptions(parent / "data"));
  ASSERT_TRUE(service.Open().ok());
  ASSERT_TRUE(service.StartAndWait().ok());
  ClusterUser nobody;
  nobody.uid = nobody.gid = 65534;
  nobody.drops = true;
  Command command;
  command.argv = {service.postgres().binaries().directory + "/psql", "-wAtc", "SELECT 1",
                  service.postgres().conninfo()};
  command.environment = PlainEnvironment();
  command.user = &nobody;
  Result<CommandOutput> output = RunCommand(command);
  ASSERT_TRUE(output.ok());
  EXPECT_FALSE(output->succeeded());
  EXPECT_NE(output->text.find("Permission denied"), std::string::npos) << output->text;

  // Were the directories opened by mistake, the server itself would still refuse.
  const Layout& layout = service.postgres().layout();
  chmod(layout.root.c_str(), 0755);
  chmod(layout.socket_directory.c_str(), 0755);
  chmod((layout.socket_directory + "/.s.PGSQL.5432").c_str(), 0777);
  output = RunCommand(command);
  ASSERT_TRUE(output.ok());
  EXPECT_FALSE(output->succeeded());
  EXPECT_NE(output->text.find("authentication failed"), std::string::npos) << output->text;
}

TEST(Server, ServesFromALongPathAndFromOneFullOfPunctuation) {
  const TestDirectory parent;
  for (const std::string& name :
       {std::string(150, 'x'), std::string("it's a \"dir\", \\ really")}) {
    EmbeddedService service(SmallOptions(parent / name));
    ASSERT_TRUE(service.Open().ok());
    ASSERT_TRUE(service.StartAndWait().ok());
    EXPECT_EQ(Query(service.postgres().conninfo(), "SELECT 1"), "1");
    service.Stop();
    EXPECT_EQ(ControlState(service.postgres()), "shut down");
    fs::remove(service.postgres().layout().socket_directory);
  }
}

TEST(Server, StopDuringTheStartStopsEverything) {
  const TestDirectory parent;
  EmbeddedService service(SmallOptions(parent / "data"));
  ASSERT_TRUE(service.Open().ok());
  std::atomic<bool> reported = false;
  service.Start([&](const Status& status) {
    EXPECT_EQ(status.code(), Code::kShuttingDown);
    reported = true;
  });
  ASSERT_TRUE(WaitFor([&] { return service.postgres().state() == State::kInitializing; }));
  service.Stop();
  EXPECT_TRUE(reported);
  EXPECT_EQ(service.postgres().state(), State::kStopped);
  EXPECT_FALSE(fs::exists(service.postgres().layout().cluster));
}

TEST(Server, StartsAgainAfterAStop) {
  const TestDirectory parent;
  Loop loop("test");
  EmbeddedPostgres postgres(loop, SmallOptions(parent / "data"));
  ASSERT_TRUE(postgres.Open().ok());
  int started = 0;
  loop.Post([&] {
    postgres.Start([&](const Status& first) {
      started += first.ok() ? 1 : 0;
      postgres.Stop([&] {
        postgres.Start([&](const Status& second) {
          started += second.ok() ? 1 : 0;
          postgres.Stop([&] { loop.Stop(); });
        });
      });
    });
  });
  loop.Run();
  EXPECT_EQ(started, 2);
  EXPECT_EQ(ControlState(postgres), "shut down");
}

TEST(Server, RefusesADirectoryThatIsNoCluster) {
  const TestDirectory parent;
  fs::create_directories(parent / "data/postgres");
  std::ofstream(parent / "data/postgres/letters.txt") << "dear diary";
  if (geteuid() == 0) {
    const uid_t uid = FindClusterUser("postgres")->uid;
    ASSERT_EQ(chown((parent / "data/postgres").c_str(), uid, static_cast<gid_t>(-1)), 0);
  }
  EmbeddedService service(SmallOptions(parent / "data"));
  const Status refused = service.Open();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.message().find("neither empty nor a PostgreSQL cluster"), std::string::npos);
  EXPECT_TRUE(fs::exists(parent / "data/postgres/letters.txt"));
}

TEST(Server, AVersionThatIsNotInstalledIsNamed) {
  const TestDirectory parent;
  fs::create_directories(parent / "data/postgres");
  std::ofstream(parent / "data/postgres/PG_VERSION") << "99\n";
  if (geteuid() == 0) {
    const uid_t uid = FindClusterUser("postgres")->uid;
    ASSERT_EQ(chown((parent / "data/postgres").c_str(), uid, static_cast<gid_t>(-1)), 0);
  }
  EmbeddedService service(SmallOptions(parent / "data"));
  const Status refused = service.Open();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.message().find("postgresql-99"), std::string::npos) << refused.message();
}

TEST(Server, AFailedInitdbSaysWhyAndLeavesNothing) {
  const TestDirectory parent;
  fs::create_directories(parent / "bin");
  // A server that tells its version and an initdb that fails.
  for (const char* name : {"initdb", "postgres"}) {
    std::ofstream(parent / "bin/" + name)
        << "#!/bin/sh\n[ \"$1\" = --version ] && echo 'x (PostgreSQL) 15.1' && exit\n"
        << "echo 'no space left, says initdb'; exit 1\n";
    chmod((parent / "bin/" + name).c_str(), 0755);
  }
  Options options = SmallOptions(parent / "data");
  options.bin_dir = parent / "bin";
  EmbeddedService service(options);
  ASSERT_TRUE(service.Open().ok());
  const Status failed = service.StartAndWait();
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.message().find("no space left, says initdb"), std::string::npos);
  EXPECT_EQ(service.postgres().state(), State::kFailed);
  for (const fs::directory_entry& entry : fs::directory_iterator(parent / "data")) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("postgres.new")) << entry.path();
  }
}

}  // namespace
}  // namespace queen::embedded
