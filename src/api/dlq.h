// GET /api/v1/dlq: the dead letters, newest first, by queue, consumerGroup, partition and when they
// died (from, to), in pages. An encrypted payload that cannot be decrypted is listed as it is
// stored.
#pragma once

#include <string>

#include "admin/requests.h"
#include "api/context.h"
#include "http/reply.h"
#include "http/request.h"

namespace queen::api {

void HandleListDeadLetters(const Context& context, const http::Request& request, http::Reply reply);

Result<admin::DeadLetterFilter> ParseDeadLetterFilter(const http::Query& query);

std::string WriteDeadLetters(const admin::Listed<admin::DeadLetter>& listed,
                             const admin::Page& page, const storage::PayloadCipher& cipher);

}  // namespace queen::api
