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
using auth::Role;

constexpr std::string_view kPopPath = "/api/v1/pop";

bool IsOpen(const http::RouteInfo& route) {
  return route.access && route.access->role == Role::kAnybody;
}

bool IsNamed(const Context& context, std::string_view origin) {
  return std::ranges::any_of(context.allow_origins, [&](const std::string& allowed) {
    return allowed == "*" || allowed == origin;
  });
}

Status RefusePage(std::string_view what) {
  return Status(Code::kForbidden, fmt::format("{} may not use this broker without a token; "
                                              "QUEEN_CORS_ORIGINS says which may",
                                              what));
}

// "https://host:port" of a URL.
std::string_view OriginOf(std::string_view url) {
  const size_t host = url.find("://");
  return host == std::string_view::npos ? url : url.substr(0, url.find('/', host + 3));
}

// Links, pictures and forms of a page carry no Origin, but browsers say of which site the page is.
// Following a link to what is open to anybody changes nothing.
Status CheckSite(const Context& context, const http::Request& request, bool open) {
  const auto site = request.Header("Sec-Fetch-Site");
  if (!site || *site == "same-origin" || *site == "none") return Status::Ok();
  const bool reads =
      request.method() == http::Method::kGet || request.method() == http::Method::kHead;
  if (open && reads && request.Header("Sec-Fetch-Mode") == "navigate") return Status::Ok();
  if (IsNamed(context, OriginOf(request.Header("Referer").value_or("")))) return Status::Ok();
  return RefusePage("Pages of other sites");
}

// A page of another site reaches the broker through the browser of somebody who may reach it: under
// a foreign name (DNS rebinding) or as a foreign origin. Whoever has a token gives it to no page;
// a certificate is shown for every page, but to no foreign name.
Status CheckPage(const Context& context, const http::Request& request, bool open) {
  if (context.host_names == nullptr) return Status::Ok();
  const auto host = request.Header("Host");
  const bool certified = request.identity().source == Identity::Source::kCertificate;
  if (host && !certified && !context.host_names->AreOurs(*host)) {
    return Status(Code::kForbidden,
                  fmt::format("This broker does not answer to the name {} without a token; "
                              "QUEEN_HOSTS says which names are its own",
                              *host));
  }
  const auto origin = request.Header("Origin");
  if (!origin) return CheckSite(context, request, open);
  if (http::IsSameOrigin(*origin, host.value_or("")) || IsNamed(context, *origin)) {
    return Status::Ok();
  }
  return RefusePage(fmt::format("Pages of {}", *origin));
}

// The name of the bucket. No address begins with a letter and a colon.
std::string ClientOf(const http::Request& request) {
  const Identity& who = request.identity();
  // One subject may have any number of tokens, and an issuer gives out new ones all the time.
  if (!who.subject.empty()) return "s:" + who.subject;
  if (!who.token_id.empty() && who.source != Identity::Source::kJwt) return "t:" + who.token_id;
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

// Who it is, and whether they may, whatever their limits are.
Status Judge(const Context& context, http::Request& request, const http::RouteInfo& route) {
  QUEEN_RETURN_IF_ERROR(Authorize(context, request, route));
  // Where tokens are asked for, what is open to all is open to pages, too.
  const Identity::Source source = request.identity().source;
  const bool by_itself = source == Identity::Source::kCertificate ||
                         (source == Identity::Source::kNone && !context.authenticate);
  return by_itself ? CheckPage(context, request, IsOpen(route)) : Status::Ok();
}

}  // namespace

Status Admit(const Context& context, http::Request& request, const http::RouteInfo& route) {
  const Status judged = Judge(context, request, route);
  const bool limited = context.client_limits != nullptr && context.client_limits->limits_rates();
  if (limited && !IsOpen(route)) {
    const bool is_pop = std::string_view(route.pattern).starts_with(kPopPath);
    // Who is not known pays from the address, or guessing tokens would be free.
    const std::string client =
        judged.ok() ? ClientOf(request) : http::ClientNetworkOf(request.peer().address);
    QUEEN_RETURN_IF_ERROR(CheckRate(*context.client_limits, request, client, is_pop));
  }
  return judged;
}

std::optional<http::Response> RefuseBody(const Context& context, const http::Router& router,
                                         http::Request& head) {
  http::RouteInfo route;
  route.access = auth::Access{Role::kReadOnly, auth::Verb::kSee, auth::Names::kNothing};
  if (const http::RouteInfo* found = router.RouteOf(head)) {
    route.pattern = found->pattern;
    // What is named in path and query is asked about with the rest.
    if (!IsOpen(*found)) route.access->role = found->access.value_or(auth::Access{}).role;
  }
  if (Judge(context, head, route).ok()) return std::nullopt;
  const Status refusal = Admit(context, head, route);
  http::Response response = http::ErrorResponse(refusal);
  if (head.retry_after_seconds() > 0) {
    response.AddHeader("Retry-After", std::to_string(head.retry_after_seconds()));
  }
  return response;
}

}  // namespace queen::api
