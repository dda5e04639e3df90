#include "server/authentication.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/log.h"
#include "config/config_file.h"
#include "config/reach.h"

namespace queen::server {
namespace {

constexpr size_t kSecretBytesWanted = 32;  // RFC 7518, section 3.2
constexpr std::string_view kPemBegin = "-----BEGIN";

// PEM in one line has "\n" for its line ends.
std::string WithLineEnds(std::string_view text) {
  std::string lines;
  for (size_t at = text.find("\\n"); at != text.npos; at = text.find("\\n")) {
    lines.append(text.substr(0, at)).push_back('\n');
    text.remove_prefix(at + 2);
  }
  return lines.append(text);
}

Result<std::string> PublicKeyOf(const std::string& setting) {
  if (setting.empty()) return std::string();
  if (setting.starts_with(kPemBegin)) return WithLineEnds(setting);
  Result<std::string> text = config::ReadFile(setting);
  if (text.ok()) return text;
  return Status(Code::kInvalidRequest,
                fmt::format("JWT_PUBLIC_KEY: neither PEM nor a file that can be read: {}",
                            text.status().message()));
}

}  // namespace

bool IsOpenToTheNetwork(const config::Config& config) {
  return !config.auth.is_on() && !config.tls.knows_every_client() &&
         config::IsReachedFromElsewhere(config.http.host);
}

Status CheckNobodyIsLetInUnasked(const config::Config& config) {
  if (!IsOpenToTheNetwork(config)) return Status::Ok();
  if (config.auth.allow_anonymous) {
    log::Warn(
        "QUEEN_ALLOW_ANONYMOUS: everybody who reaches this broker may read, change and delete "
        "everything",
        {{"host", config.http.host}});
    return Status::Ok();
  }
  return Status(
      Code::kInvalidRequest,
      fmt::format("HOST is {}: everybody on that network could read, change and delete "
                  "everything. Set JWT_ENABLED=true and a key (tokens of your issuer), or "
                  "QUEEN_TOKENS_FILE (tokens of your own; QUEEN_TOKENS_ENABLED=true for those of "
                  "`queen token`), or QUEEN_TLS_CLIENT_CA (certificates of clients), or, if "
                  "everybody may, QUEEN_ALLOW_ANONYMOUS=true",
                  config.http.host));
}

Result<std::unique_ptr<auth::Authority>> MakeAuthority(const config::Config& config) {
  const config::Auth& settings = config.auth;
  if (!settings.is_on()) return std::unique_ptr<auth::Authority>();
  Result<std::string> public_key = PublicKeyOf(settings.jwt_public_key);
  if (!public_key.ok()) return public_key.status();
  if (settings.jwt_enabled && !settings.jwt_secret.empty() &&
      settings.jwt_secret.size() < kSecretBytesWanted) {
    log::Warn("JWT_SECRET is short enough to be guessed: it should have 32 bytes or more");
  }
  auth::AuthorityOptions options;
  options.jwt = settings.jwt_enabled;
  options.algorithm = auth::ParseAlgorithm(settings.jwt_algorithm);  // none for auto
  options.secret = settings.jwt_secret;
  options.public_key = *std::move(public_key);
  options.jwks = {.url = settings.jwks_url,
                  .certificates = settings.jwks_certificate,
                  .interval_ms = int64_t{settings.jwks_interval_s} * 1'000,
                  .timeout_ms = settings.jwks_timeout_ms};
  options.rules = {.issuer = settings.issuer,
                   .audience = settings.audience,
                   .skew_seconds = settings.clock_skew_s};
  options.role_claims = {.one = settings.role_claim, .many = settings.roles_claim};
  options.role_names = {.admin = settings.role_admin,
                        .read_write = settings.role_read_write,
                        .read_only = settings.role_read_only};
  options.stored_tokens = true;
  options.tokens_file = settings.tokens_file;
  return auth::Authority::Make(options);
}

}  // namespace queen::server
