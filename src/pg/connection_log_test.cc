#include "pg/connection_log.h"

#include <gtest/gtest.h>

#include "pg/connector.h"

namespace queen::pg {
namespace {

ConnectFailure FailureWith(const std::string& sqlstate, const std::string& message) {
  return {.status = Status(Code::kDatabaseUnavailable, message), .sqlstate = sqlstate};
}

TEST(ConnectionLog, FirstUpAndLastDownAreSaid) {
  ConnectionLog log("test", 3);
  EXPECT_TRUE(log.OnUp(1, 150000));
  EXPECT_FALSE(log.OnUp(2, 150000));
  EXPECT_FALSE(log.OnUp(3, 150000));
  EXPECT_FALSE(log.OnDown(2, "gone"));
  EXPECT_FALSE(log.OnDown(1, "gone"));
  EXPECT_TRUE(log.OnDown(0, "gone"));
  EXPECT_TRUE(log.OnUp(1, 150000));
}

TEST(ConnectionLog, EachReasonIsSaidOnceUntilAllAreUp) {
  ConnectionLog log("test", 2);
  const ConnectFailure full = FailureWith("53300", "too many clients");
  const ConnectFailure refused = FailureWith("", "refused");
  EXPECT_TRUE(log.OnConnectFailed(0, full, 0));
  EXPECT_TRUE(log.OnConnectFailed(0, refused, 1));
  for (int i = 2; i < 1'000; ++i) {
    EXPECT_FALSE(log.OnConnectFailed(0, i % 2 == 0 ? full : refused, i));
  }
  EXPECT_TRUE(log.OnUp(1, 150000));
  EXPECT_FALSE(log.OnConnectFailed(1, full, 1'001));
  EXPECT_TRUE(log.OnUp(2, 150000));
  EXPECT_TRUE(log.OnConnectFailed(1, full, 1'002));
}

TEST(ConnectionLog, AReminderEachMinute) {
  ConnectionLog log("test", 1);
  const ConnectFailure refused = FailureWith("", "refused");
  EXPECT_TRUE(log.OnConnectFailed(0, refused, 0));
  EXPECT_FALSE(log.OnConnectFailed(0, refused, ConnectionLog::kReminderMs - 1));
  EXPECT_TRUE(log.OnConnectFailed(0, refused, ConnectionLog::kReminderMs));
  EXPECT_FALSE(log.OnConnectFailed(0, refused, ConnectionLog::kReminderMs + 1));
}

TEST(ConnectionLog, ReasonsThatNeverRepeatAreBounded) {
  ConnectionLog log("test", 1);
  int said = 0;
  for (int i = 0; i < 1'000; ++i) {
    said += log.OnConnectFailed(0, FailureWith("", std::to_string(i)), i) ? 1 : 0;
  }
  EXPECT_EQ(said, static_cast<int>(ConnectionLog::kReasonsMax));
}

}  // namespace
}  // namespace queen::pg
