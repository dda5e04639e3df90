// POST /api/v1/push: stores the items of the body and answers 201 with one entry per item, in their
// order. The body is read in one pass and its payloads are never copied: the request that goes to
// the engine owns the body, and the items are views into it.
//
// Refused as a whole (400): what is not JSON, no `items` array, a field of the wrong type. An item
// with a value that cannot be stored is `failed` alone (push_items.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/context.h"
#include "api/push_items.h"
#include "base/status.h"
#include "http/reply.h"
#include "http/request.h"
#include "sidecar/requests.h"

namespace queen::api {

// Takes the body out of the request.
void HandlePush(const Context& context, http::Request& request, http::Reply reply);

// Fills push.items from push.body.
Status ParsePush(const Producer& producer, sidecar::PushRequest& push);

// About the length of what WritePushReply makes of them, whatever their outcomes are.
size_t PushReplyBytes(const std::vector<sidecar::PushItem>& items);

// The JSON array for the caller. REQUIRES: one outcome per item
std::string WritePushReply(const std::vector<sidecar::PushItem>& items,
                           const std::vector<sidecar::PushOutcome>& outcomes);

}  // namespace queen::api
