#include "storage/migrator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "base/clock.h"
#include "base/log.h"
#include "storage/schema_plan.h"
#include "storage/schema_sql.h"

namespace queen::storage {
namespace {

constexpr int kOldestServer = 140'000;
constexpr auto kPollInterval = std::chrono::milliseconds(100);
constexpr int64_t kWaitingLogMs = 10'000;

// The line of a position that counts characters from 1.
int LineOf(std::string_view sql, int position) {
  int line = 1;
  int characters = 0;
  for (const char c : sql) {
    const bool continues = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    if (!continues && ++characters >= position) break;
    if (c == '\n') ++line;
  }
  return line;
}

class Migrator {
 public:
  Migrator(pg::BlockingConnection& connection, const Schema& schema, const MigrateOptions& options)
      : connection_(connection),
        schema_(schema),
        options_(options),
        deadline_ms_(SteadyMillis() + options.wait_ms_max) {}

  Result<MigrateReport> Run() {
    QUEEN_RETURN_IF_ERROR(CheckServer());
    Result<SchemaPlan> plan = ReadPlan();
    if (!plan.ok()) return plan.status();
    if (!plan->empty()) {
      QUEEN_RETURN_IF_ERROR(Lock());
      const Status status = RunLocked();
      // When this fails the connection is gone, and the lock with it.
      const auto unlocked = connection_.Exec(UnlockSql());
      if (!unlocked.ok() && status.ok()) return unlocked.status();
      QUEEN_RETURN_IF_ERROR(status);
    } else {
      Summarize(*plan);
    }
    return std::move(report_);
  }

  Result<std::string> Pending() {
    QUEEN_RETURN_IF_ERROR(CheckServer());
    const Result<SchemaPlan> plan = ReadPlan();
    if (!plan.ok()) return plan.status();
    return ScriptSql(schema_, *plan, options_.applied_by, options_.lock_timeout_ms);
  }

