// Brings a database to the schema of this binary, at the start of the broker and in `queen
// migrate`.
//
// 1. What is missing is decided from one snapshot; when nothing is, nothing is written and no lock
//    is taken, so a role that may only use the schema is enough.
// 2. Otherwise one broker at a time works, under a session advisory lock taken before anything is
//    created; the others wait for it and then find that nothing is missing.
// 3. Each migration is a transaction of its own together with its row in queen.schema_migrations: a
//    failing one leaves those before it applied.
// 4. All changed procedure files are one transaction. A release in the database that is higher than
//    ours means a newer broker was here: then its procedures stay.
// 5. Routines and views that a file defined before and does not define any more (a changed argument
//    list, a removed file) are dropped. Where one cannot be replaced in place, because its result,
//    columns or parameter names changed or because others depend on it, all that the files defined
//    is dropped and created anew. Only what is recorded as ours is ever dropped.
//
// Files run with search_path = pg_catalog, so every name in them has to say its schema.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "pg/blocking_connection.h"
#include "storage/schema.h"

namespace queen::storage {

struct MigrateOptions {
  std::string applied_by = "queen";  // kept in the version tables, such as "queen 0.1.0"
  int wait_ms_max = 300'000;         // for another broker's migration, and for locks on tables
  int lock_timeout_ms = 5'000;       // of one attempt to lock a table that is in use
};

struct MigrateReport {
  std::vector<std::string> migrations;  // files applied now
  std::vector<std::string> procedures;  // files installed now
  std::vector<std::string> dropped;     // "routine queen.old(integer)"
  std::vector<int> newer_versions;      // in the database, unknown to us, not breaking
  int schema_version = 0;               // of the database, after
  int procedures_release = 0;           // of the database, after
  bool procedures_are_newer = false;    // and were left alone

  bool changed() const { return !migrations.empty() || !procedures.empty() || !dropped.empty(); }
  // For people, one line per thing done and one for the outcome.
  std::string ToString() const;
};

// Changes settings of the session, so the connection is good for nothing else afterwards.
// Codes: kDatabaseUnavailable and kDatabaseRetry may pass, the others need a person.
Result<MigrateReport> Migrate(pg::BlockingConnection& connection, const Schema& schema,
                              const MigrateOptions& options);

// Who the database is (queen.database_identity): the same for every copy of it, whatever its
// address. REQUIRES: Migrate was ok on this connection
Result<std::string> ReadDatabaseId(pg::BlockingConnection& connection);

// The SQL that Migrate would run, for psql; "" when nothing is missing. What rule 5 needs when
// something cannot be replaced in place only shows when it is tried, and is not in it.
Result<std::string> PendingSql(pg::BlockingConnection& connection, const Schema& schema,
                               const MigrateOptions& options);

// The same for a database that has nothing yet.
std::string AllSql(const Schema& schema, const MigrateOptions& options);

}  // namespace queen::storage
