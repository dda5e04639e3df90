// Reading points in time that people and clients write: RFC 3339 with any offset, or a plain date.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace queen::api {

// Microseconds since 1970 of "2026-01-31T23:59:59.5+02:00" or "2026-01-31" (midnight UTC); nullopt
// for anything else, also for a time without an offset. 'T' and 'Z' may be small, 'T' may be a
// space, and so may the '+' of the offset: in a query string it is one unless it was encoded. Parts
// of a microsecond are rounded up, so nothing before the time counts as "at or after" it.
std::optional<int64_t> ParseTimestamp(std::string_view text);

}  // namespace queen::api
