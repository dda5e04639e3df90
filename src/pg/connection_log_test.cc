#include "pg/connection_log.h"

#include <gtest/gtest.h>

#include "pg/connector.h"

namespace queen::pg {
namespace {

ConnectFailure FailureWith(const std::string& sqlstate, const std::string& message) {
  return {.status = Status(Code::kDatabaseUnavailable, message), .sqlstate = sqlstate};
}

// A log of `total` connections.
struct Log : ConnectionLog {
  explicit Log(int total) : ConnectionLog("test") { Expect(total); }
};

TEST(ConnectionLog, TheLastDownAndTheFirstUpAfterItAreSaid) {
  Log log(3);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(log.OnUp(150000)) << "a start that works is no news";
  EXPECT_FALSE(log.OnDown("gone"));
  EXPECT_FALSE(log.OnDown("gone"));
  EXPECT_TRUE(log.OnDown("gone"));
  EXPECT_TRUE(log.OnUp(150000));
  EXPECT_FALSE(log.OnUp(150000));
}

TEST(ConnectionLog, EachReasonIsSaidOnceUntilAllAreUp) {
  Log log(2);
  const ConnectFailure full = FailureWith("53300", "too many clients");
  const ConnectFailure refused = FailureWith("", "refused");
  EXPECT_TRUE(log.OnConnectFailed(full, 0));
  EXPECT_TRUE(log.OnConnectFailed(refused, 1));
  for (int i = 2; i < 1'000; ++i) {
    EXPECT_FALSE(log.OnConnectFailed(i % 2 == 0 ? full : refused, i));
  }
  EXPECT_TRUE(log.OnUp(150000));
  EXPECT_FALSE(log.OnConnectFailed(full, 1'001));
  EXPECT_TRUE(log.OnUp(150000));
  EXPECT_TRUE(log.OnConnectFailed(full, 1'002));
}

TEST(ConnectionLog, AReminderWhileItLasts) {
  Log log(1);
  const ConnectFailure refused = FailureWith("", "refused");
  EXPECT_TRUE(log.OnConnectFailed(refused, 0));
  EXPECT_FALSE(log.OnConnectFailed(refused, ConnectionLog::kReminderMs - 1));
  EXPECT_TRUE(log.OnConnectFailed(refused, ConnectionLog::kReminderMs));
  EXPECT_FALSE(log.OnConnectFailed(refused, ConnectionLog::kReminderMs + 1));
  static_assert(ConnectionLog::kReminderMs <= 15'000, "who looks at the log now finds the reason");
}

TEST(ConnectionLog, WhatAPersonMustPutRightIsKeptUntilAConnectionIsUp) {
  Log log(2);
  ConnectFailure password = FailureWith("28P01", "password authentication failed");
  password.needs_person = true;
  EXPECT_EQ(log.problem(), "");
  EXPECT_TRUE(log.OnConnectFailed(password, 0));
  EXPECT_EQ(log.problem(), "PostgreSQL refuses the password of the broker's role");
  log.OnUp(150000);
  EXPECT_EQ(log.problem(), "");
  log.OnConnectFailed(password, 1);
  EXPECT_EQ(log.problem(), "") << "a connection is up";
}

TEST(ConnectionLog, ReasonsThatNeverRepeatAreBounded) {
  Log log(1);
  int said = 0;
  for (int i = 0; i < 1'000; ++i) {
    said += log.OnConnectFailed(FailureWith("", std::to_string(i)), i) ? 1 : 0;
  }
  EXPECT_EQ(said, static_cast<int>(ConnectionLog::kReasonsMax));
}

}  // namespace
}  // namespace queen::pg
