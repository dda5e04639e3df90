// QueueCapacity: how full the queues that have a limit (maxSize) are, as far as this process knows.
// Shared by all workers, because a transaction may push to any queue from any of them. Queues
// without a limit are not in here.
//
//   how full = measured   what the database said last (unconsumed, of the slowest active group)
//            + stored     what was stored through this process since that measurement began
//            + on its way what was admitted and is not decided yet
//
// So a limit is kept exactly by one process alone, and by several within what the others store
// between two measurements. A queue that nobody pushes to is not measured, and what was measured
// of it is forgotten: an old "full" must not refuse the first push after a pause.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

namespace queen::state {

class QueueCapacity {
 public:
  // Measurements begun after the last push that are still worth their cost.
  static constexpr int kQuietMeasurementsMax = 5;

  struct Limit {
    std::string queue;
    QueueId id;
    int64_t messages_max = 0;  // > 0
  };

  // Whether any queue has a limit. Where none has, the rest need not be asked.
  bool any() const { return any_.load(std::memory_order_relaxed); }

  // Whether `queue` has room for one message more; it is on its way then, until Settle.
  [[nodiscard]] bool Admit(std::string_view queue);
  // A message that was admitted is decided.
  void Settle(std::string_view queue, bool stored);

  // ---- limits

  // Configured through this process just now; messages_max 0 = it has none any more.
  void Learn(const Limit& limit);
  void Forget(std::string_view queue);
  // All limits, as read from the database: what was learned since BeginListing is younger and wins.
  int64_t BeginListing() const;
  void EndListing(int64_t begun, const std::vector<Limit>& limits);

  // ---- measurements

  // Those worth measuring, in order of their ids.
  std::vector<QueueId> BeginMeasuring();
  void EndMeasuring(QueueId id, int64_t unconsumed);

 private:
  struct Queue {
    QueueId id;
    int64_t messages_max = 0;
    int64_t measured = 0;
    int64_t stored = 0;
    int64_t on_its_way = 0;
    int64_t stored_before = 0;  // of `stored`: before the present measurement began
    int quiet = 0;              // measurements begun since the last push
    int64_t learned = 0;        // the change it was learned by, see changes_
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  void Put(const Limit& limit, int64_t learned);

  std::atomic<bool> any_{false};
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Queue, Hash, std::equal_to<>> queues_;
  int64_t changes_ = 0;  // learned or forgotten through this process
  // Forgotten through this process: by which change.
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> forgotten_;
};

}  // namespace queen::state
