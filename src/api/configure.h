// POST /api/v1/configure: makes a queue or changes its options, and answers with all of them.
//
//   {queue, namespace?, task?, options?, mode?}     mode: merge (default) or replace, also ?mode=
//
// Refused (400), naming the option: wrong types, negative numbers, numbers that do not fit, and
// encryptionEnabled by a broker without a key.
// Options nobody knows do nothing, and neither do options beside `options` instead of in it. The
// reply names both in `ignored`, which is there only when there is something to name. Options that
// are null are as if left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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

// The names in `ignored`, in the order they came, at most this many.
inline constexpr size_t kIgnoredNamesMax = 100;
std::vector<std::string> IgnoredNames(std::string_view body);

std::string WriteConfigureReply(std::string_view queue, const admin::ConfigureResult& result,
                                const std::vector<std::string>& ignored);

}  // namespace queen::api
