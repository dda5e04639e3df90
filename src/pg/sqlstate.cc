#include "pg/sqlstate.h"

namespace queen::pg {
namespace {

struct Rule {
  std::string_view prefix;  // a class of two characters or a whole SQLSTATE
  Code code;
};

// The first rule that fits decides, so codes come before their class.
constexpr Rule kRules[] = {
    {"08", Code::kDatabaseUnavailable},     // connection exceptions
    {"25006", Code::kDatabaseUnavailable},  // read-only: a standby, or a primary just demoted
    {"40001", Code::kDatabaseRetry},        // serialization failure
    {"40P01", Code::kDatabaseRetry},        // deadlock
    {"55P03", Code::kDatabaseRetry},        // lock_timeout, or NOWAIT
    {"26000", Code::kDatabaseRetry},        // our prepared statement is gone; we prepare it again
    {"53", Code::kDatabaseUnavailable},     // disk, memory, locks, connections used up
    {"57014", Code::kStatementTimeout},     // statement_timeout, or a person cancelled it
    {"57P", Code::kDatabaseUnavailable},    // shutting down, crashed, starting up, dropped
    {"58", Code::kDatabaseUnavailable},     // the operating system or a file failed
};

constexpr std::string_view kForAPerson[] = {
    "28",     // wrong password, no such role, no entry in pg_hba.conf
    "3D000",  // no such database
    "42501",  // no permission to connect
    "0A000",  // a protocol or feature this server does not have
    "22023",  // a setting of ours has a value this server does not take
    "42704",  // a setting of ours is unknown to this server
    "55000",  // the database takes no connections
};

}  // namespace

Code CodeOf(std::string_view sqlstate) {
  if (sqlstate.empty()) return Code::kDatabaseUnavailable;
  if (const auto ours = CodeOfSqlState(sqlstate)) return *ours;
  for (const Rule& rule : kRules) {
    if (sqlstate.starts_with(rule.prefix)) return rule.code;
  }
  return Code::kDatabaseRefused;
}

bool NeedsAPerson(std::string_view sqlstate) {
  for (const std::string_view prefix : kForAPerson) {
    if (sqlstate.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace queen::pg
