// Admission: what a request passes before its handler sees it. Who it is and what it may
// (authorize.h); where no token says so, that it is not a web page of another site that speaks; and
// that the client is not over its limits. A body that has not arrived with its head is not read
// before its sender has passed the first two.
#pragma once

#include <optional>

#include "api/context.h"
#include "http/request.h"
#include "http/response.h"
#include "http/route.h"
#include "http/router.h"

namespace queen::api {

// The router's guard. kUnauthenticated, kForbidden, or kTooManyRequests, which for a pop is
// kOverloaded because consumers give up after a 429.
Status Admit(const Context& context, http::Request& request, const http::RouteInfo& route);

// Asked when the head of a request has arrived and its body has not: how it is refused without
// reading that, for who may send none. nullopt: it is read, and Admit asked about the whole. A body
// needs a token, where tokens are asked for, whatever its path is.
std::optional<http::Response> RefuseBody(const Context& context, const http::Router& router,
                                         http::Request& head);

}  // namespace queen::api
