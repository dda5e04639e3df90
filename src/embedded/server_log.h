// The file that takes the cluster's standard error: opened for append, so that it can be cut short
// while the server writes. Kept to two files, postgres.log and postgres.log.1, of kLogBytesMax
// each, so that a client that provokes an error per request cannot fill the disk.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace queen::embedded {

inline constexpr int64_t kLogBytesMax = int64_t{32} * 1024 * 1024;

// The descriptor to give to the server; the caller closes it.
Result<int> OpenServerLog(const std::string& path);

// Moves the contents to "<path>.1" when there is more than `bytes_max`.
void LimitServerLog(const std::string& path, int64_t bytes_max = kLogBytesMax);

int64_t ServerLogSize(const std::string& path);

// The last `lines_max` lines written after `from`, joined with " | ", for one line of our own log.
std::string TailOfServerLog(const std::string& path, int64_t from, int lines_max = 5);

}  // namespace queen::embedded
