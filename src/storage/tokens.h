// The tokens of `queen token` in PostgreSQL, as the command changes them. Brokers read them with
// statements of procedures.h. Nothing here sees a token, only its hash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "pg/blocking_connection.h"

namespace queen::storage {

struct NewToken {
  std::string id;
  std::string hash;  // 32 bytes
  std::string subject;
  std::string role;
  std::optional<std::string> queues;   // JSON; nullopt: every queue
  std::optional<int64_t> ttl_seconds;  // nullopt: for ever
};

struct TokenRow {
  std::string id;
  std::string subject;
  std::string role;
  std::string queues;  // JSON, or "" for every queue
  std::string created_at;
  std::string expires_at;  // "": never
  std::string revoked_at;  // "": it is not
  bool valid = false;
};

// Those that ended this long ago are forgotten when another is made.
inline constexpr int kKeepEndedTokensDays = 90;

// When it expires, "" for never.
Result<std::string> CreateToken(pg::BlockingConnection& connection, const NewToken& token);

// Oldest first.
Result<std::vector<TokenRow>> ListTokens(pg::BlockingConnection& connection);

// kNotFound when no token has that id. One that is revoked already stays so.
Status RevokeToken(pg::BlockingConnection& connection, const std::string& id);

}  // namespace queen::storage
