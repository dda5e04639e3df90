// SchemaKeeper: brings the database to this binary's schema before the workers use it, on a thread
// of its own because migrating blocks. A database that cannot be reached is tried again, for ever;
// one that refuses (a newer schema, missing rights, wrong encoding) is a fault to report.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "base/status.h"
#include "base/unique_function.h"
#include "loop/loop.h"
#include "storage/migrator.h"

namespace queen::server {

class SchemaKeeper {
 public:
  // `done` runs once on `loop`, unless Stop comes first.
  SchemaKeeper(Loop& loop, std::string conninfo, int connect_timeout_ms,
               UniqueFunction<void(Result<storage::MigrateReport>)> done);
  ~SchemaKeeper();

  // Waits for an attempt that is under way.
  void Stop();

 private:
  void Run();
  Result<storage::MigrateReport> Attempt() const;

  Loop& loop_;
  const std::string conninfo_;
  const int connect_timeout_ms_;
  UniqueFunction<void(Result<storage::MigrateReport>)> done_;
  std::mutex mutex_;
  std::condition_variable stop_changed_;
  bool stop_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace queen::server
