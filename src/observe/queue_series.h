// QueueSeries: what was done to each queue through this broker, as metrics with a bounded number of
// series. The workers publish their totals (state::QueueActivity); they are added up, and the
// busiest queues are shown by name. The rest share the name kOthers.
//
// A shown queue has its true totals, so they only rise. What the others do is added to kOthers as
// it happens, so that falls by nothing either when one of them becomes busy enough to be shown. A
// queue that is shown stays until its place is needed by one that is clearly busier.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "metrics/registry.h"
#include "state/queue_activity.h"

namespace queen::observe {

class QueueSeries {
 public:
  static constexpr size_t kShownMax = 50;
  static constexpr const char* kOthers = "_other";

  // Registers its metrics. `registry` outlives this; writer i is worker i.
  explicit QueueSeries(metrics::Registry& registry, size_t shown_max = kShownMax);
  QueueSeries(const QueueSeries&) = delete;
  QueueSeries& operator=(const QueueSeries&) = delete;

  // Any thread: what this worker has done since it started.
  void Publish(size_t worker, std::vector<state::QueueActivityEntry> entries);
  // Any thread: takes in what was published.
  void Merge();
  // Any thread, as of the last Merge.
  std::vector<std::string> Shown() const;
  state::QueueTotals All() const;

 private:
  struct Queue {
    state::QueueTotals totals;
    double score = 0;  // what it did lately
  };
  using Totals = std::unordered_map<std::string, state::QueueTotals>;

  Totals AddUp() const;
  void ChooseShown();

  const size_t shown_max_;
  mutable std::mutex mutex_;
  // Guarded by it:
  std::vector<std::vector<state::QueueActivityEntry>> published_;  // per worker
  bool changed_ = false;
  std::unordered_map<std::string, Queue> queues_;
  std::unordered_set<std::string> shown_;
  state::QueueTotals others_;
};

}  // namespace queen::observe
