#include "storage/schema_sql.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace queen::storage {
namespace {

// "QueenMig" in ASCII.
constexpr int64_t kLockKey = 0x517565656e4d6967;

std::string Literal(std::string_view text) { return pg::BlockingConnection::Literal(text); }

std::string TextArray(const std::vector<std::string>& texts) {
  std::vector<std::string> literals;
  literals.reserve(texts.size());
  for (const std::string& text : texts) literals.push_back(Literal(text));
  return fmt::format("ARRAY[{}]::text[]", fmt::join(literals, ", "));
}

// Ends the last statement, since another one follows.
void AppendFile(std::string& script, std::string_view name, std::string_view sql) {
  const size_t last = sql.find_last_not_of(" \t\r\n");
  const bool ended = last == std::string_view::npos || sql[last] == ';';
  script += fmt::format("-- file: {}\n{}{}{}", name, sql, sql.ends_with('\n') ? "" : "\n",
                        ended ? "" : ";\n");
}

}  // namespace

std::string TryLockSql() { return fmt::format("SELECT pg_try_advisory_lock({})", kLockKey); }
std::string LockSql() { return fmt::format("SELECT pg_advisory_lock({})", kLockKey); }
std::string UnlockSql() { return fmt::format("SELECT pg_advisory_unlock({})", kLockKey); }

std::string SessionSql(int lock_timeout_ms) {
  return fmt::format(
      "SET search_path = pg_catalog;\n"
      "SET default_transaction_isolation = 'read committed';\n"
      "SET synchronous_commit = on;\n"
      "SET standard_conforming_strings = on;\n"
      "SET check_function_bodies = on;\n"
      "SET client_min_messages = warning;\n"
      "SET statement_timeout = 0;\n"
      "SET idle_in_transaction_session_timeout = 0;\n"
      "SET lock_timeout = '{}ms'",
      lock_timeout_ms);
}

std::string CreateSchemaSql(const SchemaPlan& plan) {
  std::string sql = plan.create_schema ? "CREATE SCHEMA queen;\n" : "";
  return sql +
         "CREATE TABLE queen.schema_migrations (\n"
         "  version int PRIMARY KEY,\n"
         "  name text NOT NULL,\n"
         "  checksum text NOT NULL,\n"
         "  breaking boolean NOT NULL,\n"
         "  applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),\n"
         "  applied_by text NOT NULL);\n"
         "CREATE TABLE queen.schema_procedures (\n"
         "  name text PRIMARY KEY,\n"
         "  checksum text NOT NULL,\n"
         "  release int NOT NULL,\n"
         "  objects text[] NOT NULL,\n"
         "  installed_at timestamptz NOT NULL DEFAULT clock_timestamp(),\n"
         "  installed_by text NOT NULL)";
}

std::string RecordMigrationSql(const Migration& migration, std::string_view applied_by) {
  return fmt::format(
      "INSERT INTO queen.schema_migrations (version, name, checksum, breaking, applied_by)\n"
      "VALUES ({}, {}, {}, {}, {})",
      migration.version, Literal(migration.name), Literal(migration.checksum), migration.breaking,
      Literal(applied_by));
}

std::string RecordProcedureSql(const Procedure& procedure, int release,
                               std::string_view installed_by) {
  return fmt::format(
      "INSERT INTO queen.schema_procedures AS s (name, checksum, release, objects, installed_by)\n"
      "SELECT {}, {}, {}, coalesce(array_agg(o ORDER BY o), '{{}}'), {}\n"
      "FROM ((SELECT 'routine ' || oid::regprocedure AS o FROM pg_proc\n"
      "       WHERE pronamespace = 'queen'::regnamespace AND xmin = pg_current_xact_id()::xid\n"
      "       UNION ALL\n"
      "       SELECT 'view ' || c.oid::regclass FROM pg_class c\n"
      "       JOIN pg_rewrite w ON w.ev_class = c.oid AND w.xmin = pg_current_xact_id()::xid\n"
      "       WHERE c.relnamespace = 'queen'::regnamespace AND c.relkind = 'v')\n"
      "      EXCEPT SELECT unnest(objects) FROM queen.schema_procedures\n"
      "      WHERE xmin = pg_current_xact_id()::xid) written\n"
      "ON CONFLICT (name) DO UPDATE SET checksum = excluded.checksum, release = excluded.release,\n"
      "  objects = excluded.objects, installed_by = excluded.installed_by,\n"
      "  installed_at = clock_timestamp()",
      Literal(procedure.name), Literal(procedure.checksum), release, Literal(installed_by));
}

std::string FinishProceduresSql(const SchemaPlan& plan, int release) {
  return fmt::format(
      "DELETE FROM queen.schema_procedures WHERE name = ANY ({});\n"
      "UPDATE queen.schema_procedures SET release = {} WHERE release <> {}",
      TextArray(plan.removed_procedures), release, release);
}

std::string OrphanedObjectsSql(const std::vector<std::string>& objects) {
  return fmt::format(
      "SELECT o FROM unnest({}) o\n"
      "WHERE o NOT IN (SELECT unnest(objects) FROM queen.schema_procedures) ORDER BY o DESC",
      TextArray(objects));
}

std::string DropObjectSql(std::string_view object) {
  // The texts of regprocedure and regclass are quoted where they need to be.
  const size_t space = object.find(' ');
  return fmt::format("DROP {} IF EXISTS {}", object.substr(0, space), object.substr(space + 1));
}

std::string ScriptSql(const Schema& schema, const SchemaPlan& plan, std::string_view applied_by,
                      int lock_timeout_ms) {
  if (plan.empty()) return "";
  std::string script =
      fmt::format("-- For psql -v ON_ERROR_STOP=1; only one session at a time.\n{};\n{};\n",
                  SessionSql(lock_timeout_ms), LockSql());
  if (plan.create_version_tables) {
    script += fmt::format("\nBEGIN;\n{};\nCOMMIT;\n", CreateSchemaSql(plan));
  }
  for (const Migration* migration : plan.migrations) {
    script += "\nBEGIN;\n";
    AppendFile(script, "migrations/" + migration->name, migration->sql);
    script += fmt::format("{};\nCOMMIT;\n", RecordMigrationSql(*migration, applied_by));
  }
  if (plan.update_procedures) {
    script += "\nBEGIN;\n";
    for (const Procedure* procedure : plan.changed_procedures) {
      AppendFile(script, "procedures/" + procedure->name, procedure->sql);
      script += fmt::format("{};\n",
                            RecordProcedureSql(*procedure, schema.procedures_release, applied_by));
    }
    script += fmt::format(
        "{};\n"
        "DO $drop$\n"
        "DECLARE object text;\n"
        "BEGIN\n"
        "  FOR object IN {} LOOP\n"
        "    EXECUTE 'DROP ' || regexp_replace(object, ' ', ' IF EXISTS ');\n"
        "  END LOOP;\n"
        "END $drop$;\n"
        "COMMIT;\n",
        FinishProceduresSql(plan, schema.procedures_release),
        OrphanedObjectsSql(plan.replaced_objects));
  }
  return script + fmt::format("\n{};\n", UnlockSql());
}

}  // namespace queen::storage
