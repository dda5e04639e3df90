#include "storage/tokens.h"

#include <fmt/format.h>

namespace queen::storage {
namespace {

constexpr const char* kTime = R"(to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))";

std::string TimeText(std::string_view column) { return fmt::format(fmt::runtime(kTime), column); }

std::string HexOf(std::string_view bytes) {
  std::string hex = "\\x";
  for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return hex;
}

std::string TextOr(const pg::TextRows& rows, int row, int column) {
  return rows.IsNull(row, column) ? "" : std::string(rows.Text(row, column));
}

}  // namespace

Result<std::string> CreateToken(pg::BlockingConnection& connection, const NewToken& token) {
  const auto forgotten = connection.ExecParams(
      "DELETE FROM queen.tokens"
      " WHERE least(revoked_at, expires_at) < clock_timestamp() - make_interval(days => $1)",
      {std::to_string(kKeepEndedTokensDays)});
  if (!forgotten.ok()) return forgotten.status();
  std::optional<std::string> ttl;
  if (token.ttl_seconds) ttl = std::to_string(*token.ttl_seconds);
  const auto made = connection.ExecParams(
      "INSERT INTO queen.tokens (id, hash, subject, role, queues, expires_at)"
      " VALUES ($1, $2::bytea, $3, $4, $5::jsonb,"
      " clock_timestamp() + make_interval(secs => $6::double precision)) RETURNING " +
          TimeText("expires_at"),
      {token.id, HexOf(token.hash), token.subject, token.role, token.queues, ttl});
  if (!made.ok()) return made.status();
  return TextOr(*made, 0, 0);
}

Result<std::vector<TokenRow>> ListTokens(pg::BlockingConnection& connection) {
  const auto rows = connection.Exec(
      fmt::format("SELECT id, subject, role, queues, {}, {}, {},"
                  " revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp())"
                  " FROM queen.tokens ORDER BY created_at, id",
                  TimeText("created_at"), TimeText("expires_at"), TimeText("revoked_at")));
  if (!rows.ok()) return rows.status();
  std::vector<TokenRow> tokens;
  tokens.reserve(static_cast<size_t>(rows->size()));
  for (int row = 0; row < rows->size(); ++row) {
    tokens.push_back({.id = TextOr(*rows, row, 0),
                      .subject = TextOr(*rows, row, 1),
                      .role = TextOr(*rows, row, 2),
                      .queues = TextOr(*rows, row, 3),
                      .created_at = TextOr(*rows, row, 4),
                      .expires_at = TextOr(*rows, row, 5),
                      .revoked_at = TextOr(*rows, row, 6),
                      .valid = rows->Bool(row, 7)});
  }
  return tokens;
}

Status RevokeToken(pg::BlockingConnection& connection, const std::string& id) {
  const auto rows = connection.ExecParams(
      "UPDATE queen.tokens SET revoked_at = coalesce(revoked_at, clock_timestamp())"
      " WHERE id = $1 RETURNING id",
      {id});
  if (!rows.ok()) return rows.status();
  if (rows->size() > 0) return Status::Ok();
  return Status(Code::kNotFound, fmt::format("there is no token {}", id));
}

}  // namespace queen::storage
