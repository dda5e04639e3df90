// ConnectionLog: what the log says about N connections to one server, without a line per connection
// and retry. Said once: PostgreSQL connected (the first of them), PostgreSQL lost (the last of
// them), and each reason why connecting fails; reasons count as unsaid again when all connections
// are up, and the latest one is repeated every minute until then.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace queen::pg {

struct ConnectFailure;

class ConnectionLog {
 public:
  static constexpr int64_t kReminderMs = 60'000;
  static constexpr size_t kReasonsMax = 16;  // a server that finds more gets a line a minute

  // `target` says what is connected to, without a password; `total` counts the connections.
  ConnectionLog(std::string target, int total) : target_(std::move(target)), total_(total) {}

  // Each returns whether it logged. `up` counts the connections that are up after the event.
  bool OnUp(int up, int server_version);
  bool OnDown(int up, const std::string& reason);
  bool OnConnectFailed(int up, const ConnectFailure& failure, int64_t now_ms);

 private:
  const std::string target_;
  const int total_;
  std::set<std::string> said_;
  int64_t last_said_ms_ = 0;
  int64_t unsaid_ = 0;  // failures since
};

}  // namespace queen::pg
