#include "simulator/database/testing/twins.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "base/clock.h"
#include "pg/testing/postgres.h"
#include "storage/migrator.h"

namespace queen::simulator {
namespace {

// A day ahead: what the real server stamps with its own clock is older than anything asked for.
constexpr int64_t kAheadMicros = int64_t{86'400} * 1'000'000;

const pg::Statement kSetClock{
    "contract_clock", "SELECT pg_catalog.set_config('contract.now', $1, false)", {pg::oid::kText}};

DatabaseOptions OptionsOf(uint64_t seed) {
  DatabaseOptions options;
  options.seed = seed;
  return options;
}

}  // namespace

Twins::Twins(uint64_t seed)
    : time_(WallMicros() + kAheadMicros),
      slots_(pg::testing::Postgres::Options()),
      database_(time_, OptionsOf(seed)) {
  auto connection = pg::BlockingConnection::Connect(std::getenv("QUEEN_TEST_DATABASE_URL"), 60'000);
  EXPECT_TRUE(connection.ok()) << connection.status().message();
  const auto report = storage::Migrate(*connection, storage::EmbeddedSchema(), {});
  EXPECT_TRUE(report.ok()) << report.status().message();
  const auto made = connection->Exec(
      "CREATE SCHEMA contract; CREATE FUNCTION contract.clock_timestamp() RETURNS timestamptz"
      " LANGUAGE sql VOLATILE AS $$ SELECT current_setting('contract.now')::timestamptz $$");
  EXPECT_TRUE(made.ok()) << made.status().message();
  slots_.WaitFree();
  const pg::BatchResult path =
      slots_.Run("SELECT pg_catalog.set_config('search_path', 'contract, pg_catalog', false)");
  EXPECT_TRUE(path.ok()) << path.status.ToString();
  session_ = database_.Open({});
}

Twins::~Twins() = default;

Twins::Answers Twins::Call(const pg::Statement& statement, pg::Params params) {
  pg::Params copy = params;
  return Call(statement, std::move(params), std::move(copy));
}

Twins::Answers Twins::Call(const pg::Statement& statement, pg::Params real, pg::Params simulated) {
  ++calls_;
  Answers answers;
  answers.real = CallReal(statement, std::move(real));
  answers.simulated = CallSimulated(statement, std::move(simulated));
  if (!answers.real.ok()) ++refused_;
  Compare(statement, answers);
  return answers;
}

pg::BatchResult Twins::CallReal(const pg::Statement& statement, pg::Params params) {
  pg::Batch batch;
  pg::Params clock;
  const int64_t now = now_micros();
  const std::time_t seconds = now / 1'000'000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  clock.Text(fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:06}+00", utc.tm_year + 1900,
                         utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                         now % 1'000'000));
  batch.Add(kSetClock, std::move(clock));
  batch.Add(statement, std::move(params));
  pg::BatchResult result = slots_.Run(std::move(batch));
  if (result.ok()) result.rows.erase(result.rows.begin());
  return result;
}

pg::BatchResult Twins::CallSimulated(const pg::Statement& statement, pg::Params params) {
  std::optional<pg::BatchResult> result;
  database_.Execute(*session_, pg::Batch(statement, std::move(params)),
                    [&](pg::BatchResult answer) { result = std::move(answer); });
  time_.RunFor(0);
  EXPECT_TRUE(result.has_value()) << statement.name << " has not ended";
  return result ? std::move(*result) : pg::NotSent(Status(Code::kInternal, "no answer"));
}

bool Twins::Match(const std::string& column, const std::string& real,
                  const std::string& simulated) {
  if (real == simulated) return true;
  if (real == "NULL" || simulated == "NULL") return false;
  static const std::string kMatched[] = {"stamp 20", "id 25", "next_since 25", "reached 20"};
  if (std::find(std::begin(kMatched), std::end(kMatched), column) == std::end(kMatched)) {
    return false;
  }
  return matched_.emplace(simulated, real).first->second == real || column != "stamp 20";
}

void Twins::Compare(const pg::Statement& statement, const Answers& answers) {
  SCOPED_TRACE(fmt::format("call {}: {}", calls_, statement.name));
  ASSERT_EQ(answers.real.sqlstate, answers.simulated.sqlstate)
      << "real: " << answers.real.status.ToString()
      << "\nsimulated: " << answers.simulated.status.ToString();
  ASSERT_EQ(answers.real.ok(), answers.simulated.ok());
  if (!answers.real.ok()) {
    EXPECT_EQ(answers.real.detail, answers.simulated.detail);
    return;
  }
  Cells real = CellsOf(answers.real.rows.at(0));
  Cells simulated = CellsOf(answers.simulated.rows.at(0));
  std::sort(real.rows.begin(), real.rows.end());
  std::sort(simulated.rows.begin(), simulated.rows.end());
  bool same = real.columns == simulated.columns && real.rows.size() == simulated.rows.size();
  for (size_t row = 0; same && row < real.rows.size(); ++row) {
    for (size_t column = 0; column < real.columns.size(); ++column) {
      same &= Match(real.columns[column], real.rows[row][column], simulated.rows[row][column]);
    }
  }
  EXPECT_TRUE(same) << "real:\n" << ToText(real) << "simulated:\n" << ToText(simulated);
}

}  // namespace queen::simulator
