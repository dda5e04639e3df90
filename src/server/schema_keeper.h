// SchemaKeeper: brings the database to this binary's schema before the workers use it, on a thread
// of its own because migrating blocks. A database that cannot be reached is tried again, for ever;
// one that refuses (a newer schema, missing rights, wrong encoding) is a fault to report. Why it
// cannot be reached is said by the ConnectionLog that the workers use, at once and while it lasts.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "base/status.h"
#include "base/unique_function.h"
#include "loop/loop.h"
#include "pg/connect_options.h"
#include "storage/migrator.h"

namespace queen::server {

// A database with the schema of this binary.
struct ReadyDatabase {
  storage::MigrateReport report;
  std::string id;  // storage::ReadDatabaseId
};

class SchemaKeeper {
 public:
  using Done = UniqueFunction<void(const Result<ReadyDatabase>&)>;

  // `done` runs once on `loop`, unless Stop comes first. REQUIRES: options.log is set
  SchemaKeeper(Loop& loop, pg::ConnectOptions options, Done done);
  ~SchemaKeeper();

  // Waits for an attempt that is under way.
  void Stop();

 private:
  void Run();
  Result<ReadyDatabase> Attempt() const;

  Loop& loop_;
  const pg::ConnectOptions options_;
  Done done_;
  std::mutex mutex_;
  std::condition_variable stop_changed_;
  bool stop_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace queen::server
