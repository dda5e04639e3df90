#include "cli/doctor_checks.h"

#include <gtest/gtest.h>

#include "base/json_reader.h"

namespace queen::cli {
namespace {

using CheckOf = void (*)(const JsonValue&, Findings&);

Findings Check(CheckOf check, std::string_view json) {
  Findings findings;
  const auto root = ParseJson(json);
  EXPECT_TRUE(root.ok()) << json;
  check(*root, findings);
  return findings;
}

// The one finding that is not good, as "level: text"; "" if all is good.
std::string Trouble(const Findings& findings) {
  std::string found;
  for (const Finding& finding : findings) {
    if (finding.level != Level::kWarning && finding.level != Level::kBad) continue;
    found += (found.empty() ? "" : "; ") + std::string(NameOf(finding.level)) + ": " + finding.text;
    EXPECT_NE(finding.advice, "") << finding.text;
  }
  return found;
}

constexpr double kNow = 1'800'000'000;

std::string ClockTrouble(const Clocks& clocks) {
  Findings findings;
  CheckClocks(clocks, findings);
  return Trouble(findings);
}

TEST(Doctor, Clocks) {
  EXPECT_EQ(ClockTrouble({kNow, kNow - 0.9, kNow + 0.1, 0.1}), "");
  EXPECT_EQ(ClockTrouble({kNow, kNow - 0.5, kNow + 5, 0.1}),
            "warning: this machine and the database: the clocks differ by 5.0 s; "
            "warning: the broker and the database: the clocks differ by 5.0 s");
  EXPECT_EQ(ClockTrouble({kNow, kNow - 60.5, 0, 0.1}),
            "bad: this machine and the broker: the clocks differ by 1 m 0 s");
  EXPECT_EQ(ClockTrouble({kNow, kNow - 60.5, 0, 100}), "");  // the question took too long to tell
}

TEST(Doctor, Version) {
  EXPECT_EQ(Trouble(Check(CheckVersion, R"({"version":"15.4","versionNumber":150004})")), "");
  EXPECT_EQ(Trouble(Check(CheckVersion, R"({"version":"13.1","versionNumber":130001})")),
            "bad: PostgreSQL 13.1 is older than what Queen is tested with (15)");
}

TEST(Doctor, Settings) {
  EXPECT_EQ(
      Trouble(Check(CheckSettings,
                    R"({"settings":{"fsync":"on","full_page_writes":"on","autovacuum":"on",)"
                    R"("synchronous_commit":"on","track_counts":"on","max_wal_size":4096,)"
                    R"("shared_buffers":65536,"checkpoint_timeout":900,"max_connections":100}})")),
      "");
  EXPECT_EQ(Trouble(Check(CheckSettings, R"({"settings":{"fsync":"off"}})")),
            "bad: fsync is off: a crash of the machine can destroy the database");
  EXPECT_EQ(Trouble(Check(CheckSettings, R"({"settings":{"synchronous_commit":"local"}})")), "");
  EXPECT_EQ(Trouble(Check(CheckSettings, R"({"settings":{"max_wal_size":1024}})")),
            "warning: max_wal_size is below 2GB: checkpoints follow each other under load and slow "
            "pushes");
}

TEST(Doctor, Database) {
  EXPECT_EQ(Trouble(Check(CheckDatabase, "{}")), "");
  EXPECT_EQ(Trouble(Check(CheckDatabase, R"({"connections":{"total":81,"max":100}})")),
            "warning: 81 of 100 connections to the database are in use");
  EXPECT_EQ(Trouble(Check(CheckDatabase, R"({"transactions":{"longestSeconds":400}})")),
            "warning: a transaction is open for 6 m 40 s");
  EXPECT_EQ(
      Trouble(Check(
          CheckDatabase,
          R"({"deadTuples":[{"table":"progress","deadTuples":20000,)"
          R"("deadPercentage":80.0},{"table":"small","deadTuples":9,"deadPercentage":90}]})")),
      "warning: queen.progress has 20,000 dead rows (80 %)");
  EXPECT_EQ(
      Trouble(Check(CheckDatabase, R"({"autovacuumStatus":[{"table":"t","xidAge":600000000}]})")),
      "bad: queen.t was not frozen for 600,000,000 transactions");
  EXPECT_EQ(Trouble(Check(CheckDatabase, R"({"replication":{"slots":[{"name":"s","active":false,)"
                                         R"("retainedBytes":2147483648}]}})")),
            "warning: the replication slot s is not in use and keeps 2.0 GiB of WAL");
}

TEST(Doctor, BrokerMaintenanceAndGroups) {
  EXPECT_EQ(Trouble(Check(CheckBroker, R"({"database":"connected","version":"1"})")), "");
  EXPECT_EQ(Trouble(Check(CheckBroker, R"({"database":"disconnected"})")),
            "bad: the broker has no connection to its database");
  EXPECT_EQ(Trouble(Check(CheckMaintenance, R"({"maintenanceMode":true})")),
            "warning: push maintenance is on: messages go to files, not to the database");
  EXPECT_EQ(Trouble(Check(CheckMaintenance, R"({"bufferStats":{"failedCount":3}})")),
            "bad: 3 buffered messages could not be stored");
  EXPECT_EQ(Trouble(Check(CheckGroups, R"([{"name":"g","queueName":"q","state":"Stable"}])")), "");
  EXPECT_EQ(Trouble(Check(CheckGroups, R"([{"name":"g","queueName":"q","state":"Dead",)"
                                       R"("totalLag":5000,"maxTimeLag":7320}])")),
            "warning: g on q is dead: 5,000 messages, 2 h 2 m behind");
}

TEST(Doctor, Disk) {
  Findings findings;
  CheckDisk("/data", int64_t{50} << 30, int64_t{100} << 30, findings);
  EXPECT_EQ(Trouble(findings), "");
  CheckDisk("/data", int64_t{5} << 30, int64_t{100} << 30, findings);
  EXPECT_EQ(Trouble(findings), "bad: 5.0 GiB of 100 GiB are free at /data");
}

}  // namespace
}  // namespace queen::cli
