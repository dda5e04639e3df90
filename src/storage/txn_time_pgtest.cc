// The broker and SQL must agree on the time inside every transactionId: exact dedup hangs on it.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/random.h"
#include "base/uuid.h"
#include "storage/migrator.h"
#include "storage/txn_time.h"

namespace queen::storage {
namespace {

class TxnTime : public testing::Test {
 protected:
  void SetUp() override {
    auto connection =
        pg::BlockingConnection::Connect(std::getenv("QUEEN_TEST_DATABASE_URL"), 10'000);
    ASSERT_TRUE(connection.ok()) << connection.status().message();
    connection_.emplace(std::move(*connection));
    const auto report = Migrate(*connection_, EmbeddedSchema(), {});
    ASSERT_TRUE(report.ok()) << report.status().message();
  }

  // Microseconds as SQL sees them.
  std::optional<int64_t> AskSql(const std::string& txn) {
    auto rows = connection_->ExecParams(
        "SELECT (extract(epoch FROM queen.uuid7_time($1)) * 1000000)::bigint", {txn});
    EXPECT_TRUE(rows.ok()) << rows.status().message();
    if (!rows.ok() || rows->IsNull(0, 0)) return std::nullopt;
    return rows->Int(0, 0);
  }

  std::optional<pg::BlockingConnection> connection_;
};

TEST_F(TxnTime, SqlAndTheBrokerAgree) {
  uint64_t seed = 0;
  SecureRandomBytes(&seed, sizeof seed);
  if (const char* given = std::getenv("QUEEN_TEST_SEED")) seed = std::strtoull(given, nullptr, 10);
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);

  std::vector<std::string> txns = {"",
                                   "order-1",
                                   "00000000-0000-7000-8000-000000000000",
                                   "ffffffff-ffff-7fff-bfff-ffffffffffff",
                                   "0198c3a2-1b2c-7d3e-8f40-515253545556",
                                   "0198C3A2-1B2C-7D3E-BF40-515253545556",
                                   "0198c3a2-1b2c-4d3e-8f40-515253545556",
                                   "0198c3a2-1b2c-7d3e-7f40-515253545556",
                                   "0198c3a2-1b2c-7d3e-cf40-515253545556",
                                   "0198c3a21b2c7d3e8f40515253545556",
                                   "{0198c3a2-1b2c-7d3e-8f40-51525354555}",
                                   " 198c3a2-1b2c-7d3e-8f40-515253545556",
                                   "0198c3a2-1b2c-7d3e-8f40-515253545556\n"};
  for (int i = 0; i < 300; ++i) {
    std::string changed = MakeUuidV7(RandomBetween(random, 0, (int64_t{1} << 47) - 1)).ToString();
    if (i % 2 == 0) {
      changed[static_cast<size_t>(RandomBetween(random, 0, 35))] =
          static_cast<char>(RandomBetween(random, ' ', '~'));
    }
    txns.push_back(std::move(changed));
  }
  for (const std::string& txn : txns) {
    EXPECT_EQ(TimeInside(txn), AskSql(txn)) << "\"" << txn << "\"";
  }
}

}  // namespace
}  // namespace queen::storage
