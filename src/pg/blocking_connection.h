// A PostgreSQL connection that blocks: for the start of the broker and for CLI commands, never for
// a loop's thread. One thread at a time uses it.
//
// Connecting tries every host of the connection string in turn. A statement that fails leaves the
// connection usable unless the server is gone; then everything fails until a new one is made.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

struct pg_conn;
struct pg_result;

namespace queen::pg {

// What the server said about a statement it refused; fields it left out are empty.
struct SqlError {
  std::string sqlstate;
  std::string message;
  std::string detail;
  std::string hint;
  std::string context;
  int position = 0;  // in the statement, in characters from 1; 0 when unknown
};

// The rows of one statement, in text form.
class TextRows {
 public:
  explicit TextRows(pg_result* result);

  int size() const;
  bool IsNull(int row, int column) const;
  // REQUIRES: row and column exist. Valid as long as the TextRows.
  std::string_view Text(int row, int column) const;
  // REQUIRES: the column is of an integer type and not null
  int64_t Int(int row, int column) const;
  // REQUIRES: the column is a boolean and not null
  bool Bool(int row, int column) const { return Text(row, column) == "t"; }

 private:
  std::unique_ptr<pg_result, void (*)(pg_result*)> result_;
};

class BlockingConnection {
 public:
  // `timeout_ms` is for each host; libpq counts it in whole seconds, at least two.
  static Result<BlockingConnection> Connect(const std::string& conninfo, int timeout_ms);

  // One or more statements in the simple protocol; the rows are those of the last. Outside of a
  // transaction block several statements are one transaction.
  Result<TextRows> Exec(const std::string& sql);

  // One statement with parameters in text form, nullopt for null.
  Result<TextRows> ExecParams(const std::string& sql,
                              const std::vector<std::optional<std::string>>& parameters);

  // About the last statement that failed. The Status of that statement has the message as well.
  const SqlError& last_error() const { return last_error_; }

  bool connected() const;
  // Whether a transaction block is open, failed or not.
  bool in_transaction() const;
  // Such as 150004.
  int server_version() const;
  // Such as "UTF8".
  std::string server_encoding() const;

  // `text` as an SQL literal, whatever standard_conforming_strings says. REQUIRES: no NUL
  static std::string Literal(std::string_view text);

 private:
  explicit BlockingConnection(pg_conn* connection);

  Result<TextRows> Take(pg_result* result);

  std::unique_ptr<pg_conn, void (*)(pg_conn*)> connection_;
  SqlError last_error_;
};

}  // namespace queen::pg
