#include "pg/connection_log.h"

#include "base/log.h"
#include "pg/connector.h"

namespace queen::pg {

bool ConnectionLog::OnUp(int up, int server_version) {
  const bool recovered = up == total_ && !said_.empty();
  if (recovered) said_.clear();
  if (up != 1 && !recovered) return false;
  log::Info("PostgreSQL connected", {{"target", target_},
                                     {"version", server_version / 10000},
                                     {"up", up},
                                     {"connections", total_}});
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
  // The SQLSTATE tells reasons apart better than texts that differ by an address.
  const std::string& reason =
      failure.sqlstate.empty() ? failure.status.message() : failure.sqlstate;
  const bool is_new = said_.size() < kReasonsMax && said_.insert(reason).second;
  if (!is_new && now_ms - last_said_ms_ < kReminderMs) {
    ++unsaid_;
    return false;
  }
  log::Write(failure.needs_person ? log::Level::kError : log::Level::kWarn,
             "PostgreSQL cannot be connected to",
             {{"target", target_},
              {"reason", failure.status.message()},
              {"sqlstate", failure.sqlstate},
              {"up", up},
              {"connections", total_},
              {"failures_before", unsaid_}});
  last_said_ms_ = now_ms;
  unsaid_ = 0;
  return true;
}

}  // namespace queen::pg
