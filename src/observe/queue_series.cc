#include "observe/queue_series.h"

#include <algorithm>
#include <array>
#include <utility>

namespace queen::observe {
namespace {

using metrics::Kind;
using metrics::Labels;
using state::QueueTotals;
using Member = int64_t QueueTotals::*;

struct Event {
  const char* name;
  Member count;
};

constexpr auto kEvents = std::to_array<Event>({
    {"pushed", &QueueTotals::pushed},
    {"duplicate", &QueueTotals::duplicates},
    {"buffered", &QueueTotals::buffered},
    {"delivered", &QueueTotals::popped},
    {"acked", &QueueTotals::acked},
    {"failed", &QueueTotals::failed},
    {"dead_lettered", &QueueTotals::dead_lettered},
    {"retried", &QueueTotals::retried},
});

// Everything that only rises.
constexpr auto kMembers = std::to_array<Member>({
    &QueueTotals::pushed,
    &QueueTotals::push_bytes,
    &QueueTotals::duplicates,
    &QueueTotals::buffered,
    &QueueTotals::popped,
    &QueueTotals::pops,
    &QueueTotals::empty_pops,
    &QueueTotals::acked,
    &QueueTotals::failed,
    &QueueTotals::dead_lettered,
    &QueueTotals::retried,
    &QueueTotals::age_count,
    &QueueTotals::age_sum_ms,
});

constexpr double kScoreKept = 0.9;  // of a queue's score from one Merge to the next
// An outsider takes a place when it is that much busier than who has it.
constexpr double kClearlyBusier = 1.5;

QueueTotals Difference(const QueueTotals& now, const QueueTotals& before) {
  QueueTotals difference;
  for (const Member member : kMembers) difference.*member = now.*member - before.*member;
  return difference;
}

bool Any(const QueueTotals& totals) {
  return std::any_of(kMembers.begin(), kMembers.end(),
                     [&totals](Member member) { return totals.*member != 0; });
}

}  // namespace

QueueSeries::QueueSeries(metrics::Registry& registry, size_t shown_max)
    : shown_max_(shown_max), published_(registry.writers()) {
  // Calls `show(name, totals)` for each series.
  const auto for_each = [this](const auto& show) {
    const std::lock_guard lock(mutex_);
    for (const std::string& queue : shown_) show(queue, queues_.at(queue).totals);
    if (Any(others_)) show(std::string(kOthers), others_);
  };
  registry.AddCollected(Kind::kCounter, "queen_queue_messages_total",
                        "Messages of the busiest queues, by what was done to them.",
                        [for_each](const metrics::Emit& emit) {
                          for_each([&](const std::string& queue, const QueueTotals& totals) {
                            for (const Event& event : kEvents) {
                              emit({{"queue", queue}, {"event", event.name}},
                                   static_cast<double>(totals.*event.count));
                            }
                          });
                        });
  registry.AddCollected(Kind::kCounter, "queen_queue_pushed_bytes_total",
                        "Bytes of the payloads pushed to the busiest queues.",
                        [for_each](const metrics::Emit& emit) {
                          for_each([&](const std::string& queue, const QueueTotals& totals) {
                            emit({{"queue", queue}}, static_cast<double>(totals.push_bytes));
                          });
                        });
  registry.AddCollected(
      Kind::kCounter, "queen_queue_pops_total", "Pops of the busiest queues by their answer.",
      [for_each](const metrics::Emit& emit) {
        for_each([&](const std::string& queue, const QueueTotals& totals) {
          emit({{"queue", queue}, {"result", "messages"}},
               static_cast<double>(totals.pops - totals.empty_pops));
          emit({{"queue", queue}, {"result", "empty"}}, static_cast<double>(totals.empty_pops));
        });
      });
  registry.AddCollected(
      Kind::kCounter, "queen_queue_delivery_age_seconds_total",
      "The ages of delivered messages added up; divided by those delivered, their mean age.",
      [for_each](const metrics::Emit& emit) {
        for_each([&](const std::string& queue, const QueueTotals& totals) {
          emit({{"queue", queue}}, static_cast<double>(totals.age_sum_ms) / 1e3);
        });
      });
}

void QueueSeries::Publish(size_t worker, std::vector<state::QueueActivityEntry> entries) {
  const std::lock_guard lock(mutex_);
  published_[worker] = std::move(entries);
  changed_ = true;
}

QueueSeries::Totals QueueSeries::AddUp() const {
  Totals sums;
  for (const auto& entries : published_) {
    for (const auto& entry : entries) sums[entry.queue].Add(entry.totals);
  }
  return sums;
}

void QueueSeries::Merge() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(changed_, false)) return;
  for (auto& [name, totals] : AddUp()) {
    Queue& queue = queues_[name];
    const QueueTotals difference = Difference(totals, queue.totals);
    queue.score = queue.score * kScoreKept + static_cast<double>(difference.activity());
    queue.totals = totals;
    // Beyond the limit of a worker names are not known; nobody of them is shown.
    const bool nameless = name == state::QueueActivity::kOtherQueues;
    if (!nameless && !shown_.contains(name) && shown_.size() < shown_max_) {
      shown_.insert(name);
    } else if (!shown_.contains(name)) {
      others_.Add(difference);
    }
  }
  ChooseShown();
}

// One place a time: the least busy of the shown for the busiest of the others.
void QueueSeries::ChooseShown() {
  if (shown_.size() < shown_max_ || shown_max_ == 0) return;
  const std::pair<const std::string, Queue>* busiest = nullptr;
  for (const auto& queue : queues_) {
    if (queue.first == state::QueueActivity::kOtherQueues || shown_.contains(queue.first)) continue;
    if (busiest == nullptr || queue.second.score > busiest->second.score) busiest = &queue;
  }
  const auto least = std::min_element(shown_.begin(), shown_.end(),
                                      [this](const std::string& a, const std::string& b) {
                                        return queues_.at(a).score < queues_.at(b).score;
                                      });
  if (busiest == nullptr) return;
  if (busiest->second.score <= queues_.at(*least).score * kClearlyBusier) return;
  shown_.erase(least);
  shown_.insert(busiest->first);
}

std::vector<std::string> QueueSeries::Shown() const {
  const std::lock_guard lock(mutex_);
  return {shown_.begin(), shown_.end()};
}

QueueTotals QueueSeries::All() const {
  const std::lock_guard lock(mutex_);
  QueueTotals all;
  for (const auto& [name, queue] : queues_) all.Add(queue.totals);
  return all;
}

}  // namespace queen::observe
