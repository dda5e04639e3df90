// MetricsFlush: writes what this broker does to the minutes in PostgreSQL (queen.flush_minutes):
// every `interval_ms`, at the end of each minute, and once more at the end.
//
//   Start --> asks PostgreSQL what time it is --> look, write, look, write ... --Finish--> over
//
// A look asks every worker's loop for its totals (`gather`) and enters them in the MinuteBook; a
// write sends what has changed, one statement on the AdminPool, so the message path never waits for
// it. Minutes are PostgreSQL's: its clock comes with every answer and goes on by the steady one,
// so brokers agree on them whatever their own clocks say. What could not be written, or is not
// known to be, goes with the next write. Looks go on meanwhile; a process that is killed takes at
// most the last `interval_ms` with it.
//
// On the pool's loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "admin/admin_pool.h"
#include "admin/minute_book.h"
#include "loop/timer.h"

namespace queen::admin {

// Asks all workers; `done` runs later on the pool's loop, or never if a worker has ended.
using GatherSample = std::function<void(UniqueFunction<void(const BrokerSample&)> done)>;

class MetricsFlush {
 public:
  // How long Finish waits for the last write.
  static constexpr int64_t kLastWriteMs = 2'000;
  static constexpr int64_t kRetryMs = 1'000;

  MetricsFlush(AdminPool& pool, BrokerName name, int64_t interval_ms, GatherSample gather);

  void Start();
  // Looks and writes a last time, then runs `done`; at once if it was never started. Once.
  void Finish(UniqueFunction<void()> done);

 private:
  // PostgreSQL's clock now, as far as it is known.
  int64_t NowMicros() const;
  void OnTimer();
  void Look();
  void OnSample(const BrokerSample& sample);
  void Write();
  void OnWritten(int64_t flush, const pg::BatchResult& result);
  void ScheduleNext();
  void End();

  AdminPool& pool_;
  MinuteBook book_;
  const int64_t interval_ms_;
  GatherSample gather_;
  Timer timer_;
  Timer give_up_;
  bool started_ = false;
  bool looking_ = false;
  bool writing_ = false;
  bool last_look_ = false;                    // it is under way, or over
  int64_t looked_micros_ = 0;                 // when the last look ended, by PostgreSQL's clock
  std::optional<int64_t> clock_lead_micros_;  // PostgreSQL's clock minus the steady one
  UniqueFunction<void()> finished_;           // set: this is the end
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace queen::admin
