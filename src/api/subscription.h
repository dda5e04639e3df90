// Where a consumer group starts, as a pop's parameters say it. Only the first pop of a group on a
// queue decides; what comes here is what this pop asks for.
//
//   subscriptionMode   all, from_beginning | new, new-only
//   subscriptionFrom   now | RFC 3339 | a date | "<n>{s,m,h,d} ago"     wins over the mode
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "sidecar/requests.h"

namespace queen::api {

struct Subscription {
  sidecar::StartMode mode = sidecar::StartMode::kAll;
  int64_t micros = 0;  // kTime: since 1970, never negative

  bool operator==(const Subscription&) const = default;
};

// nullopt: the parameter was not given. `now_micros` is the wall clock, for "ago".
Result<Subscription> ParseSubscription(std::optional<std::string_view> mode,
                                       std::optional<std::string_view> from, int64_t now_micros);

}  // namespace queen::api
