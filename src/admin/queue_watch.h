// QueueWatch: keeps the process's QueueCapacity true. Each second: which queues have a limit, and
// how many messages of those that were pushed to lately the slowest active group has still to
// consume (sql/procedures/queue_depths.sql).
//
//   a tick --> listing (pages of kLimitsPerPage) --> measuring --> until the next tick
//
// A group is active when it has taken or settled something, or was made, in the last kActiveMs; the
// one that did so last always is, or a limit would end when its only consumer does. A queue
// without groups is measured by what is stored of it.
//
// One statement is in flight at a time, of at most kProbesPerPage index probes, and at most
// kPagesPerTick are sent per second: queues with very many partitions are measured over several
// ticks. Without limited queues a tick is one probe of an empty index.
//
// On the pool's loop.
#pragma once

#include <map>
#include <vector>

#include "admin/admin_pool.h"
#include "loop/timer.h"
#include "state/queue_capacity.h"

namespace queen::admin {

class QueueWatch {
 public:
  static constexpr int64_t kTickMs = 1'000;
  static constexpr int64_t kActiveMs = 3'600'000;
  static constexpr int32_t kLimitsPerPage = 1'000;
  static constexpr int32_t kProbesPerPage = 3'000;
  static constexpr int kPagesPerTick = 10;
  static constexpr size_t kQueuesPerPage = 200;

  QueueWatch(AdminPool& pool, state::QueueCapacity& capacity);

  void Start();
  // Something may have changed: does the work of a tick now, unless some is under way.
  void Look();
  // Nothing further is asked; what is in flight ends with the pool.
  void Stop();

  // What is known of one queue so far.
  struct Depth {
    struct Group {
      int64_t unconsumed = 0;
      int64_t idle_ms = 0;
    };
    int64_t stored = 0;
    std::map<int32_t, Group> groups;

    // Of the slowest active group.
    int64_t Unconsumed() const;
  };

 private:
  void OnTick();
  void List(int32_t after);
  void OnListed(const pg::BatchResult& result);
  void Measure();
  void OnMeasured(const pg::BatchResult& result);
  void Ask(const pg::Statement& statement, pg::Params params,
           void (QueueWatch::*take)(const pg::BatchResult& result));

  AdminPool& pool_;
  state::QueueCapacity& capacity_;
  Timer timer_;
  bool stopped_ = true;
  bool in_flight_ = false;

  int64_t listing_begun_ = 0;
  std::vector<state::QueueCapacity::Limit> limits_;

  // The present measurement: queues left, the first of them behind partition after_.
  std::vector<QueueId> left_;
  int32_t after_ = 0;
  std::map<int32_t, Depth> depths_;
  int pages_ = 0;  // in this tick
};

}  // namespace queen::admin
