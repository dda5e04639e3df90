// Connecting: what every session has pinned, which servers are refused and what is said about it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pg/testing/postgres.h"
#include "pg/testing/test_slots.h"

namespace queen::pg {
namespace {

using testing::Postgres;
using testing::TestSlots;

std::string Show(TestSlots& slots, const std::string& setting) {
  BatchResult result = slots.Run(fmt::format("SELECT current_setting('{}')", setting));
  EXPECT_TRUE(result.ok()) << result.status.ToString();
  return result.ok() ? std::string(result.rows[0].Text(0, 0)) : "";
}

TEST(Session, SettingsArePinnedWhateverRoleAndDatabaseSay) {
  Postgres postgres;
  postgres.Ask("DROP ROLE IF EXISTS plain");
  postgres.Ask("CREATE ROLE plain LOGIN");
  postgres.Ask("ALTER ROLE plain SET default_transaction_isolation = 'serializable'");
  postgres.Ask("ALTER ROLE plain SET synchronous_commit = off");
  postgres.Ask("ALTER ROLE plain SET client_min_messages = error");
  postgres.Ask("ALTER ROLE plain SET search_path = public");
  postgres.Ask("ALTER ROLE plain SET timezone = 'Europe/Rome'");
  postgres.Ask("ALTER ROLE plain SET idle_session_timeout = 1");
  postgres.Ask("ALTER ROLE plain SET statement_timeout = 1");
  ConnectOptions options = Postgres::Options();
  options.keywords = {{"user", "plain"}, {"options", "-c jit=on -c work_mem=12MB"}};
  options.statement_timeout_ms = 12'345;
  options.lock_timeout_ms = 2'345;
  options.idle_in_transaction_timeout_ms = 3'456;
  options.client_connection_check_interval_ms = 4'567;
  options.settings = {{"queen.note", "two words \\ and more"}};
  TestSlots slots(options);
  slots.WaitFree();
  EXPECT_EQ(Show(slots, "is_superuser"), "off");
  EXPECT_EQ(Show(slots, "default_transaction_isolation"), "read committed");
  EXPECT_EQ(Show(slots, "transaction_isolation"), "read committed");
  EXPECT_EQ(Show(slots, "synchronous_commit"), "on");
  EXPECT_EQ(Show(slots, "client_min_messages"), "notice");
  EXPECT_EQ(Show(slots, "search_path"), "pg_catalog,pg_temp");
  EXPECT_EQ(Show(slots, "timezone"), "UTC");
  EXPECT_EQ(Show(slots, "datestyle"), "ISO, MDY");
  EXPECT_EQ(Show(slots, "intervalstyle"), "postgres");
  EXPECT_EQ(Show(slots, "enable_seqscan"), "off");
  EXPECT_EQ(Show(slots, "enable_bitmapscan"), "off");
  EXPECT_EQ(Show(slots, "jit"), "off");
  EXPECT_EQ(Show(slots, "plan_cache_mode"), "force_generic_plan");
  EXPECT_EQ(Show(slots, "statement_timeout"), "12345ms");
  EXPECT_EQ(Show(slots, "lock_timeout"), "2345ms");
  EXPECT_EQ(Show(slots, "idle_in_transaction_session_timeout"), "3456ms");
  EXPECT_EQ(Show(slots, "idle_session_timeout"), "0");
  EXPECT_EQ(Show(slots, "client_connection_check_interval"), "4567ms");
  EXPECT_EQ(Show(slots, "client_encoding"), "UTF8");
  EXPECT_EQ(Show(slots, "application_name"), "queen");
  EXPECT_EQ(Show(slots, "queen.note"), "two words \\ and more");
  EXPECT_EQ(Show(slots, "work_mem"), "12MB");
}

// Somebody means it: a primary that was taken out of service, or a role that must not write.
TEST(Session, AReadOnlyDefaultIsNotOverruled) {
  Postgres postgres;
  postgres.Ask("DROP ROLE IF EXISTS reader");
  postgres.Ask("CREATE ROLE reader LOGIN");
  postgres.Ask("ALTER ROLE reader SET default_transaction_read_only = on");
  ConnectOptions options = Postgres::Options();
  options.keywords = {{"user", "reader"}, {"target_session_attrs", "any"}};
  TestSlots slots(options);
  slots.WaitFree();
  EXPECT_EQ(Show(slots, "transaction_read_only"), "on");
}

// Every pinned setting is one the server knows, with the value we meant.
TEST(Session, TheServerSaysTheClientSetThem) {
  ConnectOptions options = Postgres::Options();
  TestSlots slots(options);
  slots.WaitFree();
  for (const auto& [name, value] : options.SessionSettings()) {
    // TCP settings read as zero on a Unix socket.
    if (name.starts_with("tcp_")) continue;
    BatchResult result = slots.Run(
        fmt::format("SELECT source FROM pg_settings WHERE lower(name) = lower('{}')", name));
    ASSERT_EQ(result.rows[0].rows(), 1) << name;
    EXPECT_EQ(result.rows[0].Text(0, 0), "client") << name;
  }
}

TEST(Session, AStatementTimeoutIsAFailure) {
  ConnectOptions options = Postgres::Options();
  options.statement_timeout_ms = 20;
  TestSlots slots(options);
  slots.WaitFree();
  const BatchResult late = slots.Run("SELECT pg_sleep(600)");
  EXPECT_EQ(late.outcome, Outcome::kFailure);
  EXPECT_EQ(late.sqlstate, "57014");
  EXPECT_EQ(late.status.code(), Code::kStatementTimeout);
  EXPECT_TRUE(slots.Run("SELECT 1").ok());
}

TEST(Session, ALockTimeoutIsAFailureToRetry) {
  Postgres postgres;
  postgres.Ask("SELECT pg_advisory_lock(42)");
  ConnectOptions options = Postgres::Options();
  options.lock_timeout_ms = 20;
  TestSlots slots(options);
  slots.WaitFree();
  const BatchResult late = slots.Run("SELECT pg_advisory_xact_lock(42)");
  EXPECT_EQ(late.outcome, Outcome::kFailure);
  EXPECT_EQ(late.sqlstate, "55P03");
  EXPECT_EQ(late.status.code(), Code::kDatabaseRetry);
  postgres.Ask("SELECT pg_advisory_unlock(42)");
  EXPECT_TRUE(slots.Run("SELECT pg_advisory_xact_lock(42)").ok());
}

TEST(Session, ADatabaseThatIsNotUtf8IsRefusedUntilItIs) {
  Postgres postgres;
  postgres.Ask("DROP DATABASE IF EXISTS other");
  postgres.Ask("CREATE DATABASE other ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'");
  ConnectOptions options = Postgres::Options();
  options.keywords = {{"dbname", "other"}};
  TestSlots slots(options);
  const ConnectFailure failure = slots.WaitConnectFailure();
  EXPECT_TRUE(failure.needs_person);
  EXPECT_EQ(failure.status.code(), Code::kDatabaseUnavailable);
  EXPECT_NE(failure.status.message().find("LATIN1"), std::string::npos);
  const BatchResult refused = slots.Run("SELECT 1");
  EXPECT_EQ(refused.outcome, Outcome::kFailure);
  EXPECT_FALSE(refused.sent);
  EXPECT_EQ(refused.status.code(), Code::kDatabaseUnavailable);
  EXPECT_NE(refused.status.message().find("LATIN1"), std::string::npos);

  // FORCE ends sessions that are just being refused.
  postgres.Ask("DROP DATABASE other WITH (FORCE)");
  postgres.Ask("CREATE DATABASE other TEMPLATE template0");
  slots.WaitFree();
  EXPECT_TRUE(slots.Run("SELECT 1").ok());
  slots.Close();
  postgres.Ask("DROP DATABASE other WITH (FORCE)");
}

TEST(Session, AMissingDatabaseNeedsAPersonAndIsUsedOnceItIsThere) {
  Postgres postgres;
  postgres.Ask("DROP DATABASE IF EXISTS missing");
  ConnectOptions options = Postgres::Options();
  options.keywords = {{"dbname", "missing"}};
  TestSlots slots(options);
  const ConnectFailure failure = slots.WaitConnectFailure();
  EXPECT_EQ(failure.sqlstate, "3D000");
  EXPECT_TRUE(failure.needs_person);
  EXPECT_EQ(failure.status.message().find("LOCATION"), std::string::npos);
  postgres.Ask("CREATE DATABASE missing");
  slots.WaitFree();
  EXPECT_TRUE(slots.Run("SELECT 1").ok());
}

TEST(Session, ARoleThatMayNotLogInNeedsAPerson) {
  Postgres postgres;
  postgres.Ask("DROP ROLE IF EXISTS barred");
  postgres.Ask("CREATE ROLE barred NOLOGIN");
  ConnectOptions options = Postgres::Options();
  options.keywords = {{"user", "barred"}};
  TestSlots slots(options);
  const ConnectFailure failure = slots.WaitConnectFailure();
  EXPECT_EQ(failure.sqlstate, "28000");
  EXPECT_TRUE(failure.needs_person);
  postgres.Ask("ALTER ROLE barred LOGIN");
  slots.WaitFree();
  EXPECT_TRUE(slots.Run("SELECT 1").ok());
}

TEST(Session, ASettingTheServerDoesNotKnowNeedsAPerson) {
  ConnectOptions options = Postgres::Options();
  options.settings = {{"no_such_setting", "1"}};
  TestSlots slots(options);
  const ConnectFailure failure = slots.WaitConnectFailure();
  EXPECT_EQ(failure.sqlstate, "42704");
  EXPECT_TRUE(failure.needs_person);
}

TEST(Session, HostNamesAndSeveralHostsWork) {
  ConnectOptions options = Postgres::Options();
  // A name that does not resolve, a port where nobody listens, and the server.
  options.keywords = {{"host", "no-such-host.invalid,127.0.0.1," + Postgres::Directory()},
                      {"port", "5432,1,5432"}};
  TestSlots slots(options);
  slots.WaitFree();
  EXPECT_TRUE(slots.Run("SELECT 1").ok());
}

TEST(Session, NothingThere) {
  ConnectOptions options;
  options.keywords = {{"host", "localhost"}, {"port", "1"}, {"dbname", "queen"}};
  options.backoff_base_ms = 1;
  options.backoff_max_ms = 20;
  TestSlots slots(options, 2);
  const ConnectFailure failure = slots.WaitConnectFailure();
  EXPECT_EQ(failure.status.code(), Code::kDatabaseUnavailable);
  EXPECT_FALSE(failure.needs_person);
  EXPECT_EQ(failure.sqlstate, "");
  const BatchResult refused = slots.Run("SELECT 1");
  EXPECT_EQ(refused.outcome, Outcome::kFailure);
  EXPECT_FALSE(refused.sent);
  EXPECT_EQ(refused.status.code(), Code::kDatabaseUnavailable);
  // It keeps trying, with growing pauses (reconnect_backoff_test has the arithmetic).
  while (slots.Call([](Slots& s) { return s.connection(0).attempts(); }) < 5) {
  }
  EXPECT_EQ(slots.counts().up, 0);
}

TEST(Session, ANameThatDoesNotResolve) {
  ConnectOptions options;
  options.keywords = {{"host", "no-such-host.invalid"}};
  options.backoff_base_ms = 1;
  TestSlots slots(options);
  const ConnectFailure failure = slots.WaitConnectFailure();
  EXPECT_NE(failure.status.message().find("no-such-host.invalid"), std::string::npos);
}

}  // namespace
}  // namespace queen::pg
