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
    {"QN013", Code::kDatabaseUnavailable},  // ours: the connection leads to another database
};

struct PersonRule {
  std::string_view prefix;
  Refusal refusal;
};

constexpr Refusal kUnknownRefusal = {"PostgreSQL refuses the broker's connections",
                                     "the reason that PostgreSQL gives"};

// The first rule that fits decides.
constexpr PersonRule kForAPerson[] = {
    {"28P01",
     {"PostgreSQL refuses the password of the broker's role",
      "the password in DATABASE_URL, PG_PASSWORD or the file that PGPASSFILE names"}},
    {"28",
     {"PostgreSQL does not let the broker's role in",
      "that the role of DATABASE_URL or PG_USER exists, and pg_hba.conf of the server"}},
    {"3D000", {"the broker's database does not exist", "the database in DATABASE_URL or PG_DB"}},
    {"42501",
     {"the broker's role may not connect to its database",
      "GRANT CONNECT ON DATABASE for the role of DATABASE_URL or PG_USER"}},
    {"0A000", kUnknownRefusal},  // a protocol or feature this server does not have
    {"22023", kUnknownRefusal},  // a setting of ours has a value this server does not take
    {"42704", kUnknownRefusal},  // a setting of ours is unknown to this server
    {"55000", kUnknownRefusal},  // the database takes no connections
};

const PersonRule* FindPersonRule(std::string_view sqlstate) {
  for (const PersonRule& rule : kForAPerson) {
    if (sqlstate.starts_with(rule.prefix)) return &rule;
  }
  return nullptr;
}

}  // namespace

Code CodeOf(std::string_view sqlstate) {
  if (sqlstate.empty()) return Code::kDatabaseUnavailable;
  if (const auto ours = CodeOfSqlState(sqlstate)) return *ours;
  for (const Rule& rule : kRules) {
    if (sqlstate.starts_with(rule.prefix)) return rule.code;
  }
  return Code::kDatabaseRefused;
}

bool NeedsAPerson(std::string_view sqlstate) { return FindPersonRule(sqlstate) != nullptr; }

Refusal RefusalOf(std::string_view sqlstate) {
  const PersonRule* rule = FindPersonRule(sqlstate);
  return rule == nullptr ? kUnknownRefusal : rule->refusal;
}

}  // namespace queen::pg
