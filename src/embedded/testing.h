// What the tests of this directory share: a directory that vanishes, options for a small cluster,
// waiting with a deadline, and questions to a running or a stopped cluster.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/clock.h"
#include "embedded/embedded_postgres.h"
#include "embedded/run_command.h"

namespace queen::embedded {

class TestDirectory {
 public:
  TestDirectory() {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
    chmod(path_.c_str(), 0755);
  }
  ~TestDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_ = "/tmp/queen-embedded.XXXXXX";
};

inline Options SmallOptions(const std::string& data_dir) {
  Options options;
  options.data_dir = data_dir;
  options.machine = Machine{.memory_mb = 512, .cores = 1, .disk_free_mb = 4096};
  options.max_connections = 20;
  return options;
}

// Polls until `condition` holds; false when `limit_ms` passed first.
template <typename Condition>
bool WaitFor(Condition condition, int64_t limit_ms = 60'000) {
  const int64_t deadline_ms = SteadyMillis() + limit_ms;
  while (!condition()) {
    if (SteadyMillis() > deadline_ms) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

// First column of the first row; "" for no row; "error: ..." when it failed.
inline std::string Query(const std::string& conninfo, const std::string& sql) {
  PGconn* connection = PQconnectdb((conninfo + " connect_timeout=5").c_str());
  PGresult* rows = PQexec(connection, sql.c_str());
  const ExecStatusType status = PQresultStatus(rows);
  std::string answer;
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    answer = std::string("error: ") + PQerrorMessage(connection);
  } else if (PQntuples(rows) > 0) {
    answer = PQgetvalue(rows, 0, 0);
  }
  PQclear(rows);
  PQfinish(connection);
  return answer;
}

// "shut down", "in production", ...
inline std::string ControlState(const EmbeddedPostgres& postgres) {
  Command command;
  command.argv = {postgres.binaries().directory + "/pg_controldata", postgres.layout().cluster};
  command.environment = PlainEnvironment();
  Result<CommandOutput> output = RunCommand(std::move(command));
  if (!output.ok()) return output.status().ToString();
  constexpr std::string_view kLabel = "Database cluster state:";
  const size_t at = output->text.find(kLabel);
  if (at == std::string::npos) return output->text;
  const size_t begin = output->text.find_first_not_of(' ', at + kLabel.size());
  return output->text.substr(begin, output->text.find('\n', begin) - begin);
}

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline bool IsAlive(pid_t pid) { return kill(pid, 0) == 0; }

}  // namespace queen::embedded
