#include "api/waiting_callers.h"

#include <algorithm>
#include <utility>

#include "api/authorize.h"

namespace queen::api {

WaitingCallers::Watch& WaitingCallers::Watch::operator=(Watch&& other) noexcept {
  Stop();
  of_ = std::exchange(other.of_, {});
  ticket_ = other.ticket_;
  return *this;
}

void WaitingCallers::Watch::Stop() {
  if (const auto of = of_.lock()) of->Remove(ticket_);
  of_.reset();
}

std::shared_ptr<WaitingCallers> WaitingCallers::Make(Options options) {
  std::shared_ptr<WaitingCallers> made(new WaitingCallers(std::move(options)));
  made->self_ = made;
  made->generation_ = made->options_.generation();
  return made;
}

WaitingCallers::Watch WaitingCallers::Add(Caller caller, int64_t until_seconds) {
  const uint64_t ticket = next_ticket_++;
  headers_.emplace(ticket, caller.header);
  Holder& holder = holders_[caller.header];
  holder.until_seconds = std::min(holder.until_seconds, until_seconds);
  next_seconds_ = std::min(next_seconds_, until_seconds);
  holder.callers.emplace(ticket, std::move(caller));
  return {self_, ticket};
}

void WaitingCallers::Remove(uint64_t ticket) {
  const auto header = headers_.find(ticket);
  if (header == headers_.end()) return;
  const auto holder = holders_.find(header->second);
  holder->second.callers.erase(ticket);
  if (holder->second.callers.empty()) holders_.erase(holder);
  headers_.erase(header);
}

void WaitingCallers::Look() {
  const uint64_t generation = options_.generation();
  const int64_t now = options_.now_seconds();
  const bool changed = generation != generation_;
  if (!changed && now < next_seconds_) return;
  generation_ = generation;
  next_seconds_ = INT64_MAX;
  std::vector<std::string> due;
  for (const auto& [header, holder] : holders_) {
    if (changed || holder.until_seconds <= now) {
      due.push_back(header);
    } else {
      next_seconds_ = std::min(next_seconds_, holder.until_seconds);
    }
  }
  for (const std::string& header : due) {
    if (const auto found = holders_.find(header); found != holders_.end()) {
      LookAt(header, found->second);
    }
  }
}

// Who ends may take others with it, so `holder` is not used once somebody was told.
void WaitingCallers::LookAt(const std::string& header, Holder& holder) {
  const Result<auth::IdentityRef> who = options_.authenticate(header);
  if (who.ok()) {
    holder.until_seconds = (*who)->until_seconds;
    next_seconds_ = std::min(next_seconds_, holder.until_seconds);
  }
  std::vector<std::pair<uint64_t, Status>> ended;
  for (const auto& [ticket, caller] : holder.callers) {
    Status granted =
        who.ok() ? CheckAccess(**who, caller.access, caller.queue) : Status(who.status());
    if (!granted.ok()) ended.emplace_back(ticket, std::move(granted));
  }
  for (const auto& [ticket, why] : ended) {
    const auto known = headers_.find(ticket);
    if (known == headers_.end()) continue;
    UniqueFunction<void(const Status&)> end =
        std::move(holders_.at(known->second).callers.at(ticket).end);
    Remove(ticket);
    end(why);
  }
}

}  // namespace queen::api
