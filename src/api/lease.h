// POST /api/v1/lease/:leaseId/extend: a consumer that needs longer. Answers an object that spells
// the new expiry in three ways, because clients differ. A lease that is lost is a 404 with the same
// object: clients look at the status alone, and must learn that their messages may be with somebody
// else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/context.h"
#include "base/status.h"
#include "http/reply.h"
#include "http/request.h"
#include "sidecar/requests.h"

namespace queen::api {

inline constexpr int64_t kExtendSecondsMax = 31'536'000;

void HandleExtendLease(const Context& context, const http::Request& request, http::Reply reply);

// The seconds the body asks for, 0 when it does not say: {}, [], null and no body are the same.
Result<int32_t> ParseExtendLease(std::string_view body);

http::Response WriteExtendLeaseReply(std::string_view lease_id, const sidecar::RenewResult& result);

}  // namespace queen::api
