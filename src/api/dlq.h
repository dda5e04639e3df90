// The dead letters, by queue, consumerGroup, partition and when they died (from, to):
//   GET /api/v1/dlq            newest first, in pages. An encrypted payload that cannot be
//   decrypted
//                              is listed as it is stored
//   POST /api/v1/dlq/redrive   pushed again, each for the group in which it died
//   DELETE /api/v1/dlq         removed for good; without any filter only with `all`
// Redrive and purge take the filters from the query or, where it has them, from the body, and
// change at most `limit` letters in a call: `more` says that there are others, `to` what to pass
// then.
#pragma once

#include <string>

#include "admin/requests.h"
#include "api/context.h"
#include "http/reply.h"
#include "http/request.h"

namespace queen::api {

void HandleListDeadLetters(const Context& context, const http::Request& request, http::Reply reply);

void HandleRedriveDeadLetters(const Context& context, const http::Request& request,
                              http::Reply reply);
void HandlePurgeDeadLetters(const Context& context, const http::Request& request,
                            http::Reply reply);

inline constexpr int64_t kDeadLetterChangesDefault = 1'000;
inline constexpr int64_t kDeadLetterChangesMax = 10'000;

Result<admin::DeadLetterFilter> ParseDeadLetterFilter(const http::Query& query);
// Of a change: the limit is the number of letters to change.
Result<admin::DeadLetterFilter> ParseDeadLetterChange(const http::Query& query,
                                                      std::string_view body);

std::string WriteDeadLetters(const admin::Listed<admin::DeadLetter>& listed,
                             const admin::Page& page, const storage::PayloadCipher& cipher,
                             std::optional<int64_t> payload_max = std::nullopt);

}  // namespace queen::api
