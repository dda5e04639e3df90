// The cluster's settings as a function of the machine: pure, so that it is a table in the test.
// Tuned for a queue that appends much and updates nothing, and that shares the machine with its
// broker: a quarter of the memory for shared buffers, checkpoints far apart (at the default WAL
// size they cost three quarters of the throughput), vacuum that keeps up with deletions.
// Durability is never traded: fsync, full_page_writes and synchronous_commit stay on.
#pragma once

#include <string>
#include <vector>

#include "embedded/machine.h"

namespace queen::embedded {

struct Setting {
  std::string name;
  std::string value;  // as the server reads it, without quotes
};

struct TuningInput {
  Machine machine;
  int major = 0;     // of PostgreSQL
  bool lz4 = false;  // the server was built with it
  int max_connections = 200;
};

std::vector<Setting> TuneFor(const TuningInput& input);

}  // namespace queen::embedded
