// JSON Web Key Sets (RFC 7517): the public keys that an issuer of tokens publishes.
#pragma once

#include <string_view>
#include <vector>

#include "auth/verify_key.h"
#include "base/status.h"

namespace queen::auth {

inline constexpr size_t kJwksKeysMax = 100;

// The keys for signatures of algorithms that are ours; others are left out, symmetric ones always:
// a secret that is published is none. An error when the text is no key set, or no key is left.
Result<std::vector<VerifyKey>> ParseJwks(std::string_view text);

}  // namespace queen::auth
