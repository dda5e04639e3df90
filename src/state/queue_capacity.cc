#include "state/queue_capacity.h"

#include <algorithm>
#include <unordered_set>

namespace queen::state {

bool QueueCapacity::Admit(std::string_view queue) {
  if (!any()) return true;
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(queue);
  if (found == queues_.end()) return true;
  Queue& entry = found->second;
  entry.quiet = 0;
  if (entry.measured + entry.stored + entry.on_its_way >= entry.messages_max) return false;
  ++entry.on_its_way;
  return true;
}

void QueueCapacity::Settle(std::string_view queue, bool stored) {
  if (!any()) return;
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(queue);
  if (found == queues_.end()) return;
  Queue& entry = found->second;
  // It may have been admitted before the queue had a limit.
  entry.on_its_way = std::max<int64_t>(entry.on_its_way - 1, 0);
  if (stored) ++entry.stored;
}

// ---- limits

void QueueCapacity::Put(const Limit& limit, int64_t learned) {
  Queue& entry = queues_[limit.queue];
  if (entry.id != limit.id) entry = Queue{};  // another queue of that name
  entry.id = limit.id;
  entry.messages_max = limit.messages_max;
  entry.learned = learned;
}

void QueueCapacity::Learn(const Limit& limit) {
  if (limit.messages_max == 0) return Forget(limit.queue);
  const std::lock_guard lock(mutex_);
  forgotten_.erase(limit.queue);
  Put(limit, ++changes_);
  any_ = true;
}

void QueueCapacity::Forget(std::string_view queue) {
  if (!any()) return;
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(queue);
  if (found == queues_.end()) return;
  forgotten_.emplace(found->first, ++changes_);
  queues_.erase(found);
  any_ = !queues_.empty();
}

int64_t QueueCapacity::BeginListing() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

void QueueCapacity::EndListing(int64_t begun, const std::vector<Limit>& limits) {
  const std::lock_guard lock(mutex_);
  std::unordered_set<std::string_view> listed;
  for (const Limit& limit : limits) {
    listed.insert(limit.queue);
    const auto known = queues_.find(limit.queue);
    if (known != queues_.end() && known->second.learned > begun) continue;
    const auto gone = forgotten_.find(limit.queue);
    if (gone != forgotten_.end() && gone->second > begun) continue;
    Put(limit, begun);
  }
  std::erase_if(queues_, [&](const auto& entry) {
    return entry.second.learned <= begun && !listed.contains(entry.first);
  });
  std::erase_if(forgotten_, [&](const auto& entry) { return entry.second <= begun; });
  any_ = !queues_.empty();
}

// ---- measurements

std::vector<QueueId> QueueCapacity::BeginMeasuring() {
  if (!any()) return {};
  const std::lock_guard lock(mutex_);
  std::vector<QueueId> ids;
  for (auto& [name, entry] : queues_) {
    if (++entry.quiet > kQuietMeasurementsMax) {
      entry.measured = 0;
      entry.stored = 0;
      continue;
    }
    entry.stored_before = entry.stored;
    ids.push_back(entry.id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

void QueueCapacity::EndMeasuring(QueueId id, int64_t unconsumed) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(queues_.begin(), queues_.end(),
                                  [id](const auto& entry) { return entry.second.id == id; });
  if (found == queues_.end()) return;
  Queue& entry = found->second;
  entry.measured = unconsumed;
  entry.stored -= entry.stored_before;
  entry.stored_before = 0;
}

}  // namespace queen::state
