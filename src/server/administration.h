// Administration: the thread of the AdminPool and of the sweeps.
//
//   Start --> idle --DatabaseReady--> serving and sweeping --StopSweeps--> serving --Stop--> ended
#pragma once

#include <memory>
#include <thread>

#include "admin/admin_pool.h"
#include "admin/sweeper.h"
#include "config/config.h"
#include "loop/loop.h"

namespace queen::server {

class Administration {
 public:
  explicit Administration(const config::Config& config);
  ~Administration();  // REQUIRES: never started, or stopped

  // Starts the thread and makes everything on it; returns when that is done.
  void Start(const pg::ConnectOptions& connect);
  // The schema is in place. Any thread, once.
  void DatabaseReady();
  // Any thread.
  void StopSweeps();
  // Waits for what is in flight and ends the thread. REQUIRES: nobody asks the pool any more
  void Stop();

  // REQUIRES: started
  admin::AdminPool& pool();

 private:
  struct Parts {
    Parts(Loop& loop, const pg::ConnectOptions& connect, const config::Config& config);

    admin::AdminPool pool;
    admin::Sweeper sweeper;
  };

  const config::Config& config_;
  Loop loop_{"admin"};
  std::unique_ptr<Parts> parts_;  // made and destroyed on the thread
  std::thread thread_;
};

}  // namespace queen::server
