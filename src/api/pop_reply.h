// The body of a pop's 200: from the segments in memory to JSON in one string. Payloads are the
// bytes that were pushed; nothing of them is parsed. What repeats in every message of a partition
// (names, lease, group) is escaped once, and the string is reserved to its size before the first
// byte.
#pragma once

#include <string>
#include <string_view>

#include "sidecar/requests.h"

namespace queen::api {

// REQUIRES: result.deliveries is not empty
std::string WritePopReply(std::string_view group, const sidecar::PopResult& result);

}  // namespace queen::api
