// The statements around the files of a schema: version tables, the rows that record a file, the
// clean-up of
// routines and views. The migrator runs them; `queen migrate --print` prints the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "storage/schema_plan.h"

namespace queen::storage {

// Session advisory lock of the migration; partitions lock in the two-integer form, elsewhere.
std::string TryLockSql();
std::string LockSql();
std::string UnlockSql();

// Settings that make a file mean the same whatever the server's defaults are.
std::string SessionSql(int lock_timeout_ms);

std::string CreateSchemaSql(const SchemaPlan& plan);

std::string RecordMigrationSql(const Migration& migration, std::string_view applied_by);

// Records the routines and views that this transaction wrote and no other file of it recorded.
// REQUIRES: run directly after the file, with no savepoint in between
std::string RecordProcedureSql(const Procedure& procedure, int release,
                               std::string_view installed_by);

// Forgets removed files and gives the rest the new release.
std::string FinishProceduresSql(const SchemaPlan& plan, int release);

// A query for those of the objects that no file defines any more, views before the routines that
// they may use.
std::string OrphanedObjectsSql(const std::vector<std::string>& objects);
// `object` as the version table has it, such as "view queen.messages".
std::string DropObjectSql(std::string_view object);

// A whole script for psql.
std::string ScriptSql(const Schema& schema, const SchemaPlan& plan, std::string_view applied_by,
                      int lock_timeout_ms);

}  // namespace queen::storage
