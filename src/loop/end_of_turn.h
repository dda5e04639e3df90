// EndOfTurn: runs a callback once at the end of the loop's present turn, after everything that was
// ready to be read has been read. Work that arrived together is then seen together.
#pragma once

#include "loop/loop.h"

namespace queen {

class EndOfTurn {
 public:
  using Callback = UniqueFunction<void()>;

  EndOfTurn(Loop& loop, Callback callback);
  ~EndOfTurn();
  EndOfTurn(const EndOfTurn&) = delete;
  EndOfTurn& operator=(const EndOfTurn&) = delete;

  // Asks for one run; asking again before it ran changes nothing.
  void Request();

 private:
  struct State;
  State* state_;  // freed by the close callbacks
};

}  // namespace queen
