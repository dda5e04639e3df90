// Authenticator: turns the Authorization header of a request into an identity. Of one worker; it
// remembers the tokens that were verified, by their hashes, so that a client that comes again costs
// a hash and a look-up. What is remembered ends with the token's own time, and with any change of
// the keys or tokens it was verified with: a token that was revoked is refused at the next request.
//
// What was refused is not remembered: strangers cannot fill it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "auth/authority.h"
#include "auth/identity.h"
#include "base/status.h"

namespace queen::auth {

class Authenticator {
 public:
  static constexpr size_t kRememberedMax = 10'000;

  // `authority` outlives it.
  explicit Authenticator(Authority& authority) : authority_(authority) {}

  // kUnauthenticated with a reason, or a retryable error when it cannot be said yet.
  Result<IdentityRef> Authenticate(std::optional<std::string_view> header, int64_t now_seconds);

 private:
  struct Hasher {
    size_t operator()(const TokenHash& hash) const;
  };

  Authority& authority_;
  uint64_t generation_ = 0;
  std::unordered_map<TokenHash, IdentityRef, Hasher> remembered_;
};

}  // namespace queen::auth
