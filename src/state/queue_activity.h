// QueueActivity: what was done to each queue through one worker, as totals since it started. They
// belong to the worker's loop: it alone counts, and whoever wants the numbers asks it for a
// snapshot there.
//
// Memory is bounded whatever clients send. `queues_max` queues have totals of their own, and all
// others share those of kOtherQueues. A name enters when something proves that its queue exists: a
// message stored, delivered or acked. A pop that found nothing proves nothing, so only a tenth of
// the places are for names that were merely asked for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace queen::state {

// All but age_max_ms only rise.
struct QueueTotals {
  int64_t pushed = 0;         // messages stored
  int64_t push_bytes = 0;     // of their payloads as they came, and of those buffered
  int64_t duplicates = 0;     // messages that were there already
  int64_t buffered = 0;       // messages taken by the file buffer; not counted again when replayed
  int64_t popped = 0;         // messages delivered
  int64_t pops = 0;           // pops answered with or without messages
  int64_t empty_pops = 0;     // of them, those without
  int64_t acked = 0;          // messages completed, also on delivery (autoAck)
  int64_t failed = 0;         // messages reported as failed
  int64_t dead_lettered = 0;  // messages moved to the dead letters by an ack
  int64_t retried = 0;        // messages handed back
  // How old messages were when they were delivered.
  int64_t age_count = 0;
  int64_t age_sum_ms = 0;
  int64_t age_max_ms = 0;  // since QueueActivity::RestartAgeMax

  void Add(const QueueTotals& other);
  // Requests and messages; those with the most are the busiest queues.
  int64_t activity() const { return pushed + duplicates + buffered + popped + pops + acked; }
};

struct QueueActivityEntry {
  std::string queue;
  QueueTotals totals;
};

class QueueActivity {
 public:
  // The name of all queues that have no totals of their own. No queue has it: names are not empty.
  static constexpr std::string_view kOtherQueues = "";
  static constexpr size_t kQueuesMax = 10'000;

  explicit QueueActivity(size_t queues_max = kQueuesMax) : queues_max_(queues_max) {}

  // The totals of a queue that exists. The reference stays valid as long as this object.
  QueueTotals& Of(std::string_view queue);
  // The totals of a queue that somebody asked for.
  QueueTotals& OfAsked(std::string_view queue);

  size_t size() const { return queues_.size(); }
  // Every queue with totals of its own, then kOtherQueues if anything was counted there.
  std::vector<QueueActivityEntry> Snapshot() const;
  // From here on age_max_ms is the largest age seen after this call.
  void RestartAgeMax();

 private:
  struct Entry {
    QueueTotals totals;
    bool exists = false;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  const size_t queues_max_;
  std::unordered_map<std::string, Entry, Hash, std::equal_to<>> queues_;
  size_t asked_ = 0;  // of them, those not known to exist
  QueueTotals others_;
};

}  // namespace queen::state
