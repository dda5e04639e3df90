#include "api/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "api/authorize.h"
#include "base/clock.h"

namespace queen::api {
namespace {

using auth::Identity;

constexpr std::string_view kPopPath = "/api/v1/pop";

// A page of another site reaches the broker through the browser of somebody who may reach it: under
// a foreign name (DNS rebinding) or as a foreign origin. Whoever has a token gives it to no page.
Status CheckPage(const Context& context, const http::Request& request) {
  if (context.host_names == nullptr) return Status::Ok();
  const auto host = request.Header("Host");
  if (host && !context.host_names->AreOurs(*host)) {
    return Status(Code::kForbidden,
                  fmt::format("This broker does not answer to the name {} without a token; "
                              "QUEEN_HOSTS says which names are its own",
                              *host));
  }
  const auto origin = request.Header("Origin");
  if (!origin || http::IsSameOrigin(*origin, host.value_or(""))) return Status::Ok();
  const bool named = std::ranges::any_of(context.allow_origins, [&](const std::string& allowed) {
    return allowed == "*" || allowed == *origin;
  });
  if (named) return Status::Ok();
  return Status(Code::kForbidden, fmt::format("Pages of {} may not use this broker without a "
                                              "token; QUEEN_CORS_ORIGINS says which may",
                                              *origin));
}

// The name of the bucket. No address begins with a letter and a colon.
std::string ClientOf(const http::Request& request) {
  const Identity& who = request.identity();
  if (!who.token_id.empty()) return "t:" + who.token_id;
  if (!who.subject.empty()) return "s:" + who.subject;
  return http::ClientNetworkOf(request.peer().address);
}

Status CheckRate(http::ClientLimits& limits, http::Request& request, std::string_view client,
                 bool is_pop) {
  const auto verdict =
      limits.Take(client, static_cast<int64_t>(request.body().size()), SteadyMicros());
  if (verdict.admitted) return Status::Ok();
  request.SetRetryAfter((verdict.retry_after_ms + 999) / 1000);
  return Status(is_pop ? Code::kOverloaded : Code::kTooManyRequests,
                verdict.for_bytes ? "This client has sent more bytes than it may in a second"
                                  : "This client has sent more requests than it may in a second");
}

}  // namespace

Status Admit(const Context& context, http::Request& request, const http::RouteInfo& route) {
  const Status authorized = Authorize(context, request, route);
  const bool open = route.access && route.access->role == auth::Role::kAnybody;
  const bool limited = context.client_limits != nullptr && context.client_limits->limits_rates();
  if (limited && !open) {
    const bool is_pop = std::string_view(route.pattern).starts_with(kPopPath);
    // Who is not known pays from the address, or guessing tokens would be free.
    const std::string client =
        authorized.ok() ? ClientOf(request) : http::ClientNetworkOf(request.peer().address);
    QUEEN_RETURN_IF_ERROR(CheckRate(*context.client_limits, request, client, is_pop));
  }
  QUEEN_RETURN_IF_ERROR(authorized);
  // Where tokens are asked for, what is open to all is open to pages, too.
  const bool known = context.authenticate || request.identity().source != Identity::Source::kNone;
  return known ? Status::Ok() : CheckPage(context, request);
}

}  // namespace queen::api
