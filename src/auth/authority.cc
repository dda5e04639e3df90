#include "auth/authority.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cmath>
#include <utility>

#include "auth/tokens_file.h"
#include "base/clock.h"
#include "base/log.h"

namespace queen::auth {
namespace {

// Differs when the file was written or replaced; "" when there is none.
std::string MarkOf(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return "";
  return fmt::format("{}:{}:{}:{}:{}:{}", info.st_dev, info.st_ino, info.st_size,
                     info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_mode);
}

Result<std::vector<VerifyKey>> FixedKeys(const AuthorityOptions& options) {
  std::vector<VerifyKey> keys;
  if (!options.jwt) return keys;
  if (!options.secret.empty()) keys.push_back(VerifyKey::OfSecret(options.secret));
  if (!options.public_key.empty()) {
    Result<VerifyKey> key = VerifyKey::OfPem(options.public_key);
    if (!key.ok()) {
      return Status(Code::kInvalidRequest, "JWT_PUBLIC_KEY: " + key.status().message());
    }
    keys.push_back(*std::move(key));
  }
  return keys;
}

}  // namespace

Authority::Authority(AuthorityOptions options, std::vector<VerifyKey> keys)
    : options_(std::move(options)),
      keys_(std::move(keys), options_.jwt && !options_.jwks.url.empty()),
      tokens_(options_.stored_tokens) {
  if (!options_.jwt || options_.jwks.url.empty()) return;
  jwks_ = std::make_unique<JwksClient>(options_.jwks, keys_);
  keys_.OnUnknownId([this] { jwks_->Wish(); });
}

Result<std::unique_ptr<Authority>> Authority::Make(const AuthorityOptions& options) {
  Result<std::vector<VerifyKey>> keys = FixedKeys(options);
  if (!keys.ok()) return keys.status();
  std::unique_ptr<Authority> authority(new Authority(options, *std::move(keys)));
  if (!options.tokens_file.empty()) {
    authority->file_mark_ = MarkOf(options.tokens_file);
    Result<std::vector<StoredToken>> tokens = ReadTokensFile(options.tokens_file);
    if (!tokens.ok()) {
      return Status(Code::kInvalidRequest,
                    fmt::format("QUEEN_TOKENS_FILE ({}): {}", options.tokens_file,
                                tokens.status().message()));
    }
    authority->tokens_.ReplaceFile(*std::move(tokens));
  }
  return authority;
}

void Authority::Start() {
  if (jwks_) jwks_->Start();
}

void Authority::Stop() {
  if (jwks_) jwks_->Stop();
}

void Authority::LookAtTokensFile() {
  if (options_.tokens_file.empty()) return;
  std::string mark = MarkOf(options_.tokens_file);
  if (mark == file_mark_) return;
  file_mark_ = std::move(mark);
  Result<std::vector<StoredToken>> tokens = ReadTokensFile(options_.tokens_file);
  if (!tokens.ok()) {
    log::Error("QUEEN_TOKENS_FILE has changed and cannot be used; what was read before stands",
               {{"file", options_.tokens_file}, {"error", tokens.status().message()}});
    return;
  }
  log::Info("QUEEN_TOKENS_FILE was read again", {{"tokens", tokens->size()}});
  tokens_.ReplaceFile(*std::move(tokens));
}

Result<IdentityRef> Authority::Verify(std::string_view token, const TokenHash& hash,
                                      int64_t now_seconds) {
  if (IdentityRef known = tokens_.Find(hash)) {
    if (now_seconds < known->until_seconds) return known;
    return Status(Code::kUnauthenticated, "The token has expired");
  }
  if (token.starts_with(kTokenPrefix)) {
    if (tokens_.awaits_database()) {
      return Status(Code::kDatabaseUnavailable, "The tokens have not been read yet");
    }
    return Status(Code::kUnauthenticated, "Unknown or revoked token");
  }
  if (!options_.jwt) return Status(Code::kUnauthenticated, "Unknown or revoked token");
  return VerifyJwt(token, now_seconds);
}

Result<IdentityRef> Authority::VerifyJwt(std::string_view token, int64_t now_seconds) {
  const Result<Jwt> jwt = ParseJwt(token);
  if (!jwt.ok()) return jwt.status();
  if (options_.algorithm && *options_.algorithm != jwt->algorithm) {
    return Status(Code::kUnauthenticated, "Invalid token: its algorithm is not accepted");
  }
  QUEEN_RETURN_IF_ERROR(keys_.Verify(*jwt, SteadyMillis()));
  Result<Claims> claims = ReadClaims(jwt->payload, options_.role_claims);
  if (!claims.ok()) return claims.status();
  QUEEN_RETURN_IF_ERROR(CheckClaims(*claims, options_.rules, now_seconds));
  Identity identity;
  identity.source = Identity::Source::kJwt;
  identity.role = HighestRole(claims->roles, options_.role_names);
  identity.subject = std::move(claims->subject);
  identity.token_id = TokenIdOf(HashToken(token));
  identity.queues = std::move(claims->queues);
  constexpr double kFarAway = 1e15;
  if (claims->expires && *claims->expires < kFarAway) {
    identity.until_seconds =
        static_cast<int64_t>(std::ceil(*claims->expires)) + options_.rules.skew_seconds;
  }
  return IdentityRef(std::make_shared<const Identity>(std::move(identity)));
}

}  // namespace queen::auth
