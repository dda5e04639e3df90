// Finds the installed PostgreSQL server programs. In this order: a directory the operator named;
// /usr/lib/postgresql/<major>/bin, where Debian and its derivatives put them, newest first; what
// the pg_config in PATH points to. A cluster is always run by the major version that made it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace queen::embedded {

inline constexpr int kOldestMajor = 14;
inline constexpr int kPackagedMajor = 15;  // of the distribution we document (Debian 12)

struct Binaries {
  std::string directory;
  int major = 0;
  bool lz4 = false;  // built with it: TOAST and, from 15 on, WAL can be compressed with lz4

  std::string initdb() const { return directory + "/initdb"; }
  std::string postgres() const { return directory + "/postgres"; }
};

struct BinariesRequest {
  std::string directory;                      // of the operator; "" = search
  std::optional<int> major;                   // of an existing cluster; nullopt = newest
  std::string root = "/usr/lib/postgresql";   // replaced by tests
  std::vector<std::string> path_directories;  // where pg_config is looked for
};

// The directories of PATH.
std::vector<std::string> PathDirectories();

// Runs the programs found to ask their version; blocks for some ten milliseconds.
Result<Binaries> FindBinaries(const BinariesRequest& request);

// "postgres (PostgreSQL) 15.4 (Debian 15.4-1)" -> 15, "17beta1" -> 17.
std::optional<int> ParseMajor(const std::string& version_text);

}  // namespace queen::embedded
