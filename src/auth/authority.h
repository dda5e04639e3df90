// Authority: what all workers share of authentication: the keys of the issuer, the tokens without
// one, and the rules. Each worker has an Authenticator of its own, which remembers what was
// verified.
//
// Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "auth/jwks_client.h"
#include "auth/jwt.h"
#include "auth/key_ring.h"
#include "auth/roles.h"
#include "auth/token_table.h"
#include "base/status.h"

namespace queen::auth {

struct AuthorityOptions {
  bool jwt = false;                         // tokens of an issuer count
  std::optional<Algorithm> algorithm = {};  // nullopt: that of the key
  std::string secret = {};
  std::string public_key = {};  // PEM
  JwksOptions jwks = {};        // its url "": none
  ClaimRules rules = {};
  RoleClaims role_claims = {};
  RoleNames role_names = {};
  bool stored_tokens = false;    // tokens of the database count
  std::string tokens_file = {};  // "": none
};

class Authority {
 public:
  // An error when a key or the file cannot be used.
  static Result<std::unique_ptr<Authority>> Make(const AuthorityOptions& options);

  // Begins to fetch the issuer's keys, where there are some to fetch.
  void Start();
  void Stop();

  // kUnauthenticated with a reason, or kOverloaded when it cannot be said yet.
  Result<IdentityRef> Verify(std::string_view token, const TokenHash& hash, int64_t now_seconds);

  // Reads the file of tokens again if it has changed; a file that cannot be used is reported in the
  // log, and what was read before stands. On one thread at a time.
  void LookAtTokensFile();

  TokenTable& tokens() { return tokens_; }
  // Whether the tokens of the database count.
  bool stored_tokens() const { return options_.stored_tokens; }
  // Differs after every change of keys or tokens: what was verified before has to be verified anew.
  uint64_t generation() const { return keys_.generation() + tokens_.generation(); }

 private:
  Authority(AuthorityOptions options, std::vector<VerifyKey> keys);

  Result<IdentityRef> VerifyJwt(std::string_view token, int64_t now_seconds);

  const AuthorityOptions options_;
  KeyRing keys_;
  TokenTable tokens_;
  std::unique_ptr<JwksClient> jwks_;  // null: nothing is fetched
  std::string file_mark_;             // what the file looked like when it was read last
};

}  // namespace queen::auth
