#include "bench/source.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <cassert>
#include <cmath>

#include "base/clock.h"

namespace queen::bench {
namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;

}  // namespace

std::optional<int64_t> Quota::Next() {
  if (left_ == 0) return std::nullopt;
  --left_;
  return SteadyMicros();
}

struct Pace::Alarm {
  uv_poll_t poll{};
  int fd = -1;
  Callback on_due;
  bool given_up = false;

  void SetAt(int64_t micros) const {
    itimerspec when{};
    when.it_value.tv_sec = micros / kMicrosPerSecond;
    when.it_value.tv_nsec = micros % kMicrosPerSecond * 1'000;
    timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, nullptr);
  }

  void OnRing() {
    uint64_t rings = 0;
    if (read(fd, &rings, sizeof rings) == sizeof rings && !given_up) on_due();
  }
};

Pace::Pace(Loop& loop, double per_second, Callback on_due)
    : per_second_(per_second), began_us_(SteadyMicros()), alarm_(new Alarm) {
  // The steady clock of base/clock.h is CLOCK_MONOTONIC.
  alarm_->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  assert(alarm_->fd >= 0);
  alarm_->on_due = std::move(on_due);
  alarm_->poll.data = alarm_;
  uv_poll_init(loop.uv(), &alarm_->poll, alarm_->fd);
  uv_poll_start(&alarm_->poll, UV_READABLE,
                [](uv_poll_t* poll, int, int) { static_cast<Alarm*>(poll->data)->OnRing(); });
}

Pace::~Pace() {
  alarm_->given_up = true;
  uv_close(reinterpret_cast<uv_handle_t*>(&alarm_->poll), [](uv_handle_t* handle) {
    auto* const alarm = static_cast<Alarm*>(handle->data);
    close(alarm->fd);
    delete alarm;
  });
}

int64_t Pace::DueAt(uint64_t index) const {
  return began_us_ + std::llround(static_cast<double>(index) * 1e6 / per_second_);
}

std::optional<int64_t> Pace::Next() {
  const int64_t due = DueAt(taken_);
  if (due > SteadyMicros()) {
    alarm_->SetAt(due);
    return std::nullopt;
  }
  ++taken_;
  return due;
}

uint64_t Pace::due() const {
  const double passed = static_cast<double>(SteadyMicros() - began_us_) / 1e6;
  return static_cast<uint64_t>(passed * per_second_) + 1;
}

}  // namespace queen::bench
