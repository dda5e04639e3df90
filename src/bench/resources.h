// Resources: what broker and PostgreSQL spend during a measurement: processor time and memory from
// /proc, WAL from the database. A figure that cannot be had is nullopt, and the report shows "-";
// a broker on another machine still gets its WAL counted if --database is given.
//
// Asking the database blocks; it is done before and after a measurement only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bench/options.h"
#include "bench/target.h"
#include "pg/blocking_connection.h"

namespace queen::bench {

// What has been spent since some beginning.
struct Usage {
  std::optional<double> broker_cpu_seconds;
  std::optional<double> postgres_cpu_seconds;
  std::optional<double> wal_bytes;
  double generator_cpu_seconds = 0;  // this process
};

struct Spent : Usage {
  std::optional<uint64_t> broker_peak_bytes;
};

class Resources {
 public:
  // Finds the processes and connects to the database, as far as it can. `environment_database` is
  // DATABASE_URL. kInvalidRequest when something that the options name is not there.
  static Result<Resources> Open(const Options& options, const Target& target,
                                const std::string& environment_database);

  // Begins a measurement: its peak of memory starts here.
  Usage Begin();
  // What was spent since `begin`.
  Spent End(const Usage& begin);

  // Processor time so far, without asking the database.
  Usage Now() const;

  std::optional<int64_t> broker_pid() const { return broker_; }
  std::optional<int64_t> postgres_pid() const { return postmaster_; }
  // How to reach the database, "" when unknown.
  const std::string& conninfo() const { return conninfo_; }

 private:
  // Whether the postmaster is the broker's own: only then is its database the broker's for sure.
  bool OwnsCluster() const;
  std::optional<double> WalBytes();

  std::optional<pid_t> broker_;
  std::optional<pid_t> postmaster_;
  std::string conninfo_;
  std::optional<pg::BlockingConnection> database_;
};

}  // namespace queen::bench
