#include "http/response.h"

#include <fmt/format.h>

#include <iterator>

#include "base/json_writer.h"
#include "http/request.h"

namespace queen::http {
namespace {

constexpr std::string_view kRetryAfterSeconds = "1";

void AppendHeaderValue(std::string_view value, std::string& out) {
  for (const char c : value) out.push_back(c == '\r' || c == '\n' || c == '\0' ? ' ' : c);
}

}  // namespace

Response Response::Json(int status, std::string body) {
  Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

Response Response::Empty(int status) {
  Response response;
  response.status = status;
  return response;
}

Response& Response::AddHeader(std::string_view name, std::string_view value) {
  headers.emplace_back(name, value);
  return *this;
}

bool Response::HasHeader(std::string_view name) const {
  for (const auto& header : headers) {
    if (EqualsIgnoringCase(header.first, name)) return true;
  }
  return false;
}

Response ErrorResponse(const Status& status) {
  const CodeInfo& info = InfoOf(status.code());
  std::string text = status.message();
  if (info.http_status == 503 && text.find(kRefusedText) == std::string::npos) {
    text.append(": ").append(kRefusedText);
  }
  Response response;
  response.status = info.http_status;
  response.code = status.code();
  response.reason = status.message();
  JsonWriter writer(response.body);
  writer.BeginObject();
  writer.Field("error", text);
  writer.Field("code", info.name);
  writer.EndObject();
  if (info.http_status == 503) response.AddHeader("Retry-After", kRetryAfterSeconds);
  if (info.http_status == 401) response.AddHeader("WWW-Authenticate", "Bearer");
  return response;
}

std::string_view ReasonPhrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

void AppendHead(const Response& response, const HeadTraits& traits, std::string& out) {
  auto end = std::back_inserter(out);
  out.append("HTTP/1.1 ");
  fmt::format_to(end, FMT_STRING("{}"), response.status);
  out.append(" ").append(ReasonPhrase(response.status)).append("\r\n");
  if (StatusHasBody(response.status)) {
    out.append("Content-Type: ").append(response.content_type).append("\r\nContent-Length: ");
    fmt::format_to(end, FMT_STRING("{}"), response.body.size());
    out.append("\r\n");
  }
  out.append(traits.fixed_headers);
  if (!traits.allowed_origin.empty()) {
    out.append("Access-Control-Allow-Origin: ").append(traits.allowed_origin).append("\r\n");
  }
  for (const auto& [name, value] : response.headers) {
    out.append(name).append(": ");
    AppendHeaderValue(value, out);
    out.append("\r\n");
  }
  if (response.status == 503 && !response.HasHeader("Retry-After")) {
    out.append("Retry-After: ").append(kRetryAfterSeconds).append("\r\n");
  }
  if (traits.close) {
    out.append("Connection: close\r\n");
  } else if (traits.announce_keep_alive) {
    out.append("Connection: keep-alive\r\n");
  }
  out.append("\r\n");
}

}  // namespace queen::http
