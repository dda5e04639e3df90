#include "state/maintenance.h"

#include <gtest/gtest.h>

#include <vector>

namespace queen::state {
namespace {

class MaintenanceTest : public testing::Test {
 protected:
  MaintenanceTest() {
    maintenance_.OnChange([this](const MaintenanceFlags& flags) { applied_.push_back(flags); });
  }

  Maintenance maintenance_;
  std::vector<MaintenanceFlags> applied_;
};

TEST_F(MaintenanceTest, OnlyChangesAreApplied) {
  maintenance_.EndReading(maintenance_.BeginReading(), {});
  EXPECT_TRUE(applied_.empty());
  maintenance_.EndReading(maintenance_.BeginReading(), {.push = true});
  maintenance_.EndReading(maintenance_.BeginReading(), {.push = true});
  maintenance_.Learn(MaintenanceMode::kPop, true);
  maintenance_.Learn(MaintenanceMode::kPush, false);
  const std::vector<MaintenanceFlags> expected{
      {.push = true}, {.push = true, .pop = true}, {.pop = true}};
  EXPECT_EQ(applied_, expected);
  EXPECT_FALSE(maintenance_.push());
  EXPECT_TRUE(maintenance_.pop());
}

TEST_F(MaintenanceTest, AReadingThatBeganBeforeAChangeIsTooOld) {
  const int64_t begun = maintenance_.BeginReading();
  maintenance_.Learn(MaintenanceMode::kPush, true);
  maintenance_.EndReading(begun, {});
  EXPECT_TRUE(maintenance_.push());
  maintenance_.EndReading(maintenance_.BeginReading(), {});
  EXPECT_FALSE(maintenance_.push());
}

}  // namespace
}  // namespace queen::state
