// Interrupt: SIGINT and SIGTERM as a stop_token, for commands that go on until they are told to
// stop. The first signal asks; the second ends the process.
#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace queen::cli {

class Interrupt {
 public:
  // Make it before any other thread, since it blocks the signals in those that come after.
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return asked_.get_token(); }
  bool asked() const { return asked_.stop_requested(); }

 private:
  void Watch(const std::stop_token& over);

  sigset_t signals_{};
  sigset_t before_{};
  std::stop_source asked_;
  std::jthread thread_;
};

}  // namespace queen::cli
