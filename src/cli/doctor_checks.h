// What `queen doctor` looks at, each as a function from what the broker reports to findings, so
// that every rule can be tested with a report that breaks it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json_value.h"

namespace queen::cli {

enum class Level { kGood, kNote, kWarning, kBad, kNotChecked };

std::string_view NameOf(Level level);

struct Finding {
  std::string check;  // "clock", "settings", ...
  Level level = Level::kGood;
  std::string text;    // what is
  std::string advice;  // what to do; "" if nothing
};

using Findings = std::vector<Finding>;

// Times in seconds since 1970. `uncertain` is how far they may be off by the way they were taken.
struct Clocks {
  double here = 0;
  double broker = 0;    // 0: not known
  double database = 0;  // 0: not known
  double uncertain = 0;
};

void CheckClocks(const Clocks& clocks, Findings& findings);
// GET /health and /api/v1/system/maintenance.
void CheckBroker(const JsonValue& health, Findings& findings);
void CheckMaintenance(const JsonValue& maintenance, Findings& findings);
// GET /api/v1/system/environment.
void CheckVersion(const JsonValue& environment, Findings& findings);
void CheckSettings(const JsonValue& environment, Findings& findings);
// GET /api/v1/analytics/postgres-stats.
void CheckDatabase(const JsonValue& stats, Findings& findings);
// GET /api/v1/consumer-groups.
void CheckGroups(const JsonValue& groups, Findings& findings);
void CheckDisk(const std::string& path, int64_t free_bytes, int64_t total_bytes,
               Findings& findings);

}  // namespace queen::cli
