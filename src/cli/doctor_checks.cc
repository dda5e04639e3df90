#include "cli/doctor_checks.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "cli/json_text.h"
#include "cli/units.h"

namespace queen::cli {
namespace {

constexpr double kSkewWarning = 1;
constexpr double kSkewBad = 30;
constexpr int64_t kVersionTested = 150'000;
constexpr int64_t kVersionMin = 140'000;
constexpr int64_t kDeadRowsMin = 10'000;
constexpr double kDeadPercentMax = 50;
constexpr double kTransactionWarning = 300;
constexpr double kTransactionBad = 3'600;
constexpr int64_t kXidAgeMax = 500'000'000;
constexpr int64_t kSlotBytesMax = int64_t{1} << 30;
constexpr int64_t kDiskFreeMin = int64_t{1} << 30;

void Skew(const std::string& what, double skew, double uncertain, Findings& findings) {
  if (std::abs(skew) <= kSkewWarning + uncertain) {
    findings.push_back({"clock", Level::kGood, what + ": the clocks agree", ""});
    return;
  }
  findings.push_back(
      {"clock", std::abs(skew) > kSkewBad ? Level::kBad : Level::kWarning,
       fmt::format("{}: the clocks differ by {}", what, ShowSeconds(std::abs(skew))),
       "Run a time service (chrony, systemd-timesyncd) on all machines; delays and times in seeks "
       "are by the database's clock."});
}

// A setting that must have a value.
struct Wanted {
  std::string_view name;
  std::string_view value;
  Level level;
  std::string_view why;
};

constexpr std::array<Wanted, 5> kWanted = {{
    {"fsync", "on", Level::kBad, "a crash of the machine can destroy the database"},
    {"full_page_writes", "on", Level::kBad, "a crash of the machine can destroy the database"},
    {"synchronous_commit", "", Level::kBad,
     "messages that were confirmed can be lost in a crash of PostgreSQL"},
    {"autovacuum", "on", Level::kBad, "tables grow for ever and become slow"},
    {"track_counts", "on", Level::kBad, "autovacuum does not work without it"},
}};

// A setting that should be at least so large.
struct Least {
  std::string_view name;
  int64_t least;  // in the unit that pg_settings gives
  std::string_view text;
  std::string_view why;
};

constexpr std::array<Least, 4> kLeast = {{
    {"max_wal_size", 2'048, "2GB", "checkpoints follow each other under load and slow pushes"},
    {"shared_buffers", 16'384, "128MB", "the newest messages are read from disk"},
    {"checkpoint_timeout", 300, "5min", "checkpoints follow each other and slow pushes"},
    {"max_connections", 50, "50", "brokers, poolers and people share them"},
}};

std::string SetAdvice(std::string_view name, std::string_view value) {
  return fmt::format("ALTER SYSTEM SET {} = '{}'; then reload or restart PostgreSQL.", name, value);
}

void CheckConnections(const JsonValue& stats, Findings& findings) {
  const JsonValue connections = stats.Find("connections");
  const int64_t used = CountAt(connections, "total");
  const int64_t most = CountAt(connections, "max");
  if (most == 0) return;
  const bool full = used * 5 > most * 4;
  findings.push_back(
      {"connections", full ? Level::kWarning : Level::kGood,
       fmt::format("{} of {} connections to the database are in use", used, most),
       full ? "Raise max_connections, or lower SIDECAR_POOL_SIZE and DB_POOL_SIZE of the brokers."
            : ""});
}

void CheckTransactions(const JsonValue& stats, Findings& findings) {
  const double longest = NumberOf(At(stats, {"transactions", "longestSeconds"}));
  if (longest < kTransactionWarning) {
    findings.push_back({"transactions", Level::kGood, "no transaction is open for long", ""});
    return;
  }
  findings.push_back(
      {"transactions", longest >= kTransactionBad ? Level::kBad : Level::kWarning,
       fmt::format("a transaction is open for {}", ShowSeconds(longest)),
       "It keeps PostgreSQL from cleaning up. Find it in pg_stat_activity (xact_start) and end it: "
       "SELECT pg_terminate_backend(pid)."});
}

void CheckBloat(const JsonValue& stats, Findings& findings) {
  size_t bloated = 0;
  for (const JsonValue& table : JsonElements(stats.Find("deadTuples"))) {
    const int64_t dead = CountAt(table, "deadTuples");
    const double percent = NumberOf(table.Find("deadPercentage"));
    if (dead < kDeadRowsMin || percent < kDeadPercentMax) continue;
    ++bloated;
    const std::string name = TextAt(table, "table");
    findings.push_back(
        {"bloat", Level::kWarning,
         fmt::format("queen.{} has {} dead rows ({:.0f} %)", name, ShowCount(dead), percent),
         fmt::format("See whether a long transaction is in the way; then VACUUM "
                     "queen.{}.",
                     name)});
  }
  if (bloated == 0) findings.push_back({"bloat", Level::kGood, "the tables are clean", ""});
}

void CheckWraparound(const JsonValue& stats, Findings& findings) {
  for (const JsonValue& table : JsonElements(stats.Find("autovacuumStatus"))) {
    const int64_t age = CountAt(table, "xidAge");
    if (age < kXidAgeMax) continue;
    const std::string name = TextAt(table, "table");
    findings.push_back(
        {"bloat", Level::kBad,
         fmt::format("queen.{} was not frozen for {} transactions", name, ShowCount(age)),
         fmt::format("VACUUM (FREEZE) queen.{} soon: PostgreSQL stops writing at "
                     "two billion.",
                     name)});
  }
}

void CheckSlots(const JsonValue& stats, Findings& findings) {
  for (const JsonValue& slot : JsonElements(At(stats, {"replication", "slots"}))) {
    const int64_t kept = CountAt(slot, "retainedBytes");
    if (TruthAt(slot, "active") || kept < kSlotBytesMax) continue;
    const std::string name = TextAt(slot, "name");
    findings.push_back(
        {"disk", Level::kWarning,
         fmt::format("the replication slot {} is not in use and keeps {} of WAL", name,
                     ShowBytes(kept)),
         fmt::format("Start its standby, or SELECT pg_drop_replication_slot('{}').", name)});
  }
}

}  // namespace

std::string_view NameOf(Level level) {
  switch (level) {
    case Level::kGood:
      return "ok";
    case Level::kNote:
      return "note";
    case Level::kWarning:
      return "warning";
    case Level::kBad:
      return "bad";
    case Level::kNotChecked:
      return "not checked";
  }
  return "";
}

void CheckClocks(const Clocks& clocks, Findings& findings) {
  if (clocks.broker > 0) {
    // A Date header has whole seconds.
    Skew("this machine and the broker", clocks.broker + 0.5 - clocks.here, clocks.uncertain + 0.5,
         findings);
  }
  if (clocks.database > 0) {
    Skew("this machine and the database", clocks.database - clocks.here, clocks.uncertain,
         findings);
  }
  if (clocks.broker > 0 && clocks.database > 0) {
    Skew("the broker and the database", clocks.broker + 0.5 - clocks.database,
         2 * clocks.uncertain + 0.5, findings);
  }
}

void CheckBroker(const JsonValue& health, Findings& findings) {
  if (TextAt(health, "database") == "connected") {
    findings.push_back(
        {"broker", Level::kGood,
         fmt::format("version {}, connected to its database", OrDash(TextAt(health, "version"))),
         ""});
    return;
  }
  findings.push_back({"broker", Level::kBad, "the broker has no connection to its database",
                      "Pushes are kept in files meanwhile. See whether PostgreSQL runs and whether "
                      "the broker's log names a reason."});
}

void CheckMaintenance(const JsonValue& maintenance, Findings& findings) {
  if (TruthAt(maintenance, "maintenanceMode")) {
    findings.push_back({"maintenance", Level::kWarning,
                        "push maintenance is on: messages go to files, not to the database",
                        "POST /api/v1/system/maintenance {\"enabled\":false} ends it."});
  }
  if (TruthAt(maintenance, "popMaintenanceMode")) {
    findings.push_back({"maintenance", Level::kWarning,
                        "pop maintenance is on: nobody gets messages",
                        "POST /api/v1/system/maintenance/pop {\"enabled\":false} ends it."});
  }
  const JsonValue buffer = maintenance.Find("bufferStats");
  if (const int64_t failed = CountAt(buffer, "failedCount"); failed > 0) {
    findings.push_back({"buffer", Level::kBad,
                        fmt::format("{} could not be stored",
                                    ShowCount(failed, "buffered message", "buffered messages")),
                        "docs/file-buffer.md says where they are and how to get them in."});
  }
  const int64_t waiting = CountAt(maintenance, "bufferedMessages");
  findings.push_back({"buffer", waiting > 0 ? Level::kNote : Level::kGood,
                      waiting > 0
                          ? ShowCount(waiting, "message waits in files", "messages wait in files")
                          : "no message waits in files",
                      ""});
}

void CheckVersion(const JsonValue& environment, Findings& findings) {
  const int64_t number = CountAt(environment, "versionNumber");
  const std::string version = TextAt(environment, "version");
  if (number >= kVersionTested) {
    findings.push_back({"version", Level::kGood, "PostgreSQL " + version, ""});
  } else {
    findings.push_back(
        {"version", number < kVersionMin ? Level::kBad : Level::kWarning,
         fmt::format("PostgreSQL {} is older than what Queen is tested with (15)", version),
         "Upgrade PostgreSQL to 15 or newer."});
  }
}

void CheckSettings(const JsonValue& environment, Findings& findings) {
  const JsonValue settings = environment.Find("settings");
  size_t wrong = 0;
  for (const Wanted& wanted : kWanted) {
    const std::string value = TextAt(settings, wanted.name);
    const bool good = wanted.value.empty() ? value != "off" : value == wanted.value;
    if (good || value.empty()) continue;
    ++wrong;
    findings.push_back({"settings", wanted.level,
                        fmt::format("{} is {}: {}", wanted.name, value, wanted.why),
                        SetAdvice(wanted.name, "on")});
  }
  for (const Least& least : kLeast) {
    const JsonValue value = settings.Find(least.name);
    if (value.absent() || CountAt(settings, least.name) >= least.least) continue;
    ++wrong;
    findings.push_back({"settings", Level::kWarning,
                        fmt::format("{} is below {}: {}", least.name, least.text, least.why),
                        SetAdvice(least.name, least.text)});
  }
  if (wrong == 0) findings.push_back({"settings", Level::kGood, "the settings are sound", ""});
}

void CheckDatabase(const JsonValue& stats, Findings& findings) {
  CheckConnections(stats, findings);
  CheckTransactions(stats, findings);
  CheckBloat(stats, findings);
  CheckWraparound(stats, findings);
  CheckSlots(stats, findings);
  if (stats.Find("fullyVisible").raw() == "false") {
    findings.push_back({"transactions", Level::kNote,
                        "the broker's role does not see the transactions of others",
                        "GRANT pg_read_all_stats to it."});
  }
  findings.push_back({"disk", Level::kNote,
                      "the database takes " + ShowBytes(CountAt(stats, "databaseSizeBytes")), ""});
}

void CheckGroups(const JsonValue& groups, Findings& findings) {
  size_t behind = 0;
  for (const JsonValue& group : JsonElements(groups)) {
    const std::string state = TextAt(group, "state");
    if (state != "Lagging" && state != "Dead") continue;
    ++behind;
    findings.push_back(
        {"groups", Level::kWarning,
         fmt::format("{} on {} is {}: {}, {} behind", TextAt(group, "name"),
                     TextAt(group, "queueName"), state == "Dead" ? "dead" : "lagging",
                     ShowCount(CountAt(group, "totalLag"), "message", "messages"),
                     ShowSeconds(NumberOf(group.Find("maxTimeLag")))),
         fmt::format("queen group show {}; then queen explain QUEUE PARTITION --group {}",
                     TextAt(group, "name"), TextAt(group, "name"))});
  }
  if (behind == 0) findings.push_back({"groups", Level::kGood, "no group is far behind", ""});
}

void CheckDisk(const std::string& path, int64_t free_bytes, int64_t total_bytes,
               Findings& findings) {
  const bool low = free_bytes < kDiskFreeMin || free_bytes < total_bytes / 10;
  findings.push_back(
      {"disk", low ? Level::kBad : Level::kGood,
       fmt::format("{} of {} are free at {}", ShowBytes(free_bytes), ShowBytes(total_bytes), path),
       low ? "Free space or enlarge the disk: PostgreSQL stops when it is full. "
             "Shorter retention (docs/queues.md) removes old messages."
           : ""});
}

}  // namespace queen::cli
