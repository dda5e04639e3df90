// Pool: first in, first out, with a limit and a deadline for those who wait, and pages behind
// all others.

#include "pg/pool.h"

#include <gtest/gtest.h>

#include "pg/testing/loop_thread.h"
#include "pg/testing/postgres.h"

namespace queen::pg {
namespace {

using testing::LoopThread;
using testing::Postgres;

const Statement kLock{"lock", "SELECT pg_advisory_xact_lock(7)", {}};
const Statement kEcho{"echo", "SELECT $1", {oid::kInt4}};

// A pool on a loop thread of its own, driven from the test's thread.
class TestPool {
 public:
  TestPool(const ConnectOptions& connect, const Pool::Options& options) {
    thread_.Call([&] {
      pool_ = std::make_unique<Pool>(thread_.loop(), connect, options);
      pool_->Start();
    });
  }
  ~TestPool() {
    if (pool_) Close();
  }

  std::future<BatchResult> Begin(const Statement& statement, Params params = Params()) {
    return Send(&Pool::Execute, statement, std::move(params));
  }
  std::future<BatchResult> BeginPage(const Statement& statement, Params params = Params()) {
    return Send(&Pool::ExecutePage, statement, std::move(params));
  }

  void Close() {
    std::promise<void> closed;
    thread_.Call([&] {
      pool_->Close([&] {
        pool_.reset();
        closed.set_value();
      });
    });
    closed.get_future().wait();
  }

  size_t waiting() {
    return thread_.Call([&] { return pool_->waiting(); });
  }

 private:
  std::future<BatchResult> Send(void (Pool::*way)(Batch, BatchCallback), const Statement& statement,
                                Params params) {
    std::promise<BatchResult> promise;
    auto future = promise.get_future();
    thread_.Call([&] {
      (*pool_.*way)(Batch(statement, std::move(params)),
                    [promise = std::move(promise)](BatchResult result) mutable {
                      promise.set_value(std::move(result));
                    });
    });
    return future;
  }

  LoopThread thread_;
  std::unique_ptr<Pool> pool_;
};

Params One(int32_t value) {
  Params params;
  params.Int4(value);
  return params;
}

TEST(Pool, QueriesWaitForTheFirstConnectionAndRunInOrder) {
  TestPool pool(Postgres::Options(), {.connections = 1});
  std::vector<std::future<BatchResult>> answers;
  for (int i = 0; i < 100; ++i) answers.push_back(pool.Begin(kEcho, One(i)));
  for (int i = 0; i < 100; ++i) {
    BatchResult result = answers[static_cast<size_t>(i)].get();
    ASSERT_TRUE(result.ok()) << result.status.ToString();
    EXPECT_EQ(result.rows[0].Int4(0, 0), i);
  }
}

TEST(Pool, TheQueueHasALimit) {
  Postgres postgres;
  postgres.Ask("SELECT pg_advisory_lock(7)");
  TestPool pool(Postgres::Options(), {.connections = 1, .queue_max = 2, .wait_ms = 100'000});
  auto running = pool.Begin(kLock);
  postgres.WaitUntil(
      "EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'queen' AND "
      "wait_event_type = 'Lock')");
  auto first = pool.Begin(kEcho, One(1));
  auto second = pool.Begin(kEcho, One(2));
  EXPECT_EQ(pool.waiting(), 2U);
  const BatchResult refused = pool.Begin(kEcho, One(3)).get();
  EXPECT_EQ(refused.status.code(), Code::kOverloaded);
  EXPECT_FALSE(refused.sent);
  postgres.Ask("SELECT pg_advisory_unlock(7)");
  EXPECT_TRUE(running.get().ok());
  EXPECT_EQ(first.get().rows[0].Int4(0, 0), 1);
  EXPECT_EQ(second.get().rows[0].Int4(0, 0), 2);
}

TEST(Pool, WaitingHasADeadline) {
  Postgres postgres;
  postgres.Ask("SELECT pg_advisory_lock(7)");
  TestPool pool(Postgres::Options(), {.connections = 1, .wait_ms = 1'000});
  auto running = pool.Begin(kLock);
  postgres.WaitUntil(
      "EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'queen' AND "
      "wait_event_type = 'Lock')");
  const BatchResult late = pool.Begin(kEcho, One(1)).get();
  EXPECT_EQ(late.status.code(), Code::kOverloaded);
  EXPECT_FALSE(late.sent);
  postgres.Ask("SELECT pg_advisory_unlock(7)");
  EXPECT_TRUE(running.get().ok());
  EXPECT_TRUE(pool.Begin(kEcho, One(2)).get().ok());
}

TEST(Pool, PagesLeaveConnectionsToOthers) {
  Postgres postgres;
  postgres.Ask("SELECT pg_advisory_lock(7)");
  TestPool pool(Postgres::Options(), {.connections = 2, .wait_ms = 100'000, .pages_max = 1});
  auto slow = pool.BeginPage(kLock);
  postgres.WaitUntil(
      "EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'queen' AND "
      "wait_event_type = 'Lock')");
  auto next = pool.BeginPage(kEcho, One(1));
  EXPECT_TRUE(pool.Begin(kEcho, One(2)).get().ok());
  EXPECT_EQ(next.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  postgres.Ask("SELECT pg_advisory_unlock(7)");
  EXPECT_TRUE(slow.get().ok());
  EXPECT_TRUE(next.get().ok());
}

TEST(Pool, NobodyWaitsLongForADatabaseThatIsKnownToBeAway) {
  ConnectOptions nowhere;
  nowhere.keywords = {{"host", "127.0.0.1"}, {"port", "1"}};
  TestPool pool(nowhere, {.connections = 1, .wait_ms = 3'600'000, .down_wait_ms = 20});
  const BatchResult refused = pool.Begin(kEcho, One(1)).get();
  EXPECT_EQ(refused.status.code(), Code::kDatabaseUnavailable);
  EXPECT_EQ(refused.status.message().find("127.0.0.1"), std::string::npos);
}

TEST(Pool, WithoutAServerTheAnswerIsUnavailable) {
  ConnectOptions nowhere;
  nowhere.keywords = {{"host", "127.0.0.1"}, {"port", "1"}};
  TestPool patient(nowhere, {.connections = 1, .wait_ms = 20});
  TestPool hasty(nowhere, {.connections = 1, .wait_ms = 0});
  for (TestPool* pool : {&patient, &hasty}) {
    const BatchResult refused = pool->Begin(kEcho, One(1)).get();
    EXPECT_EQ(refused.outcome, Outcome::kFailure);
    EXPECT_FALSE(refused.sent);
    EXPECT_EQ(refused.status.code(), Code::kDatabaseUnavailable);
  }
}

TEST(Pool, CloseAnswersThoseWhoWait) {
  ConnectOptions nowhere;
  nowhere.keywords = {{"host", "127.0.0.1"}, {"port", "1"}};
  TestPool pool(nowhere, {.connections = 1, .wait_ms = 100'000});
  auto waiting = pool.Begin(kEcho, One(1));
  pool.Close();
  EXPECT_EQ(waiting.get().status.code(), Code::kShuttingDown);
}

}  // namespace
}  // namespace queen::pg
