// Timeline: the time and the chance that everything in a simulation lives by. The simulator links
// this in the place of src/loop/ and of the clocks and random numbers of src/base/, so that the
// engine runs as it is, on one thread, in virtual time:
//
//   a Loop      runs a turn when something was posted to it or a timer of it is due: timers, then
//               what was posted, then the ends of the turn, as libuv does. While it runs it is the
//               owner's; at any other time it has no owner.
//   the clocks  show virtual time; the wall clock of a broker may be off (SetWallOffset).
//   randomness  comes from the seed.
//
// One at a time in a process.
#pragma once

#include <cstdint>
#include <random>

#include "loop/loop.h"
#include "simulator/database/scheduler.h"

namespace queen::simulator {

class Timeline {
 public:
  // REQUIRES: no other Timeline is alive, and `time` outlives all loops
  Timeline(Scheduler& time, uint64_t seed);
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  // Runs `task` now, as the owner of `loop`. REQUIRES: no loop is running
  static void RunOn(Loop& loop, UniqueFunction<void()> task);
  // The loop takes no turn for so long: its thread does not get the processor.
  static void Stall(Loop& loop, int64_t micros);
  // Nothing that was posted or is due will ever run. Before its objects are destroyed.
  static void Kill(Loop& loop);
  // What the wall clock of code on this loop shows beyond virtual time.
  static void SetWallOffset(Loop& loop, int64_t micros);
  // Turns of all loops so far.
  static int64_t turns();
};

}  // namespace queen::simulator
