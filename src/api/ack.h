// POST /api/v1/ack and /api/v1/ack/batch: the consumers' verdicts. Both answer 200 with an array,
// one entry per acknowledgment in request order; a refusal is an entry with success:false. Only a
// body that is not an acknowledgment at all is a 400.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/context.h"
#include "base/status.h"
#include "http/reply.h"
#include "http/request.h"
#include "sidecar/requests.h"

namespace queen::api {

inline constexpr size_t kAckItemsMax = 200'000;

void HandleAck(const Context& context, const http::Request& request, http::Reply reply);
void HandleAckBatch(const Context& context, const http::Request& request, http::Reply reply);

// The body of the single form, as a list of one.
Result<std::vector<sidecar::AckItem>> ParseAck(std::string_view body);
// The body of the batch form, kPayloadTooLarge beyond `items_max`. A consumerGroup beside the list
// counts for every item.
Result<std::vector<sidecar::AckItem>> ParseAckBatch(std::string_view body,
                                                    size_t items_max = kAckItemsMax);

// The JSON array for the caller. REQUIRES: one outcome per item
std::string WriteAckReply(const std::vector<sidecar::AckItem>& items,
                          const std::vector<sidecar::AckOutcome>& outcomes);

}  // namespace queen::api
