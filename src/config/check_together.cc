// What settings must be to one another. A value that is wrong by itself is found when it is parsed.

#include <fmt/format.h>

#include "config/settings.h"

namespace queen::config {

std::vector<std::string> CheckTogether(const Config& config) {
  std::vector<std::string> problems;
  const Database& database = config.database;
  const Pop& pop = config.pop;
  if (database.in_flight_deadline_ms <= database.statement_timeout_ms) {
    problems.push_back(fmt::format(
        "DB_IN_FLIGHT_DEADLINE_MS ({}) must be above DB_STATEMENT_TIMEOUT ({}): the server has to "
        "have the chance to cancel first",
        database.in_flight_deadline_ms, database.statement_timeout_ms));
  }
  if (pop.wait_base_interval_ms > pop.wait_max_interval_ms) {
    problems.push_back(fmt::format(
        "POP_WAIT_BASE_INTERVAL_MS ({}) must not be above POP_WAIT_MAX_INTERVAL_MS ({})",
        pop.wait_base_interval_ms, pop.wait_max_interval_ms));
  }
  // Of which pushes may have three quarters.
  if (config.http.request_bytes_max / 4 * 3 < config.http.body_bytes_max) {
    problems.push_back(
        fmt::format("QUEEN_HTTP_REQUEST_BYTES_MAX ({}) must be at least 4/3 of "
                    "QUEEN_HTTP_BODY_BYTES_MAX ({}): the largest body has to fit",
                    config.http.request_bytes_max, config.http.body_bytes_max));
  }
  if (config.sidecar.pool_size < config.server.workers) {
    problems.push_back(fmt::format(
        "SIDECAR_POOL_SIZE ({}) must be at least NUM_WORKERS ({}): every worker needs a connection",
        config.sidecar.pool_size, config.server.workers));
  }
  if (database.use_ssl && (database.ssl_mode == "disable" || database.ssl_mode == "allow" ||
                           database.ssl_mode == "prefer")) {
    problems.push_back(
        fmt::format("PG_USE_SSL (true) contradicts PG_SSLMODE ({})", database.ssl_mode));
  }
  const Tls& tls = config.tls;
  if (tls.certificate.empty() != tls.key.empty()) {
    problems.push_back(tls.key.empty() ? "QUEEN_TLS_KEY must be given with QUEEN_TLS_CERT"
                                       : "QUEEN_TLS_CERT must be given with QUEEN_TLS_KEY");
  }
  if (tls.self_signed && !tls.certificate.empty()) {
    problems.push_back(
        "QUEEN_TLS_SELF_SIGNED (true) contradicts QUEEN_TLS_CERT: there is a certificate");
  }
  if (tls.self_signed && config.embedded.data_dir.empty()) {
    problems.push_back("QUEEN_DATA_DIR must be given with QUEEN_TLS_SELF_SIGNED");
  }
  if (!tls.client_ca.empty() && !tls.is_on()) {
    problems.push_back("QUEEN_TLS_CERT must be given with QUEEN_TLS_CLIENT_CA");
  }
  if (!config.encryption.old_keys.empty() && config.encryption.keys.empty()) {
    problems.push_back(
        "QUEEN_ENCRYPTION_KEY must be given with QUEEN_ENCRYPTION_KEYS_OLD: old keys only read");
  }
  if (config.buffer.is_on() && config.buffer.directory.empty()) {
    problems.push_back(
        "FILE_BUFFER_DIR must be given: neither XDG_DATA_HOME nor HOME is an absolute path");
  }
  if (config.cluster.is_on() && config.cluster.secret.empty() && !config.cluster.allow_no_secret) {
    problems.push_back(
        "QUEEN_SYNC_SECRET must be given with QUEEN_UDP_PEERS, or anybody on the network could "
        "speak for a broker; QUEEN_SYNC_ALLOW_NO_SECRET=true runs without");
  }
  const Auth& auth = config.auth;
  if (auth.jwt_enabled && auth.jwt_secret.empty() && auth.jwt_public_key.empty() &&
      auth.jwks_url.empty()) {
    problems.push_back(
        "JWT_ENABLED needs a key: JWT_SECRET, JWT_PUBLIC_KEY or JWT_JWKS_URL; for tokens of `queen "
        "token` alone set QUEEN_TOKENS_ENABLED");
  }
  if (auth.is_on() && auth.allow_anonymous) {
    problems.push_back(
        "QUEEN_ALLOW_ANONYMOUS contradicts JWT_ENABLED, QUEEN_TOKENS_ENABLED and "
        "QUEEN_TOKENS_FILE, which ask everybody for a token");
  }
  if (config.uses_embedded() && config.embedded.data_dir.empty()) {
    problems.push_back(
        "QUEEN_DATA_DIR must be given: neither XDG_DATA_HOME nor HOME is an absolute path");
  }
  return problems;
}

}  // namespace queen::config
