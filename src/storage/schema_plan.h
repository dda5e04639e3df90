// What a database has, what it lacks, and whether this binary may work with it at all.
//
// The version tables: queen.schema_migrations has a row for each applied migration,
// queen.schema_procedures one for each installed procedure file with the objects it defined (so
// that an overload that a newer file no longer defines can be dropped) and the release it came
// with.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "pg/blocking_connection.h"
#include "storage/schema.h"

namespace queen::storage {

struct AppliedMigration {
  int version = 0;
  std::string name;
  std::string checksum;
  bool breaking = false;
};

struct InstalledProcedure {
  std::string name;
  std::string checksum;
  int release = 0;
  std::vector<std::string> objects;  // "routine queen.f(integer,text)", "view queen.messages"
  bool incomplete = false;           // one of them is gone: a migration dropped it, or a person
};

struct SchemaState {
  bool has_schema = false;                   // the schema "queen"
  bool has_version_tables = false;           // our tables in it
  bool has_other_objects = false;            // anything in it, when our tables are not
  std::vector<AppliedMigration> migrations;  // by version
  std::vector<InstalledProcedure> procedures;
};

// Reads the state in one snapshot. REQUIRES: no open transaction; search_path is pg_catalog, which
// decides how objects are written
Result<SchemaState> ReadSchemaState(pg::BlockingConnection& connection);

// Points into the Schema it was made from.
struct SchemaPlan {
  bool create_schema = false;
  bool create_version_tables = false;
  std::vector<const Migration*> migrations;
  // Unless `update_procedures`, the procedures are as they should be, or newer than ours.
  bool update_procedures = false;
  std::vector<const Procedure*> changed_procedures;
  std::vector<std::string> removed_procedures;  // names of files that we no longer have
  std::vector<std::string> replaced_objects;    // of changed and removed files, as installed
  std::vector<std::string> installed_objects;   // of all files

  int release_found = 0;            // of the procedures in the database
  std::vector<int> newer_versions;  // migrations that we do not know and can live with

  bool empty() const { return !create_version_tables && migrations.empty() && !update_procedures; }
};

// Refuses (kConflict) a schema that is not ours, a gap, and an applied migration that differs from
// the one we have; and (kSchemaTooNew) a breaking migration that we do not know.
Result<SchemaPlan> MakePlan(const Schema& schema, const SchemaState& state);

}  // namespace queen::storage
