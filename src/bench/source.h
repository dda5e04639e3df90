// Source: says when the next push is to be sent. Two kinds: Quota, as fast as connections are free
// (closed loop), and Pace, at fixed moments whether or not connections are free (open loop).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/unique_function.h"
#include "loop/loop.h"

namespace queen::bench {

class Source {
 public:
  virtual ~Source() = default;
  // The moment (steady microseconds) at which the next push should have been sent, and counts it as
  // taken; nullopt if none is due now.
  virtual std::optional<int64_t> Next() = 0;
};

// `pushes` in all, each due when somebody asks.
class Quota : public Source {
 public:
  explicit Quota(uint64_t pushes) : left_(pushes) {}
  std::optional<int64_t> Next() override;
  uint64_t left() const { return left_; }

 private:
  uint64_t left_;
};

// One push every 1/`per_second` seconds from the moment it is made. `on_due` runs when a push has
// become due after Next had none.
class Pace : public Source {
 public:
  using Callback = UniqueFunction<void()>;

  Pace(Loop& loop, double per_second, Callback on_due);
  ~Pace() override;
  Pace(const Pace&) = delete;
  Pace& operator=(const Pace&) = delete;

  std::optional<int64_t> Next() override;
  // Pushes due by now, taken or not.
  uint64_t due() const;

 private:
  struct Alarm;  // a timerfd: uv timers only know whole milliseconds

  int64_t DueAt(uint64_t index) const;

  const double per_second_;
  const int64_t began_us_;
  uint64_t taken_ = 0;
  Alarm* alarm_;  // freed by the close callback
};

}  // namespace queen::bench
