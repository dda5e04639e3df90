#include "pg/connection_log.h"

#include <utility>

#include "base/log.h"
#include "pg/connector.h"
#include "pg/sqlstate.h"

namespace queen::pg {

void ConnectionLog::Expect(int connections) {
  const std::lock_guard lock(mutex_);
  total_ += connections;
}

bool ConnectionLog::OnUp(int server_version) {
  const std::lock_guard lock(mutex_);
  ++up_;
  problem_.clear();
  const bool all_again = up_ == total_ && !said_.empty();
  if (all_again) said_.clear();
  const bool news = std::exchange(away_said_, false) || all_again;
  log::Write(news ? log::Level::kInfo : log::Level::kDebug, "PostgreSQL connected",
             {{"target", target_},
              {"version", server_version / 10000},
              {"up", up_},
              {"connections", total_}});
  return news;
}

bool ConnectionLog::OnDown(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  --up_;
  if (up_ > 0) {
    log::Debug("PostgreSQL connection lost",
               {{"target", target_}, {"up", up_}, {"reason", reason}});
    return false;
  }
  away_said_ = true;
  log::Warn("PostgreSQL lost", {{"target", target_}, {"reason", reason}});
  return true;
}

bool ConnectionLog::OnConnectFailed(const ConnectFailure& failure, int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  const Refusal refusal = RefusalOf(failure.sqlstate);
  if (up_ == 0) problem_ = failure.needs_person ? refusal.problem : "";
  // The SQLSTATE tells reasons apart better than texts that differ by an address.
  const std::string& reason =
      failure.sqlstate.empty() ? failure.status.message() : failure.sqlstate;
  const bool is_new = said_.size() < kReasonsMax && said_.insert(reason).second;
  if (!is_new && now_ms - last_said_ms_ < kReminderMs) {
    ++unsaid_;
    return false;
  }
  if (failure.needs_person) {
    log::Error(refusal.problem, {{"check", refusal.check},
                                 {"target", target_},
                                 {"reason", failure.status.message()},
                                 {"sqlstate", failure.sqlstate},
                                 {"up", up_},
                                 {"connections", total_},
                                 {"failures_before", unsaid_}});
  } else {
    log::Warn("PostgreSQL cannot be connected to", {{"target", target_},
                                                    {"reason", failure.status.message()},
                                                    {"sqlstate", failure.sqlstate},
                                                    {"up", up_},
                                                    {"connections", total_},
                                                    {"failures_before", unsaid_}});
  }
  away_said_ = away_said_ || up_ == 0;
  last_said_ms_ = now_ms;
  unsaid_ = 0;
  return true;
}

std::string ConnectionLog::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

}  // namespace queen::pg
