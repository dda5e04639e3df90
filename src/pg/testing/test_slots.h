// TestSlots: Slots on a loop thread of their own, driven from the test's thread: every method waits
// for what it asks. Events are counted, and Wait... return when they have happened.
#pragma once

#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>

#include "pg/slots.h"
#include "pg/testing/loop_thread.h"

namespace queen::pg::testing {

class TestSlots {
 public:
  explicit TestSlots(const ConnectOptions& options, int count = 1, int pipeline_depth = 1);
  ~TestSlots();  // closes, waiting for what is in flight

  std::future<BatchResult> Begin(Batch batch);
  std::future<BatchResult> BeginOn(int slot, Batch batch);
  BatchResult Run(Batch batch) { return Begin(std::move(batch)).get(); }
  // An unnamed statement without parameters.
  BatchResult Run(const std::string& sql);
  std::future<BatchResult> Begin(const std::string& sql);

  // Until `count` slots are up and free, or exactly so many are up.
  void WaitFree(int count = 1);
  void WaitUp(int count);
  // Until on_up and on_down have run so often in total.
  void WaitUps(int count);
  void WaitDowns(int count);
  // Until attempts to connect have failed, and why.
  ConnectFailure WaitConnectFailure();
  void Close();

  int backend_pid(int slot = 0);
  Slots::Counts counts();
  // For what has no method here; runs on the loop's thread.
  template <typename F>
  auto Call(F f) {
    return thread_.Call([&] { return f(*slots_); });
  }

 private:
  void WaitFor(const std::function<bool()>& condition);

  LoopThread thread_;
  std::unique_ptr<Slots> slots_;  // touched on the loop's thread only
  std::deque<Statement> statements_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int events_ = 0;  // guarded by mutex_, like the next two
  int ups_ = 0;
  int downs_ = 0;
};

}  // namespace queen::pg::testing
