// Interrupt: SIGINT, SIGQUIT, SIGTERM and SIGHUP (the terminal was closed) as a stop_token, for
// commands that go on until they are told to stop. The first signal asks; a second ends the
// process, unless it is SIGHUP, which the kernel and a shell both send. SIGHUP does nothing where
// it was ignored before, as `nohup` does.
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
