// Scheduler: where the simulated database gets its time and its turns from. VirtualTime is the
// plain one: events in the order of their times, those of one time in the order they were given.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "base/unique_function.h"

namespace queen::simulator {

class Scheduler {
 public:
  using Event = UniqueFunction<void()>;

  // Virtual microseconds since 1970; never goes back.
  virtual int64_t NowMicros() const = 0;
  // Runs `event` so much later, never inside this call. REQUIRES: 0 <= micros
  virtual void After(int64_t micros, Event event) = 0;

 protected:
  ~Scheduler() = default;
};

class VirtualTime final : public Scheduler {
 public:
  explicit VirtualTime(int64_t now_micros) : now_micros_(now_micros) {}

  int64_t NowMicros() const override { return now_micros_; }
  void After(int64_t micros, Event event) override {
    events_.emplace(std::make_pair(now_micros_ + micros, ++events_given_), std::move(event));
  }

  // Runs the next event; false when there is none.
  bool RunNext() {
    if (events_.empty()) return false;
    auto next = events_.extract(events_.begin());
    now_micros_ = next.key().first;
    next.mapped()();
    return true;
  }
  // Runs what is due within `micros` from now, and ends then.
  void RunFor(int64_t micros) {
    const int64_t end = now_micros_ + micros;
    while (!events_.empty() && events_.begin()->first.first <= end) RunNext();
    now_micros_ = end;
  }

 private:
  int64_t now_micros_;
  uint64_t events_given_ = 0;
  std::map<std::pair<int64_t, uint64_t>, Event> events_;
};

}  // namespace queen::simulator
