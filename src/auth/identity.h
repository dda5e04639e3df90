// Identity: who sent a request, as authentication found out. The router puts it on the request
// before any handler runs (http/request.h); without authentication it is that of Nobody(), who may
// do everything.
//
// It never changes once it is made, and is shared by all requests with the same token.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "auth/access.h"

namespace queen::auth {

// Which queues a token may touch. A list names them by pattern (queue_pattern.h). Once `limited`,
// an empty list allows nothing.
struct QueueLimits {
  bool limited = false;
  std::vector<std::string> push = {};
  std::vector<std::string> pop = {};
  std::vector<std::string> admin = {};

  // Whether this may be done to the queue of that name.
  bool Allow(Verb verb, std::string_view queue) const;
  // Whether this may be done to every queue.
  bool AllowAll(Verb verb) const;

  bool operator==(const QueueLimits&) const = default;
};

struct Identity {
  // What says who it is.
  enum class Source : uint8_t {
    kNone,         // nothing
    kJwt,          // a token of the issuer
    kToken,        // a token of `queen token`
    kTokenFile,    // a line of QUEEN_TOKENS_FILE
    kCertificate,  // the client's certificate
  };

  Source source = Source::kNone;
  Role role = Role::kAnybody;
  std::string subject = {};   // "" when it says none; becomes producerSub
  std::string token_id = {};  // names the token in logs without giving it away, "" for none
  QueueLimits queues = {};
  int64_t until_seconds = INT64_MAX;  // since 1970: when its token ends
};

using IdentityRef = std::shared_ptr<const Identity>;

// Where authentication is off: anybody, who may do everything.
const Identity& Nobody();

// "none", "jwt", "token", "token-file" or "certificate".
std::string_view SourceName(Identity::Source source);

}  // namespace queen::auth
