// JSON Web Tokens (RFC 7519) in their compact form: three parts in base64url with dots between.
//
// ParseJwt reads the header and splits; nothing of it is to be believed before a key has verified
// the signature over `signed_part`. Only then are the claims read (ReadClaims) and judged
// (CheckClaims). Refused before any key is tried: "none" and every algorithm that is not ours, and
// headers that demand extensions ("crit").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/identity.h"
#include "auth/verify_key.h"
#include "base/json_value.h"
#include "base/status.h"

namespace queen::auth {

inline constexpr size_t kTokenBytesMax = size_t{12} * 1024;
inline constexpr size_t kSubjectBytesMax = 255;
inline constexpr size_t kPatternsMax = 100;  // in one list of a token

struct Jwt {
  Algorithm algorithm = Algorithm::kHs256;
  std::string key_id;            // "" when it names none
  std::string_view signed_part;  // of the token
  std::string signature;
  std::string payload;  // JSON, if the signature is right
};

// kUnauthenticated with a reason. `token` must outlive the result.
Result<Jwt> ParseJwt(std::string_view token);

struct Claims {
  std::optional<double> expires;  // seconds since 1970
  std::optional<double> not_before;
  std::string issuer = {};
  std::vector<std::string> audience = {};
  std::string subject;
  std::vector<std::string> roles;
  QueueLimits queues;
};

// Under which names roles stand: a text or a list under either.
struct RoleClaims {
  std::string one = "role";
  std::string many = "roles";
};

// kUnauthenticated when a claim that is ours has the wrong form: what cannot be understood is not
// taken for absent.
Result<Claims> ReadClaims(std::string_view payload, const RoleClaims& names);

// The limits of a `queen` claim, which is also how tokens of `queen token` keep theirs: an object
// of lists of patterns under "push", "pop" and "admin". Absent or null: none. A list that is left
// out is empty, and allows nothing.
Result<QueueLimits> ReadQueueLimits(const JsonValue& value);
// The claim that says so; "null" for no limits.
std::string WriteQueueLimits(const QueueLimits& limits);

struct ClaimRules {
  std::string issuer = {};    // "": any
  std::string audience = {};  // "": any
  int64_t skew_seconds = 30;
};

// Whether the token is for us and now. kUnauthenticated with a reason.
Status CheckClaims(const Claims& claims, const ClaimRules& rules, int64_t now_seconds);

}  // namespace queen::auth
