// The counters of queues in a broker's Prometheus page.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace queen::cli {

struct QueueCounter {
  double pushed = 0;
  double delivered = 0;
  double settled = 0;  // acknowledged or failed
};

using QueueCounters = std::map<std::string, QueueCounter, std::less<>>;

// Adds those of `page` (text 0.0.4). Lines of other metrics are left out.
void AddQueueCounters(std::string_view page, QueueCounters& counters);

}  // namespace queen::cli
