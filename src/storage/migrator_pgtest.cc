#include "storage/migrator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

namespace queen::storage {
namespace {

constexpr std::string_view kTable = "CREATE TABLE queen.t (a int);\n";
constexpr std::string_view kAddColumn = "ALTER TABLE queen.t ADD COLUMN b int;\n";
constexpr std::string_view kOne =
    "CREATE OR REPLACE FUNCTION queen.f() RETURNS int LANGUAGE sql AS 'SELECT 1';\n";
constexpr std::string_view kTwo =
    "CREATE OR REPLACE FUNCTION queen.f() RETURNS int LANGUAGE sql AS 'SELECT 2';\n";

Schema MustMake(std::vector<EmbeddedFile> files) {
  Result<Schema> schema = MakeSchema(files);
  EXPECT_TRUE(schema.ok()) << schema.status().ToString();
  return *std::move(schema);
}

Schema BaseSchema() {
  return MustMake({{"migrations/0001_table.sql", kTable},
                   {"procedures/f.sql", kOne},
                   {"procedures/RELEASE", "release 3\n"}});
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A database of its own for each test.
class MigratorTest : public testing::Test {
 protected:
  void SetUp() override {
    Recreate("TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'");
  }

  void Recreate(const std::string& options) {
    auto admin = pg::BlockingConnection::Connect(server_, 5'000);
    ASSERT_TRUE(admin.ok()) << admin.status().ToString();
    ASSERT_TRUE(admin->Exec("DROP DATABASE IF EXISTS migrator WITH (FORCE)").ok());
    const auto created = admin->Exec("CREATE DATABASE migrator " + options);
    ASSERT_TRUE(created.ok()) << created.status().ToString();
  }

  pg::BlockingConnection Connect(const std::string& user = "queen") {
    auto connection = pg::BlockingConnection::Connect(
        "host=" + Variable("QUEEN_TEST_POSTGRES_DIR") + " dbname=migrator user=" + user, 5'000);
    EXPECT_TRUE(connection.ok()) << connection.status().ToString();
    return *std::move(connection);
  }

  MigrateReport MustMigrate(const Schema& schema) {
    pg::BlockingConnection connection = Connect();
    Result<MigrateReport> report = Migrate(connection, schema, {});
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    return report.ok() ? *std::move(report) : MigrateReport{};
  }

  Status MigrateFails(const Schema& schema, const std::string& user = "queen",
                      const MigrateOptions& options = {}) {
    pg::BlockingConnection connection = Connect(user);
    const Result<MigrateReport> report = Migrate(connection, schema, options);
    EXPECT_FALSE(report.ok());
    EXPECT_FALSE(connection.in_transaction());
    return report.status();
  }

  // The first value of the query, or the error.
  std::string Ask(const std::string& sql) {
    pg::BlockingConnection connection = Connect();
    const auto rows = connection.Exec(sql);
    if (!rows.ok()) return rows.status().message();
    return rows->size() == 0 ? "no rows" : std::string(rows->Text(0, 0));
  }

  const std::string server_ = Variable("QUEEN_TEST_DATABASE_URL");
};

using Names = std::vector<std::string>;

TEST_F(MigratorTest, AnEmptyDatabaseGetsEverythingOnce) {
  const Schema schema = BaseSchema();
  const MigrateReport first = MustMigrate(schema);
  EXPECT_EQ(first.migrations, Names{"0001_table.sql"});
  EXPECT_EQ(first.procedures, Names{"f.sql"});
  EXPECT_EQ(first.ToString(),
            "applied migration 0001_table.sql\ninstalled f.sql\n"
            "the database is now up to date: schema version 1, procedures release 3\n");
  EXPECT_EQ(Ask("SELECT queen.f()"), "1");
  EXPECT_EQ(Ask("SELECT objects FROM queen.schema_procedures"), "{\"routine queen.f()\"}");
  EXPECT_EQ(Ask("SELECT checksum FROM queen.schema_migrations"), schema.migrations[0].checksum);

  const MigrateReport second = MustMigrate(schema);
  EXPECT_FALSE(second.changed());
  EXPECT_EQ(second.ToString(), "nothing to do: schema version 1, procedures release 3\n");
}

TEST_F(MigratorTest, TheSchemaOfTheBinaryApplies) {
  MustMigrate(EmbeddedSchema());
  EXPECT_FALSE(MustMigrate(EmbeddedSchema()).changed());
}

TEST_F(MigratorTest, ManyBrokersMayStartAtOnce) {
  const Schema schema = BaseSchema();
  constexpr int kBrokers = 8;
  std::atomic<int> applied{0};
  std::vector<std::thread> brokers;
  brokers.reserve(kBrokers);
  for (int i = 0; i < kBrokers; ++i) {
    brokers.emplace_back([&] {
      const MigrateReport report = MustMigrate(schema);
      EXPECT_EQ(report.schema_version, 1);
      applied += static_cast<int>(report.migrations.size());
    });
  }
  for (std::thread& broker : brokers) broker.join();
  EXPECT_EQ(applied, 1);
}

TEST_F(MigratorTest, ALaterBinaryAppliesOnlyWhatIsMissing) {
  MustMigrate(BaseSchema());
  const Schema later = MustMake({{"migrations/0001_table.sql", kTable},
                                 {"migrations/0002_column.sql", kAddColumn},
                                 {"procedures/f.sql", kTwo},
                                 {"procedures/RELEASE", "release 4\n"}});
  const MigrateReport report = MustMigrate(later);
  EXPECT_EQ(report.migrations, Names{"0002_column.sql"});
  EXPECT_EQ(report.procedures, Names{"f.sql"});
  EXPECT_EQ(Ask("SELECT queen.f()"), "2");

  // And the earlier one, which comes back, lives with it and overwrites nothing.
  const MigrateReport earlier = MustMigrate(BaseSchema());
  EXPECT_FALSE(earlier.changed());
  EXPECT_EQ(earlier.newer_versions, std::vector<int>{2});
  EXPECT_TRUE(earlier.procedures_are_newer);
  EXPECT_EQ(earlier.procedures_release, 4);
  EXPECT_EQ(Ask("SELECT queen.f()"), "2");
}

TEST_F(MigratorTest, ABreakingSchemaIsRefusedByEarlierBinaries) {
  MustMigrate(MustMake({{"migrations/0001_table.sql", kTable},
                        {"migrations/0002_drop.sql", "-- breaking\nDROP TABLE queen.t;\n"}}));
  const Status status = MigrateFails(BaseSchema());
  EXPECT_EQ(status.code(), Code::kSchemaTooNew);
  EXPECT_NE(status.message().find("0002_drop.sql"), std::string::npos);
}

TEST_F(MigratorTest, AChangedMigrationIsRefused) {
  MustMigrate(BaseSchema());
  const Status status = MigrateFails(MustMake({{"migrations/0001_table.sql", kAddColumn}}));
  EXPECT_EQ(status.code(), Code::kConflict);
  EXPECT_NE(status.message().find("0001_table.sql"), std::string::npos);
}

TEST_F(MigratorTest, AFailingMigrationIsNamedAndLeavesTheEarlierOnes) {
  const Schema schema =
      MustMake({{"migrations/0001_table.sql", kTable},
                {"migrations/0002_bad.sql", "-- gr\xC3\xBC\xC3\x9F\nSELECT 1;\nSELECT nothing;\n"},
                {"migrations/0003_column.sql", kAddColumn}});
  const Status status = MigrateFails(schema);
  EXPECT_EQ(status.code(), Code::kDatabaseRefused);
  EXPECT_EQ(status.message(),
            "migration 0002_bad.sql failed: line 3: column \"nothing\" does not exist (SQLSTATE "
            "42703)");
  EXPECT_EQ(Ask("SELECT max(version) FROM queen.schema_migrations"), "1");
  EXPECT_EQ(Ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), "0");
}

TEST_F(MigratorTest, AMigrationMayNotEndItsTransaction) {
  const Status status =
      MigrateFails(MustMake({{"migrations/0001_commit.sql", "CREATE TABLE queen.t (); COMMIT;"}}));
  EXPECT_EQ(status.message(),
            "migration 0001_commit.sql failed: the file ends its own transaction");
}

TEST_F(MigratorTest, AFailingProcedureChangesNothing) {
  MustMigrate(BaseSchema());
  const Status status = MigrateFails(MustMake({{"migrations/0001_table.sql", kTable},
                                               {"procedures/f.sql", kTwo},
                                               {"procedures/g.sql", "CREATE nonsense;"},
                                               {"procedures/RELEASE", "release 4\n"}}));
  EXPECT_EQ(status.message(),
            "procedure file g.sql failed: line 1: syntax error at or near \"nonsense\" (SQLSTATE "
            "42601)");
  EXPECT_EQ(Ask("SELECT queen.f()"), "1");
  EXPECT_EQ(Ask("SELECT max(release) FROM queen.schema_procedures"), "3");
}

TEST_F(MigratorTest, ARemovedFileTakesItsObjectsAlong) {
  MustMigrate(MustMake({{"procedures/f.sql", kOne},
                        {"procedures/g.sql",
                         "CREATE FUNCTION queen.g(int) RETURNS int LANGUAGE sql AS 'SELECT 1';\n"
                         "CREATE PROCEDURE queen.\"G h\"(text) LANGUAGE plpgsql AS 'BEGIN END';\n"
                         "CREATE VIEW queen.v AS SELECT queen.g(1);\n"},
                        {"procedures/RELEASE", "release 1\n"}}));
  Ask("CREATE FUNCTION queen.of_the_user() RETURNS int LANGUAGE sql AS 'SELECT 1'");
  const MigrateReport report =
      MustMigrate(MustMake({{"procedures/f.sql", kOne}, {"procedures/RELEASE", "release 2\n"}}));
  EXPECT_EQ(report.dropped,
            (Names{"view queen.v", "routine queen.g(integer)", "routine queen.\"G h\"(text)"}));
  EXPECT_EQ(Ask("SELECT string_agg(proname, ' ' ORDER BY proname) FROM pg_proc"
                " WHERE pronamespace = 'queen'::regnamespace"),
            "f of_the_user");
  EXPECT_EQ(Ask("SELECT string_agg(name || release, ' ') FROM queen.schema_procedures"), "f.sql2");
}

TEST_F(MigratorTest, AChangedArgumentListLeavesNoOldOverload) {
  MustMigrate(BaseSchema());
  const MigrateReport report =
      MustMigrate(MustMake({{"migrations/0001_table.sql", kTable},
                            {"procedures/f.sql",
                             "CREATE OR REPLACE FUNCTION queen.f(a int) RETURNS int LANGUAGE sql"
                             " AS 'SELECT a';\n"},
                            {"procedures/RELEASE", "release 4\n"}}));
  EXPECT_EQ(report.dropped, Names{"routine queen.f()"});
  EXPECT_EQ(Ask("SELECT queen.f(7)"), "7");
}

TEST_F(MigratorTest, AChangedResultReplacesTheRoutine) {
  MustMigrate(BaseSchema());
  const MigrateReport report = MustMigrate(MustMake(
      {{"migrations/0001_table.sql", kTable},
       {"procedures/f.sql",
        "CREATE OR REPLACE FUNCTION queen.f() RETURNS text LANGUAGE sql AS $$SELECT 'x'$$;\n"},
       {"procedures/RELEASE", "release 4\n"}}));
  EXPECT_EQ(report.procedures, Names{"f.sql"});
  EXPECT_EQ(report.dropped, Names{});
  EXPECT_EQ(Ask("SELECT queen.f()"), "x");
}

TEST_F(MigratorTest, WhatDependsOnAReplacedRoutineIsCreatedAnew) {
  const EmbeddedFile view = {
      "procedures/v.sql", "-- requires: f\nCREATE OR REPLACE VIEW queen.v AS SELECT queen.f();\n"};
  MustMigrate(MustMake({{"procedures/f.sql", kOne}, view, {"procedures/RELEASE", "release 1\n"}}));
  const MigrateReport result = MustMigrate(MustMake(
      {{"procedures/f.sql",
        "CREATE OR REPLACE FUNCTION queen.f() RETURNS text LANGUAGE sql AS $$SELECT 'x'$$;\n"},
       view,
       {"procedures/RELEASE", "release 2\n"}}));
  EXPECT_EQ(result.dropped, Names{});
  EXPECT_EQ(Ask("SELECT f FROM queen.v"), "x");

  const MigrateReport arguments = MustMigrate(
      MustMake({{"procedures/f.sql",
                 "CREATE OR REPLACE FUNCTION queen.f(a int DEFAULT 7) RETURNS int LANGUAGE sql"
                 " AS 'SELECT a';\n"},
                view,
                {"procedures/RELEASE", "release 3\n"}}));
  EXPECT_EQ(arguments.dropped, Names{"routine queen.f()"});
  EXPECT_EQ(Ask("SELECT f FROM queen.v"), "7");
}

TEST_F(MigratorTest, WhatAMigrationDroppedComesBack) {
  const EmbeddedFile view = {"procedures/v.sql",
                             "CREATE OR REPLACE VIEW queen.v AS SELECT a FROM queen.t;\n"};
  const EmbeddedFile release = {"procedures/RELEASE", "release 1\n"};
  MustMigrate(MustMake({{"migrations/0001_table.sql", kTable}, view, release}));
  const MigrateReport report =
      MustMigrate(MustMake({{"migrations/0001_table.sql", kTable},
                            {"migrations/0002_type.sql",
                             "DROP VIEW queen.v; ALTER TABLE queen.t ALTER COLUMN a TYPE bigint;"},
                            view,
                            release}));
  EXPECT_EQ(report.procedures, Names{"v.sql"});
  EXPECT_EQ(Ask("SELECT count(*) FROM queen.v"), "0");
}

TEST_F(MigratorTest, WhatAUserBuiltOnARoutineIsNotDropped) {
  MustMigrate(BaseSchema());
  Ask("CREATE VIEW public.of_the_user AS SELECT queen.f()");
  const Status status = MigrateFails(
      MustMake({{"migrations/0001_table.sql", kTable}, {"procedures/RELEASE", "release 4\n"}}));
  EXPECT_EQ(status.message(),
            "dropping routine queen.f() failed: cannot drop function queen.f() because other "
            "objects depend on it (SQLSTATE 2BP01); view public.of_the_user depends on function "
            "queen.f(); hint: Use DROP ... CASCADE to drop the dependent objects too.");
  EXPECT_EQ(Ask("SELECT f FROM public.of_the_user"), "1");
}

TEST_F(MigratorTest, ARoutineMayMoveToAnotherFile) {
  MustMigrate(BaseSchema());
  const MigrateReport report = MustMigrate(MustMake({{"migrations/0001_table.sql", kTable},
                                                     {"procedures/other.sql", kTwo},
                                                     {"procedures/RELEASE", "release 4\n"}}));
  EXPECT_EQ(report.dropped, Names{});
  EXPECT_EQ(Ask("SELECT queen.f()"), "2");
}

TEST_F(MigratorTest, NothingIsWrittenWhenNothingIsMissing) {
  MustMigrate(BaseSchema());
  Ask("DROP ROLE IF EXISTS guest");
  Ask("CREATE ROLE guest LOGIN");
  Ask("GRANT USAGE ON SCHEMA queen TO guest");
  Ask("GRANT SELECT ON ALL TABLES IN SCHEMA queen TO guest");
  pg::BlockingConnection guest = Connect("guest");
  EXPECT_TRUE(Migrate(guest, BaseSchema(), {}).ok());
}

TEST_F(MigratorTest, MissingPrivilegesAreExplained) {
  Ask("DROP ROLE IF EXISTS guest");
  Ask("CREATE ROLE guest LOGIN");
  EXPECT_EQ(MigrateFails(BaseSchema(), "guest").message(),
            "creating the schema \"queen\" failed: permission denied for database migrator "
            "(SQLSTATE 42501); the role of the broker lacks a privilege: let the owner of the "
            "database run `queen migrate`, or grant CREATE on the database");
}

TEST_F(MigratorTest, ASchemaMadeForUsIsUsed) {
  Ask("DROP ROLE IF EXISTS guest");
  Ask("CREATE ROLE guest LOGIN");
  Ask("CREATE SCHEMA queen AUTHORIZATION guest");
  pg::BlockingConnection guest = Connect("guest");
  const Result<MigrateReport> report = Migrate(guest, BaseSchema(), {});
  EXPECT_TRUE(report.ok()) << report.status().ToString();
}

TEST_F(MigratorTest, AForeignSchemaIsRefused) {
  Ask("CREATE SCHEMA queen");
  Ask("CREATE TABLE queen.bees ()");
  EXPECT_EQ(MigrateFails(BaseSchema()).code(), Code::kConflict);
}

TEST_F(MigratorTest, AReadOnlyDatabaseIsRefused) {
  Ask("ALTER DATABASE migrator SET default_transaction_read_only = on");
  EXPECT_EQ(MigrateFails(BaseSchema()).message(),
            "the database is read-only (default_transaction_read_only is on)");
}

TEST_F(MigratorTest, AnotherEncodingIsRefused) {
  Recreate("TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'");
  EXPECT_EQ(MigrateFails(BaseSchema()).message(),
            "the encoding of the database is LATIN1; UTF8 is needed");
}

TEST_F(MigratorTest, WaitsForAnotherMigrationButNotForEver) {
  pg::BlockingConnection other = Connect();
  const std::string all = AllSql(BaseSchema(), {});
  const size_t lock = all.find("SELECT pg_advisory_lock");
  ASSERT_TRUE(other.Exec(all.substr(lock, all.find(';', lock) - lock)).ok());
  MigrateOptions options;
  options.wait_ms_max = 200;
  const Status status = MigrateFails(BaseSchema(), "queen", options);
  EXPECT_EQ(status.code(), Code::kDatabaseRetry);
  EXPECT_EQ(status.message(), "another broker's migration has not ended within 200 ms");
}

TEST_F(MigratorTest, TriesAgainWhileATableIsLocked) {
  MustMigrate(BaseSchema());
  pg::BlockingConnection other = Connect();
  ASSERT_TRUE(other.Exec("BEGIN; LOCK TABLE queen.t").ok());
  const Schema later =
      MustMake({{"migrations/0001_table.sql", kTable}, {"migrations/0002_column.sql", kAddColumn}});
  MigrateOptions options;
  options.lock_timeout_ms = 50;
  options.wait_ms_max = 300;
  EXPECT_EQ(MigrateFails(later, "queen", options).code(), Code::kDatabaseRetry);

  options.wait_ms_max = 60'000;
  std::thread holder([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_TRUE(other.Exec("COMMIT").ok());
  });
  pg::BlockingConnection connection = Connect();
  const Result<MigrateReport> report = Migrate(connection, later, options);
  holder.join();
  EXPECT_TRUE(report.ok()) << report.status().ToString();
}

TEST_F(MigratorTest, ThePrintedSqlDoesTheSame) {
  const Schema schema = BaseSchema();
  pg::BlockingConnection connection = Connect();
  const Result<std::string> pending = PendingSql(connection, schema, {});
  ASSERT_TRUE(pending.ok()) << pending.status().ToString();
  EXPECT_EQ(*pending, AllSql(schema, {}));
  const auto run = Connect().Exec(*pending);
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  EXPECT_FALSE(MustMigrate(schema).changed());

  const Schema later = MustMake({{"migrations/0001_table.sql", kTable},
                                 {"migrations/0002_column.sql", kAddColumn},
                                 {"procedures/g.sql",
                                  "CREATE FUNCTION queen.g() RETURNS int LANGUAGE sql AS "
                                  "'SELECT 1'"},
                                 {"procedures/RELEASE", "release 4\n"}});
  const Result<std::string> next = PendingSql(connection, later, {});
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(next->find("0001_table"), std::string::npos);
  EXPECT_EQ(Ask("SELECT queen.f()"), "1") << "printing changes nothing";
  const auto run_next = Connect().Exec(*next);
  ASSERT_TRUE(run_next.ok()) << run_next.status().ToString();
  EXPECT_FALSE(MustMigrate(later).changed());
  EXPECT_EQ(Ask("SELECT to_regprocedure('queen.f()') IS NULL"), "t");
}

}  // namespace
}  // namespace queen::storage
