// DatabaseWatch: keeps DatabaseNumbers fresh, on the loop and the connections of administration, so
// that reading metrics asks the database nothing. Each second it looks at the pool itself; every
// kQueuesMs it reads depth and lag (as the stats job has measured them), every kDatabaseMs how the
// database fares. A question that is still open is not asked again.
#pragma once

#include <functional>

#include "admin/admin_pool.h"
#include "loop/timer.h"
#include "observe/database_numbers.h"
#include "observe/queue_series.h"

namespace queen::observe {

class DatabaseWatch {
 public:
  static constexpr int64_t kTickMs = 1'000;
  static constexpr int64_t kQueuesMs = 5'000;
  static constexpr int64_t kDatabaseMs = 15'000;
  // Beside the busiest queues: so many with the most to consume, and so many that lag the longest.
  static constexpr int kMoreQueues = 20;
  static constexpr int kMoreGroups = 50;

  // On the pool's loop. `tick` runs each second, also before Start. What it is given outlives it.
  DatabaseWatch(admin::AdminPool& pool, QueueSeries& series, DatabaseNumbers& numbers,
                std::function<void()> tick);

  // The schema is in place: begins to ask.
  void Start();
  // Nothing further is asked.
  void Stop();

 private:
  // A question that is asked again and again.
  struct Question {
    int64_t every_ms;
    int64_t asked_ms = 0;  // 0: never
    bool open = false;

    bool IsDue(int64_t now_ms) const {
      return !open && (asked_ms == 0 || now_ms - asked_ms >= every_ms);
    }
  };

  void OnTick();
  void Ask(Question& question, const pg::Statement& statement, pg::Params params,
           std::function<void(const pg::Rows&)> take);
  void AskQueues();
  void AskGroups();
  void AskDatabase();

  admin::AdminPool& pool_;
  QueueSeries& series_;
  DatabaseNumbers& numbers_;
  const std::function<void()> tick_;
  bool asking_ = false;
  Question queues_{kQueuesMs};
  Question groups_{kQueuesMs};
  Question database_{kDatabaseMs};
  Timer timer_;
};

}  // namespace queen::observe
