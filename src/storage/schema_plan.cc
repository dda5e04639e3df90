#include "storage/schema_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace queen::storage {
namespace {

std::vector<std::string> SplitLines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Status ReadObjects(pg::BlockingConnection& connection, SchemaState& state) {
  const auto rows = connection.Exec(
      "SELECT to_regnamespace('queen') IS NOT NULL,"
      " EXISTS (SELECT FROM pg_class"
      "   WHERE relnamespace = to_regnamespace('queen') AND relname = 'schema_migrations'),"
      " EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('queen'))"
      " OR EXISTS (SELECT FROM pg_proc WHERE pronamespace = to_regnamespace('queen'))");
  if (!rows.ok()) return rows.status();
  state.has_schema = rows->Bool(0, 0);
  state.has_version_tables = rows->Bool(0, 1);
  state.has_other_objects = !state.has_version_tables && rows->Bool(0, 2);
  return Status::Ok();
}

Status ReadVersions(pg::BlockingConnection& connection, SchemaState& state) {
  const auto migrations = connection.Exec(
      "SELECT version, name, checksum, breaking FROM queen.schema_migrations ORDER BY version");
  if (!migrations.ok()) return migrations.status();
  for (int row = 0; row < migrations->size(); ++row) {
    state.migrations.push_back({static_cast<int>(migrations->Int(row, 0)),
                                std::string(migrations->Text(row, 1)),
                                std::string(migrations->Text(row, 2)), migrations->Bool(row, 3)});
  }
  const auto procedures = connection.Exec(
      "SELECT name, checksum, release, array_to_string(objects, E'\\n'), NOT objects <@ ARRAY("
      "   SELECT 'routine ' || oid::regprocedure FROM pg_proc"
      "   WHERE pronamespace = 'queen'::regnamespace"
      "   UNION ALL SELECT 'view ' || oid::regclass FROM pg_class"
      "   WHERE relnamespace = 'queen'::regnamespace AND relkind = 'v')"
      " FROM queen.schema_procedures ORDER BY name");
  if (!procedures.ok()) return procedures.status();
  for (int row = 0; row < procedures->size(); ++row) {
    state.procedures.push_back({std::string(procedures->Text(row, 0)),
                                std::string(procedures->Text(row, 1)),
                                static_cast<int>(procedures->Int(row, 2)),
                                SplitLines(procedures->Text(row, 3)), procedures->Bool(row, 4)});
  }
  return Status::Ok();
}

Status PlanMigrations(const Schema& schema, const SchemaState& state, SchemaPlan& plan) {
  std::vector<std::string> breaking;
  for (size_t i = 0; i < state.migrations.size(); ++i) {
    const AppliedMigration& applied = state.migrations[i];
    if (applied.version != static_cast<int>(i) + 1) {
      return Status(Code::kConflict, fmt::format("the database has migration {} ({}) but not {}: "
                                                 "queen.schema_migrations has been tampered with",
                                                 applied.version, applied.name, i + 1));
    }
    if (applied.version > schema.version()) {
      plan.newer_versions.push_back(applied.version);
      if (applied.breaking) breaking.push_back(applied.name);
    } else if (const Migration& ours = schema.migrations[i]; ours.checksum != applied.checksum) {
      return Status(
          Code::kConflict,
          fmt::format("migration {} was applied to the database as {} with checksum {}, "
                      "but this binary has {} with checksum {}; an applied migration "
                      "must never change",
                      applied.version, applied.name, applied.checksum, ours.name, ours.checksum));
    }
  }
  if (!breaking.empty()) {
    return Status(
        Code::kSchemaTooNew,
        fmt::format("the database is at schema version {} and this binary knows {}; it "
                    "cannot work with {}: start a newer version of the broker",
                    state.migrations.back().version, schema.version(), fmt::join(breaking, ", ")));
  }
  for (size_t i = state.migrations.size(); i < schema.migrations.size(); ++i) {
    plan.migrations.push_back(&schema.migrations[i]);
  }
  return Status::Ok();
}

void PlanProcedures(const Schema& schema, const SchemaState& state, SchemaPlan& plan) {
  for (const InstalledProcedure& installed : state.procedures) {
    plan.release_found = std::max(plan.release_found, installed.release);
  }
  if (plan.release_found > schema.procedures_release) return;

  const auto append = [](std::vector<std::string>& to, const InstalledProcedure& installed) {
    to.insert(to.end(), installed.objects.begin(), installed.objects.end());
  };
  for (const Procedure& ours : schema.procedures) {
    const auto found = std::ranges::find(state.procedures, ours.name, &InstalledProcedure::name);
    if (found != state.procedures.end()) {
      if (found->checksum == ours.checksum && !found->incomplete) continue;
      append(plan.replaced_objects, *found);
    }
    plan.changed_procedures.push_back(&ours);
  }
  for (const InstalledProcedure& installed : state.procedures) {
    append(plan.installed_objects, installed);
    if (std::ranges::find(schema.procedures, installed.name, &Procedure::name) !=
        schema.procedures.end()) {
      continue;
    }
    append(plan.replaced_objects, installed);
    plan.removed_procedures.push_back(installed.name);
  }
  plan.update_procedures =
      !plan.changed_procedures.empty() || !plan.removed_procedures.empty() ||
      (!state.procedures.empty() && plan.release_found < schema.procedures_release);
}

}  // namespace

Result<SchemaState> ReadSchemaState(pg::BlockingConnection& connection) {
  const auto begun = connection.Exec("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  if (!begun.ok()) return begun.status();
  SchemaState state;
  Status status = ReadObjects(connection, state);
  if (status.ok() && state.has_version_tables) status = ReadVersions(connection, state);
  const auto ended = connection.Exec("ROLLBACK");
  if (!status.ok()) return status;
  if (!ended.ok()) return ended.status();
  return state;
}

Result<SchemaPlan> MakePlan(const Schema& schema, const SchemaState& state) {
  if (state.has_other_objects) {
    return Status(Code::kConflict,
                  "the database has a schema \"queen\" that is not this broker's: it holds objects "
                  "but no table schema_migrations; use another database");
  }
  SchemaPlan plan;
  plan.create_schema = !state.has_schema;
  plan.create_version_tables = !state.has_version_tables;
  QUEEN_RETURN_IF_ERROR(PlanMigrations(schema, state, plan));
  PlanProcedures(schema, state, plan);
  return plan;
}

}  // namespace queen::storage
