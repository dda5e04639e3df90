#include "api/dashboard.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/status.h"
#include "http/response.h"

namespace queen::api {
namespace {

constexpr std::string_view kContentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
constexpr std::string_view kForEver = "public, max-age=31536000, immutable";
constexpr std::string_view kAskAgain = "no-cache";

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// "q=0", "q=0.0" and so on: the coding is refused.
bool IsRefused(std::string_view parameters) {
  const size_t place = parameters.find("q=");
  if (place == parameters.npos) return false;
  const std::string_view quality = Trimmed(parameters.substr(place + 2));
  return quality.find_first_not_of("0.") == quality.npos;
}

void AddCommonHeaders(const DashboardAsset& asset, http::Response& response) {
  response.AddHeader("Cache-Control", asset.hashed ? kForEver : kAskAgain);
  response.AddHeader("ETag", asset.etag);
  response.AddHeader("Vary", "Accept-Encoding");
  response.AddHeader("Content-Security-Policy", kContentSecurityPolicy);
  response.AddHeader("X-Content-Type-Options", "nosniff");
  response.AddHeader("Referrer-Policy", "no-referrer");
}

}  // namespace

bool AcceptsGzip(std::string_view accept_encoding) {
  while (!accept_encoding.empty()) {
    const size_t comma = std::min(accept_encoding.find(','), accept_encoding.size());
    const std::string_view entry = accept_encoding.substr(0, comma);
    accept_encoding.remove_prefix(std::min(accept_encoding.size(), comma + 1));
    const size_t semicolon = std::min(entry.find(';'), entry.size());
    const std::string_view coding = Trimmed(entry.substr(0, semicolon));
    if (http::EqualsIgnoringCase(coding, "gzip")) return !IsRefused(entry.substr(semicolon));
  }
  return false;
}

void HandleDashboard(const http::Request& request, http::Reply reply) {
  const std::string path = request.path();
  const std::span<const DashboardAsset> assets = DashboardAssets();
  const auto asset = std::find_if(assets.begin(), assets.end(),
                                  [&](const DashboardAsset& one) { return one.path == path; });
  if (asset == assets.end()) {
    return reply.SendError(Status(Code::kNotFound, "The dashboard has no such file"));
  }
  if (request.Header("If-None-Match") == asset->etag) {
    http::Response unchanged = http::Response::Empty(304);
    AddCommonHeaders(*asset, unchanged);
    return reply.Send(std::move(unchanged));
  }
  const bool gzip = AcceptsGzip(request.Header("Accept-Encoding").value_or(""));
  http::Response response;
  response.body = std::string(gzip ? asset->gzip : asset->plain);
  response.content_type = asset->content_type;
  AddCommonHeaders(*asset, response);
  if (gzip) response.AddHeader("Content-Encoding", "gzip");
  reply.SendPage(std::move(response));
}

}  // namespace queen::api
