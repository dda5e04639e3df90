// Measurement: the stretch of a run that counts. It begins when it is made; End closes it. With a
// series it also takes a point every interval.
#pragma once

#include <cstdint>
#include <memory>

#include "bench/consumers.h"
#include "bench/report.h"
#include "bench/resources.h"
#include "bench/stats.h"
#include "bench/workload.h"
#include "loop/timer.h"

namespace queen::bench {

class Measurement {
 public:
  // Where the points of the series come from; null where there is nothing of the kind.
  struct Watched {
    Workload* workload = nullptr;
    Stats* pushes = nullptr;
    Consumers* consumers = nullptr;
  };

  // Resets the stats of what is watched. REQUIRES: all of it outlives the measurement
  Measurement(Run& run, Resources& resources, const Watched& watched);

  void End();
  double seconds() const { return seconds_; }    // REQUIRES: ended
  const Spent& spent() const { return spent_; }  // REQUIRES: ended
  std::vector<SeriesPoint> series() && { return std::move(series_); }

  // A row of this measurement about what `stats` counted.
  ReportRow Row(const char* name, const Stats& stats) const;

 private:
  void TakePoint();

  Resources& resources_;
  const Watched watched_;
  const Usage began_;
  const int64_t interval_us_;
  const int64_t began_us_;
  double seconds_ = 0;
  Spent spent_;

  Timer timer_;
  int64_t point_us_;
  Usage point_usage_;
  uint64_t point_confirmed_ = 0;
  uint64_t point_received_ = 0;
  std::vector<SeriesPoint> series_;
};

}  // namespace queen::bench
