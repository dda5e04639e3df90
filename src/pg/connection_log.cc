#include "pg/connection_log.h"

#include "pg/connector.h"

namespace queen::pg {

bool ConnectionLog::OnUp(int up, int server_version) {
  const bool first = up == 1;
  const bool recovered = !last_reason_.empty();
  last_reason_.clear();
  unlogged_ = 0;
  if (!first && !recovered) return false;
  log::Info("PostgreSQL connected",
            {{"target", target_}, {"version", server_version / 10000}, {"up", up}});
  return true;
}

bool ConnectionLog::OnDown(int up, const std::string& reason) {
  if (up > 0) {
    log::Debug("PostgreSQL connection lost", {{"target", target_}, {"up", up}, {"reason", reason}});
    return false;
  }
  log::Warn("PostgreSQL lost", {{"target", target_}, {"reason", reason}});
  return true;
}

bool ConnectionLog::OnConnectFailed(int up, const ConnectFailure& failure, int64_t now_ms) {
  // The SQLSTATE tells reasons apart better than texts with addresses in them.
  const std::string& reason =
      failure.sqlstate.empty() ? failure.status.message() : failure.sqlstate;
  const bool said = reason == last_reason_ && now_ms - last_logged_ms_ < kReminderMs;
  if (said) {
    ++unlogged_;
    return false;
  }
  log::Write(failure.needs_person ? log::Level::kError : log::Level::kWarn,
             "PostgreSQL refuses a connection",
             {{"target", target_},
              {"reason", failure.status.message()},
              {"sqlstate", failure.sqlstate},
              {"up", up},
              {"failures_since_last_line", unlogged_}});
  last_reason_ = reason;
  last_logged_ms_ = now_ms;
  unlogged_ = 0;
  return true;
}

}  // namespace queen::pg
