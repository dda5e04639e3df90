// ConnectionLog: what the log says about N connections to one server, without a line per connection
// and retry. Said once: PostgreSQL reachable, PostgreSQL lost; a reason why connecting fails, until
// it changes; and a reminder each minute while it keeps failing.
#pragma once

#include <cstdint>
#include <string>

#include "base/log.h"

namespace queen::pg {

struct ConnectFailure;

class ConnectionLog {
 public:
  static constexpr int64_t kReminderMs = 60'000;

  // `target` says what is connected to, without a password.
  explicit ConnectionLog(std::string target) : target_(std::move(target)) {}

  // Each returns whether it logged. `up` counts the connections that are up after the event.
  bool OnUp(int up, int server_version);
  bool OnDown(int up, const std::string& reason);
  bool OnConnectFailed(int up, const ConnectFailure& failure, int64_t now_ms);

 private:
  std::string target_;
  std::string last_reason_;  // of failing to connect; empty when none was logged since the last up
  int64_t last_logged_ms_ = 0;
  int64_t unlogged_ = 0;
};

}  // namespace queen::pg
