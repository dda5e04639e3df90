// Flags > environment > file > default: brings the sources together into one Config, remembers
// where each value came from, and collects every problem instead of stopping at the first.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "config/setting.h"

namespace queen::config {

struct Sources {
  // Names of settings (not of flags) and the texts given, in the order of the command line.
  std::vector<std::pair<std::string, std::string>> flags;
  // An empty variable is one that is not set: compose files and unit files make them by the dozen.
  Environment environment;
  // The file of --config; QUEEN_CONFIG names it otherwise.
  std::optional<std::string> file;
};

struct Loaded {
  Config config;
  // Parallel to Settings(): "flag --port", "environment", "/etc/queen.conf:3" or "default".
  std::vector<std::string> origins;
  std::vector<std::string> warnings;
  // One sentence each. Unless empty, the config must not be used.
  std::vector<std::string> problems;
};

Loaded Load(const Sources& sources);

// The variables of `environ`; of a name that is there twice, the first, as getenv does.
Environment EnvironmentOf(const char* const* variables);

}  // namespace queen::config
