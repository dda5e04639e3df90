// TokenTable: the tokens that need no issuer, by their hashes: those of `queen token`, which live
// in PostgreSQL and are read again when they change (admin/token_watch.h), and those of
// QUEEN_TOKENS_FILE. The tokens themselves are nowhere: whoever reads the database or the memory of
// a broker learns hashes, and the tokens are too random to be found from them.
//
// Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "auth/identity.h"
#include "base/status.h"

namespace queen::auth {

// SHA-256 of a token.
using TokenHash = std::array<unsigned char, 32>;
TokenHash HashToken(std::string_view token);

// "queen_" and 32 random bytes in base64url.
std::string MakeToken();
inline constexpr std::string_view kTokenPrefix = "queen_";

// How the token is called where it must not be shown: the first 12 digits of its hash.
std::string TokenIdOf(const TokenHash& hash);

struct StoredToken {
  TokenHash hash{};
  Identity identity;
};

class TokenTable {
 public:
  // `awaits_database`: tokens of the database are yet to come.
  explicit TokenTable(bool awaits_database) : awaits_database_(awaits_database) {}

  void ReplaceStored(std::vector<StoredToken> tokens);
  void ReplaceFile(std::vector<StoredToken> tokens);

  // Null: there is no such token.
  IdentityRef Find(const TokenHash& hash) const;
  // Whether tokens of the database have not been read yet.
  bool awaits_database() const { return awaits_database_.load(std::memory_order_acquire); }
  // Differs after every change.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  struct Hasher {
    size_t operator()(const TokenHash& hash) const;
  };
  using Map = std::unordered_map<TokenHash, IdentityRef, Hasher>;

  static std::shared_ptr<const Map> MakeMap(std::vector<StoredToken> tokens);
  static IdentityRef FindIn(const Map* map, const TokenHash& hash);

  std::atomic<bool> awaits_database_;
  std::atomic<uint64_t> generation_{1};
  mutable std::mutex mutex_;
  std::shared_ptr<const Map> stored_;  // guarded by mutex_
  std::shared_ptr<const Map> file_;    // guarded by mutex_
};

}  // namespace queen::auth
