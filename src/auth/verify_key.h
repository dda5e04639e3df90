// VerifyKey: a key that signatures of tokens are checked with. It is for one algorithm, which
// follows from what kind of key it is and never from what a token says: a public key is no secret
// of HS256, whatever a header claims.
//
// Immutable; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

struct evp_pkey_st;

namespace queen::auth {

enum class Algorithm : uint8_t { kHs256, kRs256, kEs256, kEdDsa };

// "HS256", "RS256", "ES256" or "EdDSA"; nullopt for every other text, "none" included.
std::optional<Algorithm> ParseAlgorithm(std::string_view name);
std::string_view AlgorithmName(Algorithm algorithm);

class VerifyKey {
 public:
  // RSA keys have at least so many bits (RFC 7518, section 3.3).
  static constexpr int kRsaBitsMin = 2048;

  // REQUIRES: not empty
  static VerifyKey OfSecret(std::string secret);
  // A public key or a certificate in PEM: RSA, EC on the curve P-256, or Ed25519.
  static Result<VerifyKey> OfPem(std::string_view pem);
  // The numbers of a JSON Web Key, as bytes, big end first. `id` is its "kid".
  static Result<VerifyKey> OfRsa(std::string id, std::string_view n, std::string_view e);
  static Result<VerifyKey> OfP256(std::string id, std::string_view x, std::string_view y);
  static Result<VerifyKey> OfEd25519(std::string id, std::string_view x);

  Algorithm algorithm() const { return algorithm_; }
  // "" when it has none.
  const std::string& id() const { return id_; }

  // Whether `signature`, as a token carries it, is that of `text`.
  bool Verify(std::string_view text, std::string_view signature) const;

 private:
  VerifyKey() = default;
  static Result<VerifyKey> OfPkey(std::string id, evp_pkey_st* pkey);

  Algorithm algorithm_ = Algorithm::kHs256;
  std::string id_;
  std::string secret_;
  std::shared_ptr<evp_pkey_st> pkey_;
};

}  // namespace queen::auth
