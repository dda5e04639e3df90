// Signals: SIGTERM and SIGINT as events of a loop. SIGPIPE is ignored in the whole process: a peer
// that has gone is an error of its write, not of ours.
#pragma once

#include <uv.h>

#include <array>

#include "loop/loop.h"

namespace queen::server {

class Signals {
 public:
  Signals(Loop& loop, UniqueFunction<void(int number)> on_signal);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  struct State;
  State* state_;  // freed by the close callbacks
};

}  // namespace queen::server
