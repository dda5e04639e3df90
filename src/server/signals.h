// Signals: SIGTERM and SIGINT as events of a loop. SIGPIPE is ignored in the whole process: a peer
// that has gone is an error of its write, not of ours.
#pragma once

#include <uv.h>

#include <array>

#include "loop/loop.h"

namespace queen::server {

// Keeps SIGTERM and SIGINT pending until a Signals takes them. Call before anything is
// started: a signal during the start is then an orderly stop as well.
void HoldSignals();

class Signals {
 public:
  // Lets held signals through.
  Signals(Loop& loop, UniqueFunction<void(int number)> on_signal);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  struct State;
  State* state_;  // freed by the close callbacks
};

}  // namespace queen::server
