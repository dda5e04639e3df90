// Stored messages, for people:
//   GET /api/v1/messages                                      a page, newest first, no payloads
//   GET /api/v1/status/queues/:queue/messages                 the same of one queue
//   GET /api/v1/messages/:partitionId/:transactionId          one, with its payload
//   DELETE /api/v1/messages/:partitionId/:transactionId       for every group, for good
//   POST /api/v1/messages/:partitionId/:transactionId/retry   a dead letter is pushed again
//   POST /api/v1/messages/:partitionId/:transactionId/dlq     a pending one becomes a dead letter
#pragma once

#include <string>

#include "api/context.h"
#include "http/reply.h"
#include "http/request.h"

namespace queen::api {

inline constexpr int64_t kMessagesLimitDefault = 200;
// How far a page may reach: older messages are found by `to` or by naming the partition.
inline constexpr int64_t kMessagesReach = 5'000;

void HandleListMessages(const Context& context, const http::Request& request, http::Reply reply);
void HandleGetMessage(const Context& context, const http::Request& request, http::Reply reply);
void HandleDeleteMessage(const Context& context, const http::Request& request, http::Reply reply);
void HandleRetryMessage(const Context& context, const http::Request& request, http::Reply reply);
void HandleDeadLetterMessage(const Context& context, const http::Request& request,
                             http::Reply reply);

// The reply about one message: its document with the payload, decrypted where that is possible. Of
// a payload with more than `payload_max` bytes only the beginning (payload_cut.h).
std::string WriteMessage(const admin::StoredMessage& message, PartitionId partition,
                         const storage::PayloadCipher& cipher, std::optional<int64_t> payload_max);

}  // namespace queen::api
