// One request as a handler sees it. It owns everything it shows: the head as it arrived, in which
// the target and the header fields are spans, and the body, which a handler may move away. The
// parser fills it, the router adds the path parameters and the decoded query.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "auth/access.h"
#include "auth/identity.h"
#include "base/status.h"
#include "http/method.h"
#include "http/peer.h"
#include "http/query.h"

namespace queen::http {

class Request {
 public:
  Method method() const { return method_; }
  // As sent: "/api/v1/pop/queue/a%2Fb?batch=10".
  std::string_view target() const { return At(target_); }
  // The target up to its '?', still encoded; empty for a target that is no path ("*", "host:80").
  std::string_view raw_path() const { return At(path_); }
  // The path decoded, for people; routes are matched on its segments (see router.h).
  std::string path() const;
  // What follows the '?', still encoded.
  std::string_view raw_query() const { return At(query_span_); }

  // Empty until DecodeQuery, which the router calls before any handler.
  const Query& query() const { return query_; }
  Status DecodeQuery();

  // The value of the first field of that name, whatever its case; nullopt when there is none.
  std::optional<std::string_view> Header(std::string_view name) const;
  size_t CountHeaders(std::string_view name) const;
  size_t header_count() const { return headers_.size(); }

  // The decoded path segment that matched ":name" of the route, "" when the route has none.
  std::string_view Param(std::string_view name) const;
  // `name` must outlive the request: the router's own copy of the pattern.
  void AddParam(std::string_view name, std::string value);

  const std::string& body() const { return body_; }
  std::string TakeBody() { return std::move(body_); }

  // Who sent it. The router's guard says so before any handler runs.
  const auth::Identity& identity() const { return identity_ ? *identity_ : auth::Nobody(); }
  void SetIdentity(auth::IdentityRef identity) { identity_ = std::move(identity); }

  // What its route asks of callers, which outlives the request; null: nothing.
  const auth::Access* access() const { return access_; }
  void SetAccess(const auth::Access* access) { access_ = access; }

  // From where it came.
  const Peer& peer() const {
    static const Peer unknown{};
    return peer_ ? *peer_ : unknown;
  }
  void SetPeer(PeerRef peer) { peer_ = std::move(peer); }

  // When a client that is over its limits may come again; 0: it is not.
  int64_t retry_after_seconds() const { return retry_after_seconds_; }
  void SetRetryAfter(int64_t seconds) { retry_after_seconds_ = seconds; }

  // Whether the client wants the connection kept after the reply.
  bool keep_alive() const { return keep_alive_; }
  // 0 for HTTP/1.0, 1 for HTTP/1.1.
  int version_minor() const { return version_minor_; }

 private:
  friend class Parser;

  // A piece of head_, as offsets because moving a string may move its bytes.
  struct Span {
    uint32_t begin = 0;
    uint32_t size = 0;
  };
  struct Field {
    Span name;
    Span value;
  };

  std::string_view At(Span span) const {
    return std::string_view(head_).substr(span.begin, span.size);
  }
  // Splits the target into path and query.
  void SplitTarget();

  std::string head_;
  std::string body_;
  std::vector<Field> headers_;
  std::vector<std::pair<std::string_view, std::string>> params_;
  Query query_;
  PeerRef peer_;                // null: a test's
  auth::IdentityRef identity_;  // null: nobody in particular
  const auth::Access* access_ = nullptr;
  int64_t retry_after_seconds_ = 0;
  Span target_;
  Span path_;
  Span query_span_;
  Method method_ = Method::kOther;
  bool keep_alive_ = false;
  int version_minor_ = 1;
};

// Whether two header names or tokens are equal but for the case of ASCII letters.
bool EqualsIgnoringCase(std::string_view a, std::string_view b);

}  // namespace queen::http
