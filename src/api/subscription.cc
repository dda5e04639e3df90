#include "api/subscription.h"

#include <algorithm>
#include <charconv>

#include "api/timestamp.h"

namespace queen::api {
namespace {

using sidecar::StartMode;

Status Unusable(const char* message) { return Status(Code::kInvalidRequest, message); }

// 0 for a letter that is no unit.
int64_t MicrosOfUnit(char unit) {
  constexpr int64_t kSecond = 1'000'000;
  switch (unit) {
    case 's':
      return kSecond;
    case 'm':
      return 60 * kSecond;
    case 'h':
      return 3600 * kSecond;
    case 'd':
      return 86400 * kSecond;
    default:
      return 0;
  }
}

// "15m ago" -> microseconds; more than there have been since 1970 is as good as all of them.
std::optional<int64_t> ParseAgo(std::string_view text, int64_t now_micros) {
  constexpr std::string_view kAgo = " ago";
  if (!text.ends_with(kAgo)) return std::nullopt;
  text.remove_suffix(kAgo.size());
  if (text.empty()) return std::nullopt;
  const int64_t unit = MicrosOfUnit(text.back());
  text.remove_suffix(1);
  if (unit == 0 || text.empty() || text.front() == '-') return std::nullopt;
  int64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (stop != end || error == std::errc::invalid_argument) return std::nullopt;
  const bool too_many = error != std::errc() || count > now_micros / unit;
  return too_many ? now_micros : count * unit;
}

}  // namespace

Result<Subscription> ParseSubscription(std::optional<std::string_view> mode,
                                       std::optional<std::string_view> from, int64_t now_micros) {
  Subscription subscription;
  if (mode) {
    if (*mode == "new" || *mode == "new-only") {
      subscription.mode = StartMode::kNew;
    } else if (*mode != "all" && *mode != "from_beginning") {
      return Unusable("subscriptionMode must be all, from_beginning, new or new-only");
    }
  }
  if (!from) return subscription;
  if (*from == "now") return Subscription{.mode = StartMode::kNew};
  subscription.mode = StartMode::kTime;
  if (const auto ago = ParseAgo(*from, now_micros)) {
    subscription.micros = now_micros - *ago;
  } else if (const auto time = ParseTimestamp(*from)) {
    subscription.micros = std::max<int64_t>(*time, 0);
  } else {
    return Unusable("subscriptionFrom must be now, an RFC 3339 time, a date, or <n>{s,m,h,d} ago");
  }
  return subscription;
}

}  // namespace queen::api
