// A reply as a handler makes it, and its bytes on the wire. Handlers say status, body and rare
// header fields; the connection adds what every reply carries (length, CORS, date, keep-alive).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "http/route.h"

namespace queen::http {

inline constexpr std::string_view kJsonContentType = "application/json";

// What every 503 must say: clients keep consuming only after errors that look like the network's.
inline constexpr std::string_view kRefusedText = "Connection refused (ECONNREFUSED)";

struct Response {
  int status = 200;
  std::string body;
  // Must outlive the response: a literal.
  std::string_view content_type = kJsonContentType;
  std::vector<std::pair<std::string, std::string>> headers;
  // What ErrorResponse was made of, for who counts and logs; kOk and "" of any other.
  Code code = Code::kOk;
  std::string reason;
  const RouteInfo* route = nullptr;  // set on the way out; none: no handler saw the request

  static Response Json(int status, std::string body);
  // Without a body, such as 204.
  static Response Empty(int status = 204);

  // CR, LF and NUL in the value are sent as spaces. Length, connection, CORS and date are the
  // connection's business and not set here.
  Response& AddHeader(std::string_view name, std::string_view value);
  bool HasHeader(std::string_view name) const;
};

// {"error":<message>,"code":<name>} with the HTTP status of the list. A 503 names a refused
// connection and carries Retry-After.
Response ErrorResponse(const Status& status);

// "Not Found" for 404; "Unknown" for a number without a name.
std::string_view ReasonPhrase(int status);

// What the connection knows about a reply and the handler does not.
struct HeadTraits {
  bool close = false;                 // say "Connection: close"
  bool announce_keep_alive = false;   // say "Connection: keep-alive", which HTTP/1.0 needs
  std::string_view allowed_origin{};  // the request's, if it is named; "" says nothing
  std::string_view fixed_headers{};   // complete lines every reply carries
};

// Appends the status line, the header fields and the empty line.
void AppendHead(const Response& response, const HeadTraits& traits, std::string& out);

// Whether a reply of that status has a body at all.
constexpr bool StatusHasBody(int status) { return status >= 200 && status != 204 && status != 304; }

}  // namespace queen::http
