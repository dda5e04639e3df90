#include "sidecar/scheduler.h"

#include <algorithm>

#include "base/clock.h"

namespace queen::sidecar {

std::string_view NameOf(Operation operation) {
  switch (operation) {
    case Operation::kPush:
      return "push";
    case Operation::kPop:
      return "pop";
    case Operation::kAck:
      return "ack";
    case Operation::kTransaction:
      return "transaction";
    case Operation::kRenewLease:
      return "renew_lease";
  }
  return "?";
}

Scheduler::Scheduler(Loop& loop, pg::Storage& storage, int64_t hold_ms)
    : loop_(loop),
      storage_(storage),
      hold_ms_(hold_ms),
      end_of_turn_(loop, [this] { Run(); }),
      patience_(loop, [this] { Wake(); }) {}

void Scheduler::Add(Source& source, Operation operation, int in_flight_max) {
  entries_.push_back({&source, operation, in_flight_max});
}

Scheduler::Entry& Scheduler::EntryOf(const Source& source) {
  const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& e) { return e.source == &source; });
  assert(entry != entries_.end());
  return *entry;
}

int Scheduler::FreeSlots() const { return std::max(1, storage_.counts().free); }

bool Scheduler::MaySend(Entry& entry) {
  if (entry.in_flight >= entry.in_flight_max || !entry.source->HasWork()) return false;
  const int64_t wait_ms = entry.in_flight == 0 ? hold_ms_ : std::max(hold_ms_, kPatienceMs);
  if (wait_ms == 0 || entry.source->IsWorthAnother()) return true;
  if (entry.waits_since_ms == kWaitsNot) entry.waits_since_ms = loop_.NowMillis();
  const int64_t left_ms = entry.waits_since_ms + wait_ms - loop_.NowMillis();
  if (left_ms > 0) WakeIn(left_ms);
  return left_ms <= 0;
}

// One timer for all who wait: who comes later is found when it fires.
void Scheduler::WakeIn(int64_t delay_ms) {
  const int64_t at_ms = loop_.NowMillis() + delay_ms;
  if (patience_.IsActive() && patience_ends_ms_ <= at_ms) return;
  patience_ends_ms_ = at_ms;
  patience_.Start(delay_ms);
}

void Scheduler::Run() {
  for (const Entry& entry : entries_) entry.source->OnEndOfTurn();
  // Ends when a whole round finds nobody to serve, or no slot.
  for (size_t passed = 0; passed < entries_.size();) {
    if (storage_.FindFree() == pg::Storage::kNone) return;
    Entry& entry = entries_[next_];
    next_ = (next_ + 1) % entries_.size();
    if (MaySend(entry)) {
      entry.waits_since_ms = kWaitsNot;
      entry.source->SendOne();
      passed = 0;
    } else {
      ++passed;
    }
  }
}

void Scheduler::Execute(Source& source, int64_t items, pg::Batch batch,
                        pg::BatchCallback callback) {
  Entry& entry = EntryOf(source);
  ++entry.in_flight;
  const auto index = static_cast<size_t>(&entry - entries_.data());
  const int64_t started = SteadyMicros();
  storage_.Execute(std::move(batch), [this, index, items, started, callback = std::move(callback)](
                                         pg::BatchResult result) mutable {
    Entry& done = entries_[index];
    --done.in_flight;
    OperationStats& stats = stats_[static_cast<size_t>(done.operation)];
    ++stats.count;
    stats.items += items;
    stats.total_micros += SteadyMicros() - started;
    callback(std::move(result));
    Wake();
  });
}

}  // namespace queen::sidecar
