#include "simulator/database/testing/stage.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>

#include "base/clock.h"
#include "simulator/database/procedures/procedures.h"
#include "storage/migrator.h"
#include "storage/procedures.h"

namespace queen::simulator {
namespace {

constexpr int kGateClass = 4711;
constexpr int64_t kWaitMicros = int64_t{600} * 1'000'000;

pg::ConnectOptions RealOptions(int lock_timeout_ms) {
  pg::ConnectOptions options = pg::testing::Postgres::Options();
  options.lock_timeout_ms = lock_timeout_ms;
  options.statement_timeout_ms = 0;
  return options;
}

bool IsRandom(const std::string& column) {
  return column == "stamp 20" || column == "next_since 25" || column.ends_with(" 1184") ||
         column.ends_with(" 1185");
}

// Without what differs from run to run.
Cells Comparable(const pg::Rows& rows) {
  Cells cells = CellsOf(rows);
  for (auto& row : cells.rows) {
    for (size_t column = 0; column < row.size(); ++column) {
      if (IsRandom(cells.columns[column]) && row[column] != "NULL") row[column] = "*";
    }
  }
  std::sort(cells.rows.begin(), cells.rows.end());
  return cells;
}

}  // namespace

Stage::Stage(int lock_timeout_ms)
    : time_(WallMicros()), database_(time_, {}), slots_(RealOptions(lock_timeout_ms), kSessions) {
  auto connection = pg::BlockingConnection::Connect(std::getenv("QUEEN_TEST_DATABASE_URL"), 60'000);
  EXPECT_TRUE(connection.ok()) << connection.status().message();
  const auto report = storage::Migrate(*connection, storage::EmbeddedSchema(), {});
  EXPECT_TRUE(report.ok()) << report.status().message();
  // Each test begins with empty tables, whose ids begin at 1 as those of the simulated one do.
  const auto emptied = connection->Exec(
      "TRUNCATE queen.queues, queen.partitions, queen.groups, queen.group_starts,"
      " queen.early_groups, queen.segments, queen.dedup, queen.progress, queen.dead_letters,"
      " queen.batches, queen.families, queen.family_queues, queen.dedup_runs, queen.dedup_hashes"
      " RESTART IDENTITY; ALTER SEQUENCE queen.sql_batches RESTART");
  EXPECT_TRUE(emptied.ok()) << emptied.status().message();
  slots_.WaitFree(kSessions);
  for (int session = 0; session < kSessions; ++session) {
    Database::SessionOptions options;
    options.lock_timeout_micros = int64_t{lock_timeout_ms} * 1000;
    sessions_.push_back(*database_.Open(std::move(options)));
  }
}

Stage::~Stage() {
  std::vector<int> open;
  for (const auto& gate : gates_) open.push_back(gate.first);
  for (const int gate : open) Open(gate);
}

Stage& Stage::Call(const pg::Statement& statement, pg::Params params) {
  pg::Params copy = params;
  return Call(statement, std::move(params), std::move(copy));
}

Stage& Stage::Call(const pg::Statement& statement, pg::Params real, pg::Params simulated) {
  real_.Add(statement, std::move(real));
  simulated_.Add(statement, std::move(simulated));
  return *this;
}

Stage& Stage::Gate(int gate) {
  postgres_.Ask(GateSql("pg_advisory_lock", gate));
  auto holder = database_.Look();
  EXPECT_TRUE(holder->TryLock({kGateClass, gate}));
  gates_[gate] = std::move(holder);
  pg::Params params;
  params.Int4(kGateClass).Int4(gate);
  return Call(kAdvisoryLock, std::move(params));
}

Stage& Stage::Fail() {
  pg::Params params;
  params.Uuid(Uuid::FromHalves(1, 1));
  return Call(storage::kRequireDatabase, std::move(params));
}

std::string Stage::GateSql(const char* function, int gate) const {
  return fmt::format("SELECT {}({}, {})", function, kGateClass, gate);
}

void Stage::Begin(int session) {
  auto part = std::make_unique<Part>();
  part->real = slots_.BeginOn(session, std::exchange(real_, pg::Batch()));
  database_.Execute(
      sessions_[static_cast<size_t>(session)], std::exchange(simulated_, pg::Batch()),
      [raw = part.get()](pg::BatchResult result) { raw->simulated = std::move(result); });
  parts_[session] = std::move(part);
  time_.RunFor(0);
}

void Stage::WaitBlocked(int session) {
  postgres_.WaitUntil(fmt::format("EXISTS (SELECT FROM pg_locks WHERE pid = {} AND NOT granted)",
                                  slots_.backend_pid(session)));
  EXPECT_FALSE(parts_.at(session)->simulated.has_value())
      << "the simulated database does not wait where the real one does";
}

void Stage::Open(int gate) {
  postgres_.Ask(GateSql("pg_advisory_unlock", gate));
  gates_.erase(gate);
  time_.RunFor(0);
}

void Stage::Crash() {
  const int downs = slots_.counts().up;
  // The server takes the end of one of its processes by this signal for a crash of all.
  kill(slots_.backend_pid(0), SIGKILL);
  slots_.WaitDowns(downs);
  slots_.WaitFree(kSessions);
  gates_.clear();
  database_.Crash(0);
  time_.RunFor(0);
  for (auto& session : sessions_) session = *database_.Open({});
}

std::pair<pg::BatchResult, pg::BatchResult> Stage::EndUncompared(int session) {
  Part& part = *parts_.at(session);
  for (int64_t left = kWaitMicros; left > 0 && !part.simulated; left -= 100'000) {
    time_.RunFor(100'000);
  }
  pg::BatchResult real = part.real.get();
  EXPECT_TRUE(part.simulated.has_value()) << "the simulated part has not ended";
  pg::BatchResult simulated =
      part.simulated ? std::move(*part.simulated) : pg::NotSent(Status(Code::kInternal, "none"));
  parts_.erase(session);
  return {std::move(real), std::move(simulated)};
}

pg::BatchResult Stage::End(int session) {
  auto [real, simulated] = EndUncompared(session);
  EXPECT_EQ(real.sqlstate, simulated.sqlstate)
      << real.status.ToString() << " and " << simulated.status.ToString();
  EXPECT_EQ(real.rows.size(), simulated.rows.size());
  for (size_t i = 0; i < std::min(real.rows.size(), simulated.rows.size()); ++i) {
    const Cells expected = Comparable(real.rows[i]);
    const Cells answered = Comparable(simulated.rows[i]);
    EXPECT_EQ(expected.rows, answered.rows) << "real:\n"
                                            << ToText(expected) << "simulated:\n"
                                            << ToText(answered);
  }
  return std::move(real);
}

pg::BatchResult Stage::Run(int session, const pg::Statement& statement, pg::Params params) {
  Call(statement, std::move(params)).Begin(session);
  return End(session);
}

}  // namespace queen::simulator
