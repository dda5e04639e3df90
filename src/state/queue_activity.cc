#include "state/queue_activity.h"

namespace queen::state {

void QueueTotals::Add(const QueueTotals& other) {
  pushed += other.pushed;
  push_bytes += other.push_bytes;
  duplicates += other.duplicates;
  buffered += other.buffered;
  popped += other.popped;
  pops += other.pops;
  empty_pops += other.empty_pops;
  acked += other.acked;
  failed += other.failed;
  dead_lettered += other.dead_lettered;
  retried += other.retried;
  age_count += other.age_count;
  age_sum_ms += other.age_sum_ms;
  age_max_ms = std::max(age_max_ms, other.age_max_ms);
}

QueueTotals& QueueActivity::Of(std::string_view queue) {
  if (const auto found = queues_.find(queue); found != queues_.end()) {
    if (!found->second.exists) {
      found->second.exists = true;
      --asked_;
    }
    return found->second.totals;
  }
  if (queue.empty() || queues_.size() >= queues_max_) return others_;
  Entry& entry = queues_[std::string(queue)];
  entry.exists = true;
  return entry.totals;
}

QueueTotals& QueueActivity::OfAsked(std::string_view queue) {
  if (const auto found = queues_.find(queue); found != queues_.end()) return found->second.totals;
  const bool room = queues_.size() < queues_max_ && asked_ < (queues_max_ + 9) / 10;
  if (queue.empty() || !room) return others_;
  ++asked_;
  return queues_[std::string(queue)].totals;
}

std::vector<QueueActivityEntry> QueueActivity::Snapshot() const {
  std::vector<QueueActivityEntry> snapshot;
  snapshot.reserve(queues_.size() + 1);
  for (const auto& [queue, entry] : queues_) snapshot.push_back({queue, entry.totals});
  if (others_.activity() > 0 || others_.failed + others_.dead_lettered + others_.retried > 0) {
    snapshot.push_back({std::string(kOtherQueues), others_});
  }
  return snapshot;
}

void QueueActivity::RestartAgeMax() {
  for (auto& [queue, entry] : queues_) entry.totals.age_max_ms = 0;
  others_.age_max_ms = 0;
}

}  // namespace queen::state
