// Task<T>: a coroutine that begins when it is awaited and owns its frame, so that destroying the
// outermost one ends all it was waiting in. What it throws comes out where it is awaited.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace queen::simulator {

template <typename T>
class Task;

class TaskPromise {
 public:
  struct ToAwaiter {
    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
      const std::coroutine_handle<> awaiter = ended.promise().awaiter_;
      return awaiter ? awaiter : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() const noexcept { return {}; }
  ToAwaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() { thrown_ = std::current_exception(); }

  void set_awaiter(std::coroutine_handle<> awaiter) { awaiter_ = awaiter; }
  void Rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  std::coroutine_handle<> awaiter_;
  std::exception_ptr thrown_;
};

template <typename T>
class ValuePromise : public TaskPromise {
 public:
  Task<T> get_return_object();
  void return_value(T value) { value_.emplace(std::move(value)); }
  T Take() {
    Rethrow();
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class ValuePromise<void> : public TaskPromise {
 public:
  Task<void> get_return_object();
  void return_void() const {}
  void Take() const { Rethrow(); }
};

template <typename T>
class [[nodiscard]] Task {
 public:
  using promise_type = ValuePromise<T>;  // NOLINT(readability-identifier-naming): of the language

  Task() = default;
  explicit Task(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~Task() {
    if (frame_) frame_.destroy();
  }

  // For the outermost: runs it to its first wait. REQUIRES: once
  void Start() { frame_.resume(); }
  bool done() const { return !frame_ || frame_.done(); }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiter) {
    frame_.promise().set_awaiter(awaiter);
    return frame_;
  }
  T await_resume() { return frame_.promise().Take(); }

 private:
  std::coroutine_handle<promise_type> frame_;
};

template <typename T>
Task<T> ValuePromise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<ValuePromise<T>>::from_promise(*this));
}
inline Task<void> ValuePromise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<ValuePromise<void>>::from_promise(*this));
}

}  // namespace queen::simulator
