// UniqueFunction<R(Args...)>: std::function for callables that can only be moved, so that a
// continuation may own what it carries. Calling an empty one is a bug (assert).
#pragma once

#include <cassert>
#include <memory>
#include <type_traits>
#include <utility>

namespace queen {

template <typename Signature>
class UniqueFunction;

template <typename R, typename... Args>
class UniqueFunction<R(Args...)> {
 public:
  UniqueFunction() = default;
  UniqueFunction(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)

  template <typename F>
  requires(!std::is_same_v<std::decay_t<F>, UniqueFunction> &&
           std::is_invocable_r_v<R, F&, Args...>)
      UniqueFunction(F&& f)  // NOLINT(bugprone-forwarding-reference-overload)
      : callable_(std::make_unique<Holder<std::decay_t<F>>>(std::forward<F>(f))) {}

  R operator()(Args... args) {
    assert(callable_ != nullptr);
    return callable_->Call(std::forward<Args>(args)...);
  }
  explicit operator bool() const { return callable_ != nullptr; }

 private:
  struct Callable {
    virtual ~Callable() = default;
    virtual R Call(Args... args) = 0;
  };
  template <typename F>
  struct Holder final : Callable {
    template <typename G>
    explicit Holder(G&& g)  // NOLINT(bugprone-forwarding-reference-overload)
        : f(std::forward<G>(g)) {}
    R Call(Args... args) override { return f(std::forward<Args>(args)...); }
    F f;
  };

  std::unique_ptr<Callable> callable_;
};

}  // namespace queen
