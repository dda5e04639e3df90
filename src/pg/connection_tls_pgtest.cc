// TLS and passwords, on a server that speaks TCP. TLS hides bytes from the poller (OpenSSL decrypts
// a whole record, libpq may take half of it), so large answers are what to test.

#include <gtest/gtest.h>

#include "pg/testing/postgres.h"
#include "pg/testing/test_slots.h"

namespace queen::pg {
namespace {

using testing::Postgres;
using testing::TestSlots;

class Tls : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    address = Postgres::RestartWithTls();
    Postgres postgres;
    postgres.Ask("CREATE ROLE guarded LOGIN PASSWORD 'right'");
  }

  static ConnectOptions Options(const std::string& password) {
    ConnectOptions options = Postgres::Options();
    options.keywords = {
        {"host", "localhost"},      {"hostaddr", address},
        {"user", "guarded"},        {"password", password},
        {"sslmode", "verify-full"}, {"sslrootcert", Postgres::Directory() + "/server.crt"}};
    return options;
  }

  static std::string address;
};

std::string Tls::address;

TEST_F(Tls, LargeAnswersArriveWhole) {
  TestSlots slots(Options("right"));
  slots.WaitFree();
  BatchResult in_use = slots.Run("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
  ASSERT_TRUE(in_use.ok());
  EXPECT_TRUE(in_use.rows[0].Bool(0, 0));
  // Sizes around the record (16 kB) and the buffers of libpq (8 and 16 kB).
  const Statement repeat{"repeat", "SELECT repeat('x', $1)", {oid::kInt4}};
  for (int size = 1'000; size < 4'000'000; size = size * 5 / 4 + 37) {
    Params params;
    params.Int4(size);
    BatchResult result = slots.Run(Batch(repeat, std::move(params)));
    ASSERT_TRUE(result.ok()) << size << ": " << result.status.ToString();
    ASSERT_EQ(result.rows[0].Text(0, 0).size(), static_cast<size_t>(size));
  }
}

TEST_F(Tls, LargeBothWays) {
  TestSlots slots(Options("right"));
  slots.WaitFree();
  const Statement echo{"echo", "SELECT $1", {oid::kText}};
  Batch batch;
  const std::string big(size_t{8} << 20, 'y');
  for (int i = 0; i < 3; ++i) {
    Params params;
    params.Text(big);
    batch.Add(echo, std::move(params));
  }
  BatchResult result = slots.Run(std::move(batch));
  ASSERT_TRUE(result.ok()) << result.status.ToString();
  for (const Rows& rows : result.rows) EXPECT_TRUE(rows.Text(0, 0) == big);
}

TEST_F(Tls, TerminatedInABatch) {
  Postgres postgres;
  TestSlots slots(Options("right"));
  slots.WaitFree();
  const int pid = slots.backend_pid();
  auto answer = slots.Begin("SELECT pg_sleep(600)");
  postgres.WaitUntilBlocked(pid);
  postgres.Terminate(pid);
  const BatchResult result = answer.get();
  EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_EQ(result.sqlstate, "57P01");
  slots.WaitFree();
  EXPECT_TRUE(slots.Run("SELECT 1").ok());
}

TEST_F(Tls, AWrongPasswordNeedsAPersonAndWorksOnceItIsRight) {
  Postgres postgres;
  TestSlots slots(Options("wrong"));
  const ConnectFailure failure = slots.WaitConnectFailure();
  EXPECT_EQ(failure.sqlstate, "28P01");
  EXPECT_TRUE(failure.needs_person);
  EXPECT_EQ(failure.status.message().find("wrong"), std::string::npos);
  postgres.Ask("ALTER ROLE guarded PASSWORD 'wrong'");
  slots.WaitFree();
  EXPECT_TRUE(slots.Run("SELECT 1").ok());
  postgres.Ask("ALTER ROLE guarded PASSWORD 'right'");
}

TEST_F(Tls, ACertificateForAnotherNameIsRefused) {
  ConnectOptions options = Options("right");
  options.keywords[0].second = "elsewhere.example";
  TestSlots slots(options);
  const ConnectFailure failure = slots.WaitConnectFailure();
  EXPECT_NE(failure.status.message().find("does not match host name"), std::string::npos)
      << failure.status.message();
}

// The settings that only mean something on TCP.
TEST_F(Tls, TcpSettingsArePinned) {
  TestSlots slots(Options("right"));
  slots.WaitFree();
  const auto show = [&](const std::string& name) {
    return std::string(slots.Run("SELECT current_setting('" + name + "')").rows[0].Text(0, 0));
  };
  EXPECT_EQ(show("tcp_keepalives_idle"), "10");
  EXPECT_EQ(show("tcp_keepalives_interval"), "5");
  EXPECT_EQ(show("tcp_keepalives_count"), "3");
  EXPECT_EQ(show("tcp_user_timeout"), "20000");
}

}  // namespace
}  // namespace queen::pg