 private:
  Status CheckServer() {
    if (connection_.server_version() < kOldestServer) {
      return Status(Code::kDatabaseRefused,
                    fmt::format("PostgreSQL {} is too old; 14 or later is needed",
                                connection_.server_version() / 10'000));
    }
    if (connection_.server_encoding() != "UTF8") {
      return Status(Code::kDatabaseRefused,
                    fmt::format("the encoding of the database is {}; UTF8 is needed",
                                connection_.server_encoding()));
    }
    const auto set = connection_.Exec(SessionSql(options_.lock_timeout_ms));
    if (!set.ok()) return set.status();
    const auto read_only = connection_.Exec(
        "SELECT current_setting('transaction_read_only')::boolean, pg_is_in_recovery()");
    if (!read_only.ok()) return read_only.status();
    if (!read_only->Bool(0, 0)) return Status::Ok();
    return Status(Code::kDatabaseRefused,
                  read_only->Bool(0, 1)
                      ? "the server is a read-only standby; the broker needs the primary"
                      : "the database is read-only (default_transaction_read_only is on)");
  }

  Result<SchemaPlan> ReadPlan() {
    const Result<SchemaState> state = ReadSchemaState(connection_);
    if (!state.ok()) return Explain("reading the version of the schema failed", "");
    return MakePlan(schema_, *state);
  }

  // Polls instead of waiting in the server: a waiting statement would hold a snapshot all the time.
  Status Lock() {
    int64_t next_log_ms = 0;
    while (true) {
      const auto locked = connection_.Exec(TryLockSql());
      if (!locked.ok()) return locked.status();
      if (locked->Bool(0, 0)) return Status::Ok();
      const int64_t now = SteadyMillis();
      if (now >= deadline_ms_) {
        return Status(Code::kDatabaseRetry, fmt::format("another broker's migration has not ended "
                                                        "within {} ms",
                                                        options_.wait_ms_max));
      }
      if (now >= next_log_ms) {
        log::Info("waiting for another broker's migration");
        next_log_ms = now + kWaitingLogMs;
      }
      std::this_thread::sleep_for(kPollInterval);
    }
  }

  // REQUIRES: the lock is held
  Status RunLocked() {
    // Another broker may have done it all while we waited.
    Result<SchemaPlan> plan = ReadPlan();
    if (!plan.ok()) return plan.status();
    if (plan->create_version_tables) {
      QUEEN_RETURN_IF_ERROR(InTransaction("creating the schema \"queen\"", [&] {
        return Step("creating the schema \"queen\" failed", CreateSchemaSql(*plan));
      }));
    }
    for (const Migration* migration : plan->migrations) {
      QUEEN_RETURN_IF_ERROR(Apply(*migration));
    }
    // A migration may have dropped a view that stood in its way; its file brings it back.
    plan = ReadPlan();
    if (!plan.ok()) return plan.status();
    if (plan->update_procedures) QUEEN_RETURN_IF_ERROR(UpdateProcedures(*plan));
    Summarize(*plan);
    return Status::Ok();
  }

  Status Apply(const Migration& migration) {
    const int64_t start_ms = SteadyMillis();
    QUEEN_RETURN_IF_ERROR(InTransaction(migration.name, [&] { return RunFile(migration); }));
    log::Debug("applied a migration",
               {{"file", migration.name}, {"took_ms", SteadyMillis() - start_ms}});
    report_.migrations.push_back(migration.name);
    return Status::Ok();
  }

  Status RunFile(const Migration& migration) {
    const std::string what = fmt::format("migration {} failed", migration.name);
    QUEEN_RETURN_IF_ERROR(Step(what, migration.sql));
    if (!connection_.in_transaction()) {
      return Status(Code::kInternal, what + ": the file ends its own transaction");
    }
    return Step(what, RecordMigrationSql(migration, options_.applied_by));
  }

  Status UpdateProcedures(const SchemaPlan& plan) {
    Status status = InTransaction("procedures", [&] { return ReplaceChanged(plan); });
    if (!status.ok() && CannotBeReplaced(connection_.last_error().sqlstate)) {
      status = InTransaction("procedures", [&] { return ReplaceAll(plan); });
    }
    QUEEN_RETURN_IF_ERROR(status);
    for (const Procedure* procedure : plan.changed_procedures) {
      report_.procedures.push_back(procedure->name);
    }
    log::Debug("installed procedures", {{"files", report_.procedures.size()},
                                        {"release", schema_.procedures_release},
                                        {"dropped", report_.dropped.size()}});
    return Status::Ok();
  }

  // A changed result or parameter name, another kind of routine, changed columns of a view, or
  // something that depends on what is to be dropped.
  static bool CannotBeReplaced(std::string_view sqlstate) {
    return sqlstate == "42P13" || sqlstate == "42809" || sqlstate == "42P16" || sqlstate == "2BP01";
  }

  Status ReplaceChanged(const SchemaPlan& plan) {
    for (const Procedure* procedure : plan.changed_procedures) {
      QUEEN_RETURN_IF_ERROR(Install(*procedure));
    }
    return FinishProcedures(plan, plan.replaced_objects);
  }

  Status ReplaceAll(const SchemaPlan& plan) {
    // Views before the routines that they may use.
    std::vector<std::string> objects = plan.installed_objects;
    std::ranges::sort(objects, std::greater());
    for (const std::string& object : objects) QUEEN_RETURN_IF_ERROR(Drop(object));
    for (const Procedure& procedure : schema_.procedures) {
      QUEEN_RETURN_IF_ERROR(Install(procedure));
    }
    return FinishProcedures(plan, plan.installed_objects);
  }

  Status Install(const Procedure& procedure) {
    const std::string what = fmt::format("procedure file {} failed", procedure.name);
    QUEEN_RETURN_IF_ERROR(Step(what, procedure.sql));
    if (!connection_.in_transaction()) {
      return Status(Code::kInternal, what + ": the file ends the transaction");
    }
    return Step(what,
                RecordProcedureSql(procedure, schema_.procedures_release, options_.applied_by));
  }

  Status FinishProcedures(const SchemaPlan& plan, const std::vector<std::string>& objects_before) {
    constexpr std::string_view kWhat = "recording the procedures failed";
    QUEEN_RETURN_IF_ERROR(
        Step(std::string(kWhat), FinishProceduresSql(plan, schema_.procedures_release)));
    const auto orphans = connection_.Exec(OrphanedObjectsSql(objects_before));
    if (!orphans.ok()) return Explain(std::string(kWhat), "");
    report_.dropped.clear();
    for (int row = 0; row < orphans->size(); ++row) {
      report_.dropped.emplace_back(orphans->Text(row, 0));
      QUEEN_RETURN_IF_ERROR(Drop(report_.dropped.back()));
    }
    return Status::Ok();
  }

  Status Drop(const std::string& object) {
    return Step(fmt::format("dropping {} failed", object), DropObjectSql(object));
  }

  // Runs `body` in a transaction, again and again while tables it needs are locked by others.
  template <typename Body>
  Status InTransaction(std::string_view what, Body body) {
    while (true) {
      const auto begun = connection_.Exec("BEGIN");
      if (!begun.ok()) return begun.status();
      Status status = body();
      if (status.ok()) status = Step(fmt::format("committing {} failed", what), "COMMIT");
      if (status.ok()) return status;
      if (connection_.in_transaction()) {
        const auto rolled_back = connection_.Exec("ROLLBACK");
        if (!rolled_back.ok()) return rolled_back.status();
      }
      if (status.code() != Code::kDatabaseRetry || SteadyMillis() >= deadline_ms_) return status;
      log::Info("waiting for locks that others hold", {{"for", what}});
    }
  }

  Status Step(const std::string& what, const std::string& sql) {
    const auto done = connection_.Exec(sql);
    return done.ok() ? Status::Ok() : Explain(what, sql);
  }

  // The Status for the statement that failed last, which was `sql`.
  Status Explain(const std::string& what, std::string_view sql) const {
    const pg::SqlError& error = connection_.last_error();
    if (!connection_.connected()) return Status(Code::kDatabaseUnavailable, error.message);
    std::string text = what + ": ";
    if (error.position > 0 && !sql.empty()) {
      text += fmt::format("line {}: ", LineOf(sql, error.position));
    }
    text += fmt::format("{} (SQLSTATE {})", error.message, error.sqlstate);
    if (!error.detail.empty()) text += "; " + error.detail;
    if (!error.hint.empty()) text += "; hint: " + error.hint;
    if (!error.context.empty()) text += "; in: " + error.context;
    if (error.sqlstate == "42501") {
      text +=
          "; the role of the broker lacks a privilege: let the owner of the database run `queen "
          "migrate`, or grant CREATE on the database";
    }
    return Status(error.sqlstate == "55P03" || error.sqlstate == "40P01" ? Code::kDatabaseRetry
                                                                         : Code::kDatabaseRefused,
                  std::move(text));
  }

  void Summarize(const SchemaPlan& plan) {
    report_.newer_versions = plan.newer_versions;
    report_.schema_version =
        plan.newer_versions.empty() ? schema_.version() : plan.newer_versions.back();
    report_.procedures_are_newer = plan.release_found > schema_.procedures_release;
    report_.procedures_release =
        report_.procedures_are_newer ? plan.release_found : schema_.procedures_release;
    if (!plan.newer_versions.empty() || report_.procedures_are_newer) {
      log::Warn("the database was brought up to date by a newer broker",
                {{"schema_version", report_.schema_version},
                 {"schema_version_known", schema_.version()},
                 {"procedures_release", report_.procedures_release},
                 {"procedures_release_known", schema_.procedures_release}});
    }
  }

  pg::BlockingConnection& connection_;
  const Schema& schema_;
  const MigrateOptions& options_;
  const int64_t deadline_ms_;
  MigrateReport report_;
};

}  // namespace

std::string MigrateReport::ToString() const {
  std::string text;
  for (const std::string& file : migrations) text += fmt::format("applied migration {}\n", file);
  for (const std::string& file : procedures) text += fmt::format("installed {}\n", file);
  for (const std::string& object : dropped) text += fmt::format("dropped {}\n", object);
  if (!newer_versions.empty()) {
    text += fmt::format("left the newer migrations {} of the database alone\n",
                        fmt::join(newer_versions, ", "));
  }
  if (procedures_are_newer) text += "left the newer procedures of the database alone\n";
  return text + fmt::format("{}: schema version {}, procedures release {}\n",
                            changed() ? "the database is now up to date" : "nothing to do",
                            schema_version, procedures_release);
}

Result<MigrateReport> Migrate(pg::BlockingConnection& connection, const Schema& schema,
                              const MigrateOptions& options) {
  return Migrator(connection, schema, options).Run();
}

Result<std::string> ReadDatabaseId(pg::BlockingConnection& connection) {
  const auto rows = connection.Exec("SELECT id FROM queen.database_identity");
  if (!rows.ok()) {
    return Status(rows.status().code(),
                  "reading queen.database_identity failed: " + rows.status().message());
  }
  if (rows->size() != 1) {
    return Status(Code::kDatabaseRefused, "queen.database_identity must have one row");
  }
  return std::string(rows->Text(0, 0));
}

Result<std::string> PendingSql(pg::BlockingConnection& connection, const Schema& schema,
                               const MigrateOptions& options) {
  return Migrator(connection, schema, options).Pending();
}

std::string AllSql(const Schema& schema, const MigrateOptions& options) {
  // A plan for nothing cannot be refused.
  const Result<SchemaPlan> plan = MakePlan(schema, SchemaState{});
  return ScriptSql(schema, *plan, options.applied_by, options.lock_timeout_ms);
}

}  // namespace queen::storage
