// One thread = one libuv loop. A Loop is made anywhere, run by the thread that will own it, and
// from then on everything attached to it (connections, slots, timers) is touched by that thread
// only. Other threads reach it through Post.
//
// Ownership, as libuv demands:
//   1. A handle's memory lives until its close callback; owners give it up with uv_close.
//   2. Run returns only when no handle is left, so owners must be destroyed before or during Stop.
//   3. Tasks posted after Run has returned are destroyed without being run.
#pragma once

#include <uv.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_function.h"

namespace queen {

class Loop {
 public:
  using Task = UniqueFunction<void()>;

  explicit Loop(std::string name);
  ~Loop();  // REQUIRES: Run was never called or has returned
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs on the calling thread, which becomes the owner, until Stop was called and every handle is
  // closed. Handles nobody closed are a bug; they are reported and closed.
  void Run();

  // Ends Run once the tasks posted before it have run. Any thread.
  void Stop();

  // Runs `task` on the owner, in the order posted. Any thread, also before Run. Inside the owner's
  // thread it still runs later, never at once.
  void Post(Task task);

  bool IsOwner() const { return std::this_thread::get_id() == owner_.load(); }
  // The first line of every method that belongs to this loop's thread.
  void AssertOwner() const { assert(IsOwner()); }

  // Milliseconds of the loop's cached steady clock; owner only.
  int64_t NowMillis() const { return static_cast<int64_t>(uv_now(&loop_)); }

  uv_loop_t* uv() { return &loop_; }
  const std::string& name() const { return name_; }

 private:
  void RunPosted();

  const std::string name_;
  uv_loop_t loop_{};
  uv_async_t wake_{};
  std::atomic<std::thread::id> owner_;
  std::mutex mutex_;
  std::vector<Task> posted_;     // guarded by mutex_
  bool stop_requested_ = false;  // guarded by mutex_
  bool closed_ = false;          // guarded by mutex_
};

}  // namespace queen
