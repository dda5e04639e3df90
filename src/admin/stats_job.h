// StatsJob: keeps the numbers of queues, groups and lanes that lag (sql/migrations/0010_stats.sql)
// young. A pass walks over all partitions in short steps; of the brokers on one database one at a
// time makes a pass, and one that dies in it is given up after seconds
// (sql/procedures/begin_stats.sql).
//
//   resting --due, or Refresh--> beginning --yours--> walking: step, pause, step .. --done-->
//   resting
//                                 |  ^                   |
//                           held, |  | later        lost |  (another broker has taken over)
//                           fresh v  |                   v
//                               resting               resting, or beginning if somebody waits
//
// A pass leaves PostgreSQL alone most of the time: the pause behind a step is kPauseFactor times as
// long as the step took. A pass that somebody waits for pauses only as long as its steps take, and
// takes the place of one that nobody waits for.
//
// On the pool's loop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "admin/admin_pool.h"
#include "admin/requests.h"
#include "base/uuid.h"
#include "loop/timer.h"

namespace queen::admin {

class StatsJob {
 public:
  static constexpr int32_t kProbesPerStep = 3'000;
  static constexpr int64_t kPauseFactor = 9;
  // Well below the lease of the job (queen.stats_lease).
  static constexpr int64_t kPauseMaxMs = 2'000;
  static constexpr int64_t kWaitMinMs = 50;

  StatsJob(AdminPool& pool, int64_t interval_ms);

  void Start();
  // No further step is begun; whoever waits is refused, and another broker may take over.
  void Stop();

  // Any thread. Answers true on `caller` when every number is newer than this call.
  void Refresh(Loop& caller, Done<bool> done);

 private:
  struct Waiter {
    Loop* loop;
    Done<bool> done;
  };

  void Next();
  void Begin();
  void OnBegun(const pg::BatchResult& result, int64_t took_ms);
  void Step();
  void OnStep(const pg::BatchResult& result, int64_t took_ms);
  void Ask(const pg::Statement& statement, pg::Params params,
           void (StatsJob::*take)(const pg::BatchResult& result, int64_t took_ms));
  void Rest(int64_t wait_ms);
  void Fail(const Status& status);
  void Answer(const Result<bool>& result);

  AdminPool& pool_;
  const int64_t interval_ms_;
  const Uuid holder_;  // this broker
  Timer timer_;
  bool stopped_ = true;
  bool in_flight_ = false;

  // The pass under way, and where its next step begins.
  bool walking_ = false;
  bool hurried_ = false;
  int32_t queue_ = 0;
  int32_t after_ = 0;
  std::optional<std::string> carry_;

  // Those who wait for numbers from since_ on (PostgreSQL's clock; none: not known yet), and those
  // who have come since.
  std::vector<Waiter> serving_;
  std::optional<int64_t> since_;
  std::vector<Waiter> waiting_;
};

}  // namespace queen::admin
