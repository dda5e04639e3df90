// What the operating system says about this process (Linux). Any thread. A figure that cannot be
// read is 0.
#pragma once

#include <cstdint>

#include "metrics/registry.h"

namespace queen::metrics {

struct CpuTimes {
  double user_seconds = 0;
  double system_seconds = 0;
};

// Of all threads since the start.
CpuTimes ProcessCpuTimes();

uint64_t ResidentBytes();

// Since Linux 6.2 one stat; before, the directory is read, which takes time with many files.
uint64_t OpenFileDescriptors();

// The limit on open file descriptors (RLIMIT_NOFILE, soft).
uint64_t FileDescriptorLimit();

// Adds queen_process_*: cpu seconds by mode, resident memory, open and allowed descriptors, and
// the time of this call as the start time.
void RegisterProcessMetrics(Registry& registry);

}  // namespace queen::metrics
