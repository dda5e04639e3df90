// LoopThread: a Loop running on a thread of its own, for tests that read from top to bottom: Call
// runs a function on the loop and waits for it.
#pragma once

#include <future>
#include <thread>
#include <type_traits>

#include "loop/loop.h"

namespace queen::pg::testing {

class LoopThread {
 public:
  LoopThread() : loop_("test"), thread_([this] { loop_.Run(); }) {
    Call([] {});  // from here on the thread owns the loop
  }
  // REQUIRES: nothing is left on the loop
  ~LoopThread() {
    loop_.Stop();
    thread_.join();
  }

  // Runs `f` on the loop's thread and returns what it returns.
  template <typename F>
  auto Call(F f) -> std::invoke_result_t<F&> {
    std::packaged_task<std::invoke_result_t<F&>()> task(std::move(f));
    auto future = task.get_future();
    loop_.Post([&task] { task(); });
    return future.get();
  }

  Loop& loop() { return loop_; }

 private:
  Loop loop_;
  std::thread thread_;
};

}  // namespace queen::pg::testing
