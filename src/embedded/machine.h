// What the machine offers the cluster: memory (the smaller of the machine's and the container's
// limit), cores this process may use, and the free space where the data lies.
#pragma once

#include <cstdint>
#include <string>

namespace queen::embedded {

struct Machine {
  int64_t memory_mb = 0;
  int cores = 1;
  int64_t disk_free_mb = 0;
};

Machine DetectMachine(const std::string& data_directory);

}  // namespace queen::embedded
