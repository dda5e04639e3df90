// ConnectionLog: what the log says about the connections to one server, of all threads together,
// without a line per connection and retry. Said are
//   PostgreSQL lost         the last connection is gone
//   each reason why connecting fails: at once, and every kReminderMs while it lasts; reasons count
//                           as unsaid again when all connections are up
//   PostgreSQL connected    after one of these, with the first connection and when all are up
// A reason that only a person can end (a wrong password, a missing database) is said in plain words
// with what to check, and kept for /health. Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>

namespace queen::pg {

struct ConnectFailure;

class ConnectionLog {
 public:
  static constexpr int64_t kReminderMs = 10'000;
  static constexpr size_t kReasonsMax = 16;  // a server that finds more gets a line per reminder

  // `target` says what is connected to, without a password.
  explicit ConnectionLog(std::string target) : target_(std::move(target)) {}

  // So many more connections are to be made.
  void Expect(int connections);

  // Each returns whether it logged above debug.
  bool OnUp(int server_version);
  bool OnDown(const std::string& reason);
  bool OnConnectFailed(const ConnectFailure& failure, int64_t now_ms);

  // What a person has to put right before there can be a connection, in one sentence; "" when a
  // connection is up, or time may help.
  std::string problem() const;

 private:
  const std::string target_;
  mutable std::mutex mutex_;
  int total_ = 0;  // from here on guarded by mutex_
  int up_ = 0;
  bool away_said_ = false;  // that all are lost, or a reason; not yet that one is up again
  std::set<std::string> said_;
  std::string problem_;
  int64_t last_said_ms_ = 0;
  int64_t unsaid_ = 0;  // failures since
};

}  // namespace queen::pg
