#include "pg/blocking_connection.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>

#include "base/log.h"
#include "pg/connect_options.h"
#include "pg/sqlstate.h"

namespace queen::pg {
namespace {

std::string_view TrimNewline(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

void LogNotice(void*, const char* message) {
  log::Debug("PostgreSQL says", {{"notice", TrimNewline(message)}});
}

std::string FieldOf(const pg_result* result, int field) {
  const char* text = PQresultErrorField(result, field);
  return text == nullptr ? "" : text;
}

}  // namespace

TextRows::TextRows(pg_result* result) : result_(result, PQclear) {}

int TextRows::size() const { return PQntuples(result_.get()); }

bool TextRows::IsNull(int row, int column) const {
  return PQgetisnull(result_.get(), row, column) != 0;
}

std::string_view TextRows::Text(int row, int column) const {
  assert(row >= 0 && row < size() && column >= 0 && column < PQnfields(result_.get()));
  return {PQgetvalue(result_.get(), row, column),
          static_cast<size_t>(PQgetlength(result_.get(), row, column))};
}

int64_t TextRows::Int(int row, int column) const {
  const std::string_view text = Text(row, column);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  assert(error == std::errc() && end == text.data() + text.size());
  return value;
}

BlockingConnection::BlockingConnection(pg_conn* connection) : connection_(connection, PQfinish) {}

Result<BlockingConnection> BlockingConnection::Connect(const std::string& conninfo,
                                                       int timeout_ms) {
  QUEEN_RETURN_IF_ERROR(CheckConninfo(conninfo));
  const std::string timeout = fmt::format("{}", std::max(2, (timeout_ms + 999) / 1000));
  // The connection string is expanded first; what follows it wins.
  const std::array<const char*, 5> keywords = {"dbname", "connect_timeout", "client_encoding",
                                               "fallback_application_name", nullptr};
  const std::array<const char*, 5> values = {conninfo.c_str(), timeout.c_str(), "UTF8", "queen",
                                             nullptr};
  BlockingConnection connection(PQconnectdbParams(keywords.data(), values.data(), 1));
  if (!connection.connected()) {
    return Status(Code::kDatabaseUnavailable,
                  std::string(TrimNewline(PQerrorMessage(connection.connection_.get()))));
  }
  PQsetNoticeProcessor(connection.connection_.get(), LogNotice, nullptr);
  return connection;
}

Result<TextRows> BlockingConnection::Exec(const std::string& sql) {
  return Take(PQexec(connection_.get(), sql.c_str()));
}

Result<TextRows> BlockingConnection::ExecParams(
    const std::string& sql, const std::vector<std::optional<std::string>>& parameters) {
  std::vector<const char*> values;
  values.reserve(parameters.size());
  for (const auto& parameter : parameters) {
    values.push_back(parameter ? parameter->c_str() : nullptr);
  }
  return Take(PQexecParams(connection_.get(), sql.c_str(), static_cast<int>(values.size()), nullptr,
                           values.data(), nullptr, nullptr, 0));
}

Result<TextRows> BlockingConnection::Take(pg_result* result) {
  TextRows rows(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY) {
    return rows;
  }
  last_error_ = {FieldOf(result, PG_DIAG_SQLSTATE),       FieldOf(result, PG_DIAG_MESSAGE_PRIMARY),
                 FieldOf(result, PG_DIAG_MESSAGE_DETAIL), FieldOf(result, PG_DIAG_MESSAGE_HINT),
                 FieldOf(result, PG_DIAG_CONTEXT),        0};
  const std::string position = FieldOf(result, PG_DIAG_STATEMENT_POSITION);
  std::from_chars(position.data(), position.data() + position.size(), last_error_.position);
  if (last_error_.message.empty()) {
    last_error_.message = TrimNewline(PQerrorMessage(connection_.get()));
  }
  if (!connected()) return Status(Code::kDatabaseUnavailable, last_error_.message);
  return Status(CodeOf(last_error_.sqlstate), last_error_.message);
}

bool BlockingConnection::connected() const { return PQstatus(connection_.get()) == CONNECTION_OK; }

bool BlockingConnection::in_transaction() const {
  const PGTransactionStatusType status = PQtransactionStatus(connection_.get());
  return status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
}

int BlockingConnection::server_version() const { return PQserverVersion(connection_.get()); }

std::string BlockingConnection::server_encoding() const {
  const char* encoding = PQparameterStatus(connection_.get(), "server_encoding");
  return encoding == nullptr ? "" : encoding;
}

std::string BlockingConnection::Literal(std::string_view text) {
  assert(text.find('\0') == std::string_view::npos);
  std::string literal = text.find('\\') == std::string_view::npos ? "'" : "E'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') literal += c;
    literal += c;
  }
  literal += '\'';
  return literal;
}

}  // namespace queen::pg
