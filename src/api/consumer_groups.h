// Changes to consumer groups.
//
//   DELETE /api/v1/consumer-groups/:group[/queues/:queue]?deleteMetadata=true
//   POST   /api/v1/consumer-groups/:group/queues/:queue[/partitions/:partition]/seek
//          {"toEnd":true} | {"timestamp":"..."} | {"offset":n}, exactly one of them; for a single
//          partition also none, which is the end
//   POST   /api/v1/consumer-groups/:group/subscription {"subscriptionTimestamp":"..."}
#pragma once

#include <string_view>

#include "admin/requests.h"
#include "api/context.h"
#include "http/reply.h"
#include "http/request.h"

namespace queen::api {

void HandleDeleteGroup(const Context& context, const http::Request& request, http::Reply reply);
void HandleSeek(const Context& context, const http::Request& request, http::Reply reply);
void HandleSetSubscription(const Context& context, const http::Request& request, http::Reply reply);

// Fills where to from the body; `request` has the names.
Status ParseSeek(std::string_view body, admin::SeekRequest& request);

}  // namespace queen::api
