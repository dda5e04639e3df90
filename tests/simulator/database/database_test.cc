// Sessions of the simulated database: what is answered, what is lost, and what comes late. The
// batches are questions about a batch (resolve_batch): each leaves a row, committed synchronously.
#include "simulator/database/database.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "storage/procedures.h"

namespace queen::simulator {
namespace {

constexpr int64_t kSecond = 1'000'000;

class Sessions : public testing::Test {
 protected:
  static DatabaseOptions Slow(uint64_t seed) {
    DatabaseOptions options;
    options.seed = seed;
    options.network_micros_max = 500;
    options.statement_micros_max = 500;
    options.flush_micros_min = 100;
    options.flush_micros_max = 2'000;
    options.stray_micros_max = 5'000;
    return options;
  }
  static pg::Batch Write(int64_t n) {
    pg::Params params;
    params.Int8(1).Int8(n);
    return {storage::kResolveBatch, std::move(params)};
  }
  static bool IsWritten(Database& database, int64_t n) {
    return database.catalog().batches.Find(*database.Look(), {1, n}) != nullptr;
  }

  VirtualTime time_{1'700'000'000 * kSecond};
};

TEST_F(Sessions, BatchesOfASessionAreAnsweredInTheirOrder) {
  Database database(time_, Slow(1));
  const auto session = database.Open({});
  std::vector<int64_t> answered;
  for (int64_t n = 1; n <= 20; ++n) {
    database.Execute(*session, Write(n), [&answered, n](pg::BatchResult result) {
      EXPECT_TRUE(result.ok());
      answered.push_back(n);
    });
  }
  EXPECT_TRUE(answered.empty());
  time_.RunFor(kSecond);
  ASSERT_EQ(answered.size(), 20U);
  EXPECT_TRUE(std::is_sorted(answered.begin(), answered.end()));
}

TEST_F(Sessions, AStatementThatIsNotKnownIsRefused) {
  Database database(time_, Slow(1));
  const pg::Statement stranger{"stranger", "SELECT 1", {}};
  std::string sqlstate;
  database.Execute(*database.Open({}), pg::Batch(stranger, pg::Params()),
                   [&](pg::BatchResult result) { sqlstate = result.sqlstate; });
  time_.RunFor(kSecond);
  EXPECT_EQ(sqlstate, "42883");
}

TEST_F(Sessions, WhatHasArrivedIsExecutedForAClientThatHasGone) {
  uint64_t strays = 0;
  int written = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    VirtualTime time(kSecond);
    Database database(time, Slow(seed));
    const auto session = database.Open({});
    database.Execute(*session, Write(1),
                     [](pg::BatchResult) { ADD_FAILURE() << "a lost session was answered"; });
    time.RunFor(static_cast<int64_t>(seed) * 10);
    database.Lose(*session);
    time.RunFor(kSecond);
    EXPECT_FALSE(database.IsOpen(*session));
    strays += database.counts().strays;
    written += IsWritten(database, 1) ? 1 : 0;
  }
  EXPECT_GT(strays, 0U);
  EXPECT_GT(written, 0);
  EXPECT_LT(written, 50);
}

TEST_F(Sessions, ACrashEndsEverySessionAndRefusesOthersForAWhile) {
  Database database(time_, Slow(1));
  bool lost = false;
  Database::SessionOptions options;
  options.on_lost = [&] { lost = true; };
  const auto session = database.Open(std::move(options));
  database.Crash(kSecond);
  EXPECT_FALSE(database.IsOpen(*session));
  EXPECT_EQ(database.Open({}), std::nullopt);
  time_.RunFor(kSecond - 1);
  EXPECT_TRUE(lost);
  EXPECT_FALSE(database.up());
  time_.RunFor(1);
  EXPECT_TRUE(database.Open({}).has_value());
}

TEST_F(Sessions, WhatWasAnsweredSurvivesEveryCrash) {
  int answered = 0;
  int forgotten = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    VirtualTime time(kSecond);
    Database database(time, Slow(seed));
    const auto session = database.Open({});
    std::vector<bool> done(11);
    for (int64_t n = 1; n <= 10; ++n) {
      database.Execute(*session, Write(n), [&done, n](pg::BatchResult result) {
        done[static_cast<size_t>(n)] = result.ok();
      });
    }
    time.RunFor(static_cast<int64_t>(seed) * 50);
    database.Crash(1);
    time.RunFor(kSecond);
    for (int64_t n = 1; n <= 10; ++n) {
      const bool written = IsWritten(database, n);
      if (done[static_cast<size_t>(n)]) {
        ++answered;
        EXPECT_TRUE(written) << "seed " << seed << " n " << n;
      } else if (!written) {
        ++forgotten;
      }
    }
  }
  EXPECT_GT(answered, 0);
  EXPECT_GT(forgotten, 0);
}

TEST_F(Sessions, WhatWasAnsweredSurvivesAFailover) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    VirtualTime time(kSecond);
    DatabaseOptions options = Slow(seed);
    options.standby_micros_max = 2'000;
    Database database(time, options);
    std::vector<bool> done(21);
    for (int64_t n = 1; n <= 20; ++n) {
      database.Execute(*database.Open({}), Write(n), [&done, n](pg::BatchResult result) {
        done[static_cast<size_t>(n)] = result.ok();
      });
    }
    time.RunFor(static_cast<int64_t>(seed) * 50);
    const int64_t clock = database.ClockMicros();
    database.Failover(1, -kSecond);
    EXPECT_EQ(database.ClockMicros(), clock - kSecond);
    for (int64_t n = 1; n <= 20; ++n) {
      const bool answered = done[static_cast<size_t>(n)];
      EXPECT_TRUE(!answered || IsWritten(database, n)) << "seed " << seed << " n " << n;
    }
    time.RunFor(kSecond);
  }
}

TEST_F(Sessions, ACommitWhoseWaitForTheStandbyWasCancelledIsSeenAndUnknown) {
  DatabaseOptions options;
  options.standby_micros_max = 10 * kSecond;
  options.seed = 3;
  Database database(time_, options);
  std::optional<pg::Outcome> outcome;
  database.Execute(*database.Open({}), Write(1),
                   [&](pg::BatchResult result) { outcome = result.outcome; });
  time_.RunFor(0);
  EXPECT_FALSE(IsWritten(database, 1));
  database.CancelStandbyWaits();
  time_.RunFor(10'000);
  EXPECT_EQ(outcome, pg::Outcome::kUnknown);
  EXPECT_TRUE(IsWritten(database, 1));
}

TEST_F(Sessions, TheSameSeedIsTheSameRun) {
  const auto run = [](uint64_t seed) {
    VirtualTime time(kSecond);
    Database database(time, Slow(seed));
    std::string trace;
    for (int64_t n = 1; n <= 50; ++n) {
      database.Execute(
          *database.Open({}), Write(n % 10), [&trace, &time, n](pg::BatchResult result) {
            trace += fmt::format("{}:{}:{} ", time.NowMicros(), n, result.rows.at(0).Bool(0, 0));
          });
    }
    while (time.RunNext()) {
    }
    return trace;
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
}

}  // namespace
}  // namespace queen::simulator
