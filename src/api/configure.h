// POST /api/v1/configure: makes a queue or changes its options, and answers with all of them.
//
//   {queue, namespace?, task?, options?, mode?}     mode: merge (default) or replace, also ?mode=
//
// Refused (400), naming the option: wrong types, negative numbers, numbers that do not fit, and
// encryptionEnabled by a broker without a key.
// Options nobody knows are ignored, null ones are as if left out.
#pragma once

#include <string>
#include <string_view>

#include "admin/requests.h"
#include "api/context.h"
#include "http/reply.h"
#include "http/request.h"

namespace queen::api {

void HandleConfigure(const Context& context, const http::Request& request, http::Reply reply);

// `mode` is the query's, "" for none; the body's wins.
// `can_encrypt`: there is a key.
Result<admin::ConfigureRequest> ParseConfigure(std::string_view body, std::string_view mode,
                                               bool can_encrypt);

std::string WriteConfigureReply(std::string_view queue, const admin::ConfigureResult& result);

}  // namespace queen::api
