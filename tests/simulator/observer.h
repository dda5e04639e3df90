// Observer: what the simulated database holds, as somebody sees it who need not ask a broker: the
// state of each lane, and the log of a partition.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "simulator/database/database.h"

namespace queen::simulator {

struct LaneView {
  int32_t partition_id = 0;
  std::string partition;
  int64_t epoch = 0;
  int64_t cursor = 0;
  int64_t end = 0;     // of the log
  bool open = false;   // something is not settled
  bool ready = false;  // ... and may be had now
};

class Observer {
 public:
  explicit Observer(Database& database) : database_(database) {}

  // None, when the queue or the group is not there.
  std::vector<LaneView> Lanes(const std::string& queue, const std::string& group);
  // Whether the queue is there and the group is not: nobody has popped since it was deleted.
  bool LacksGroup(const std::string& queue, const std::string& group);
  // Payloads by offset.
  std::map<int64_t, std::string> Log(const std::string& queue, const std::string& partition);

 private:
  Database& database_;
};

}  // namespace queen::simulator
