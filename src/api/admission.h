// Admission: what a request passes before its handler sees it. Who it is and what it may
// (authorize.h); while nobody is known by a token or certificate, that it is not a web page of
// another site that speaks; and that the client is not over its limits.
#pragma once

#include "api/context.h"
#include "http/request.h"
#include "http/route.h"

namespace queen::api {

// The router's guard. kUnauthenticated, kForbidden, or kTooManyRequests, which for a pop is
// kOverloaded because consumers give up after a 429.
Status Admit(const Context& context, http::Request& request, const http::RouteInfo& route);

}  // namespace queen::api
