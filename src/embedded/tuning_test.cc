#include "embedded/tuning.h"

#include <gtest/gtest.h>

#include <map>

namespace queen::embedded {
namespace {

std::map<std::string, std::string> Tuned(const TuningInput& input) {
  std::map<std::string, std::string> settings;
  for (const Setting& setting : TuneFor(input)) {
    EXPECT_TRUE(settings.emplace(setting.name, setting.value).second) << setting.name;
  }
  return settings;
}

struct Row {
  int64_t memory_mb;
  int cores;
  int64_t disk_free_mb;
  std::map<std::string, std::string> expected;
};

TEST(Tuning, FollowsTheMachine) {
  const Row rows[] = {
      {128,
       1,
       500,
       {{"shared_buffers", "64MB"},
        {"effective_cache_size", "128MB"},
        {"max_wal_size", "1024MB"},
        {"min_wal_size", "256MB"},
        {"wal_buffers", "16MB"},
        {"work_mem", "4MB"},
        {"maintenance_work_mem", "32MB"},
        {"max_locks_per_transaction", "256"}}},
      {2048,
       2,
       20'000,
       {{"shared_buffers", "512MB"},
        {"effective_cache_size", "1024MB"},
        {"max_wal_size", "5000MB"},
        {"min_wal_size", "1250MB"},
        {"wal_buffers", "64MB"},
        {"work_mem", "4MB"},
        {"max_locks_per_transaction", "512"},
        {"autovacuum_max_workers", "3"}}},
      {24'576,
       8,
       200'000,
       {{"shared_buffers", "6144MB"},
        {"effective_cache_size", "12288MB"},
        {"max_wal_size", "16384MB"},
        {"min_wal_size", "2048MB"},
        {"work_mem", "32MB"},
        {"maintenance_work_mem", "768MB"},
        {"autovacuum_max_workers", "4"}}},
      {1'048'576,
       128,
       9'000'000,
       {{"shared_buffers", "16384MB"},
        {"effective_cache_size", "524288MB"},
        {"max_wal_size", "16384MB"},
        {"work_mem", "32MB"},
        {"maintenance_work_mem", "1024MB"}}},
  };
  for (const Row& row : rows) {
    const auto settings = Tuned({{row.memory_mb, row.cores, row.disk_free_mb}, 15, true, 100});
    for (const auto& [name, value] : row.expected) {
      EXPECT_EQ(settings.at(name), value) << name << " with " << row.memory_mb << " MB";
    }
  }
}

TEST(Tuning, NeverTradesDurability) {
  for (const int64_t memory_mb : {0, 128, 4096, 1'000'000}) {
    const auto settings = Tuned({{memory_mb, 4, 100'000}, 15, true, 100});
    EXPECT_EQ(settings.at("fsync"), "on");
    EXPECT_EQ(settings.at("full_page_writes"), "on");
    EXPECT_EQ(settings.at("synchronous_commit"), "on");
  }
}

TEST(Tuning, UsesOnlyWhatTheServerWasBuiltWith) {
  const Machine machine{4096, 4, 100'000};
  EXPECT_EQ(Tuned({machine, 15, true, 100}).at("wal_compression"), "lz4");
  EXPECT_EQ(Tuned({machine, 15, true, 100}).at("default_toast_compression"), "lz4");
  EXPECT_EQ(Tuned({machine, 14, true, 100}).at("wal_compression"), "on");
  EXPECT_EQ(Tuned({machine, 15, false, 100}).at("wal_compression"), "on");
  EXPECT_EQ(Tuned({machine, 15, false, 100}).count("default_toast_compression"), 0U);
}

TEST(Tuning, TakesTheNumberOfConnections) {
  EXPECT_EQ(Tuned({{4096, 4, 100'000}, 15, true, 77}).at("max_connections"), "77");
}

}  // namespace
}  // namespace queen::embedded
