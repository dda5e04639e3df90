// Which handler serves which route of the contract.
#pragma once

#include "api/context.h"
#include "http/router.h"

namespace queen::api {

inline constexpr std::string_view kPushPath = "/api/v1/push";

// `context` must outlive the router.
void AddRoutes(const Context& context, http::Router& router);

}  // namespace queen::api
