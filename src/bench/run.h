// Run: what all parts of one run share: its options and target, the loop, the errors, and the clock
// that notices when nothing moves any more. Everything happens on the calling thread: a scenario
// is written top to bottom and lets the loop turn where it has to wait.
//
// The first SIGINT ends the wait in progress, so that what was measured so far is still reported;
// the second one ends the program.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "bench/errors.h"
#include "bench/options.h"
#include "bench/progress.h"
#include "bench/target.h"
#include "loop/loop.h"

namespace queen::bench {

class Run {
 public:
  Run(const Options& options, const Target& target);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const Options& options() const { return options_; }
  const Target& target() const { return target_; }
  Loop& loop() { return loop_; }
  Errors& errors() { return errors_; }
  Progress& progress() { return progress_; }
  uint64_t id() const { return id_; }
  // The queue of the options, or one named after the run.
  const std::string& queue() const { return queue_; }

  // Lets the loop turn until done() holds. False if it was interrupted, or nothing has Moved() for
  // the stall time; both are recorded as an error, and the latter makes the run stalled().
  bool Until(const std::function<bool()>& done);
  // The same for a while.
  bool For(int64_t micros);
  void Moved() { moved_ = true; }
  bool stalled() const { return stalled_; }

  struct Answer {
    int status = 0;
    std::string body;
  };
  // One request on a connection of its own. status 0: there was no reply, and `body` says why.
  Answer Call(const std::string& head, std::string_view body = {});

 private:
  const Options options_;
  const Target target_;
  const uint64_t id_;
  const std::string queue_;
  Loop loop_;
  Errors errors_;
  Progress progress_;
  uv_signal_t interrupt_{};
  bool interrupted_ = false;
  bool moved_ = false;
  bool stalled_ = false;
};

}  // namespace queen::bench
