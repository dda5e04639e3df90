// Faults: what breaks a connection, how the batches in flight end, and that it comes back. Every
// test ends with a fresh query that works.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pg/testing/postgres.h"
#include "pg/testing/tcp_proxy.h"
#include "pg/testing/test_slots.h"

namespace queen::pg {
namespace {

using testing::Postgres;
using testing::TcpProxy;
using testing::TestSlots;

constexpr int kShortDeadlineMs = 200;

void ExpectUnknown(const BatchResult& result) {
  EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_TRUE(result.sent);
  EXPECT_EQ(result.status.code(), Code::kOutcomeUnknown);
  EXPECT_TRUE(result.rows.empty());
}

void ExpectRecovery(TestSlots& slots, int up = 1) {
  // Where the deadlines are short a loaded machine may need more than one try.
  do {
    slots.WaitFree(up);
  } while (!slots.Run("SELECT 1").ok());
}

// A deadline short enough to wait for, on a server that never needs that long.
ConnectOptions WithShortDeadline() {
  ConnectOptions options = Postgres::Options();
  options.statement_timeout_ms = 0;
  options.in_flight_deadline_ms = kShortDeadlineMs;
  options.connect_timeout_ms = kShortDeadlineMs;
  return options;
}

class Fault : public ::testing::Test {
 protected:
  Fault() {
    postgres_.Ask("DROP TABLE IF EXISTS public.t");
    postgres_.Ask("CREATE TABLE public.t (n int)");
  }

  std::string Count() { return postgres_.Ask("SELECT count(*) FROM public.t"); }

  Postgres postgres_;
};

TEST_F(Fault, BackendTerminatedInABatch) {
  TestSlots slots(Postgres::Options());
  slots.WaitFree();
  const int pid = slots.backend_pid();
  auto answer = slots.Begin("SELECT pg_sleep(600)");
  postgres_.WaitUntilBlocked(pid);
  postgres_.Terminate(pid);
  const BatchResult result = answer.get();
  ExpectUnknown(result);
  EXPECT_EQ(result.sqlstate, "57P01");
  ExpectRecovery(slots);
  EXPECT_NE(slots.backend_pid(), pid);
}

// Nobody is the standby, so every commit waits for it. The translated text must not matter.
class StandbyWait : public Fault {
 protected:
  StandbyWait() { Set("synchronous_standby_names = 'nobody'"); }
  ~StandbyWait() override { Set("synchronous_standby_names = ''"); }

  void Set(const std::string& setting) {
    postgres_.Ask("ALTER SYSTEM SET " + setting);
    postgres_.Ask("SELECT pg_reload_conf()");
    postgres_.WaitUntil("current_setting('synchronous_standby_names') = " +
                        setting.substr(setting.find('\'')));
  }
  void WaitUntilWaiting(int pid) {
    postgres_.WaitUntil(
        fmt::format("(SELECT wait_event = 'SyncRep' FROM pg_stat_activity WHERE pid = {})", pid));
  }
};

TEST_F(StandbyWait, CancelledIsUnknownAndOnlyForTheBatchThatWaited) {
  TestSlots slots(Postgres::Options(), 1, 4);
  slots.WaitFree();
  const int pid = slots.backend_pid();
  auto read = slots.Begin("SELECT 1");
  auto waited = slots.Begin("INSERT INTO public.t VALUES (1)");
  auto next = slots.Begin("SELECT 2");
  EXPECT_TRUE(read.get().ok());
  WaitUntilWaiting(pid);
  postgres_.Ask(fmt::format("SELECT pg_cancel_backend({})", pid));
  const BatchResult result = waited.get();
  ExpectUnknown(result);
  EXPECT_EQ(result.sqlstate, "01000");
  EXPECT_TRUE(next.get().ok());
  EXPECT_EQ(Count(), "1");  // the commit stands here
  ExpectRecovery(slots);
  EXPECT_EQ(slots.backend_pid(), pid);
}

TEST_F(StandbyWait, TerminatedIsUnknown) {
  TestSlots slots(Postgres::Options());
  slots.WaitFree();
  const int pid = slots.backend_pid();
  auto waited = slots.Begin("INSERT INTO public.t VALUES (1)");
  WaitUntilWaiting(pid);
  postgres_.Terminate(pid);
  ExpectUnknown(waited.get());
  ExpectRecovery(slots);
}

TEST_F(Fault, BackendTerminatedUnderAFullPipeline) {
  TestSlots slots(Postgres::Options(), 1, 4);
  slots.WaitFree();
  const int pid = slots.backend_pid();
  std::vector<std::future<BatchResult>> answers;
  answers.push_back(slots.Begin("INSERT INTO public.t VALUES (1)"));
  answers.push_back(slots.Begin("SELECT pg_sleep(600)"));
  answers.push_back(slots.Begin("INSERT INTO public.t VALUES (2)"));
  answers.push_back(slots.Begin("INSERT INTO public.t VALUES (3)"));
  postgres_.WaitUntilBlocked(pid);
  postgres_.Terminate(pid);
  EXPECT_TRUE(answers[0].get().ok());
  for (size_t i = 1; i < answers.size(); ++i) ExpectUnknown(answers[i].get());
  ExpectRecovery(slots);
  EXPECT_EQ(Count(), "1");
}

TEST_F(Fault, IdleBackendTerminatedIsNoticedAtOnce) {
  TestSlots slots(Postgres::Options());
  slots.WaitFree();
  const int pid = slots.backend_pid();
  postgres_.Terminate(pid);
  slots.WaitDowns(1);
  ExpectRecovery(slots);
  EXPECT_NE(slots.backend_pid(), pid);
}

TEST_F(Fault, ServerRestart) {
  TestSlots slots(Postgres::Options(), 3);
  slots.WaitFree(3);
  auto answer = slots.Begin("SELECT pg_sleep(600)");
  postgres_.WaitUntilBlocked(slots.backend_pid());
  Postgres::Restart();
  ExpectUnknown(answer.get());
  slots.WaitDowns(3);
  ExpectRecovery(slots, 3);
}

TEST_F(Fault, ServerDownForAWhile) {
  TestSlots slots(Postgres::Options(), 2);
  slots.WaitFree(2);
  Postgres::Stop();
  slots.WaitDowns(2);
  slots.WaitConnectFailure();
  const BatchResult refused = slots.Run("SELECT 1");
  EXPECT_EQ(refused.outcome, Outcome::kFailure);
  EXPECT_FALSE(refused.sent);
  EXPECT_EQ(refused.status.code(), Code::kDatabaseUnavailable);
  Postgres::Start();
  ExpectRecovery(slots, 2);
}

TEST_F(Fault, ConnectionResetInABatch) {
  TcpProxy proxy(Postgres::SocketPath());
  TestSlots slots(proxy.Through(Postgres::Options()));
  slots.WaitFree();
  const int pid = slots.backend_pid();
  auto answer = slots.Begin("SELECT pg_sleep(600)");
  postgres_.WaitUntilBlocked(pid);
  proxy.Cut();
  ExpectUnknown(answer.get());
  ExpectRecovery(slots);
}

TEST_F(Fault, TheAnswerIsLostButTheBatchIsCommitted) {
  TcpProxy proxy(Postgres::SocketPath());
  TestSlots slots(proxy.Through(Postgres::Options()));
  slots.WaitFree();
  proxy.FreezeAnswers();
  auto answer = slots.Begin("INSERT INTO public.t VALUES (1)");
  postgres_.WaitUntil("EXISTS (SELECT FROM public.t)");
  proxy.Cut();
  proxy.Thaw();
  ExpectUnknown(answer.get());
  EXPECT_EQ(Count(), "1");
  ExpectRecovery(slots);
}

TEST_F(Fault, ABlackHoleEndsAtTheDeadline) {
  TcpProxy proxy(Postgres::SocketPath());
  TestSlots slots(proxy.Through(WithShortDeadline()), 2);
  slots.WaitFree(2);
  proxy.Freeze();
  ExpectUnknown(slots.Run("INSERT INTO public.t VALUES (1)"));
  slots.WaitDowns(1);
  // The other one is idle and nobody can tell that it is cut off.
  EXPECT_EQ(slots.counts().up, 1);
  proxy.Thaw();
  ExpectRecovery(slots, 2);
}

TEST_F(Fault, ABlackHoleThatSwallowsALargeBatch) {
  TcpProxy proxy(Postgres::SocketPath());
  TestSlots slots(proxy.Through(WithShortDeadline()));
  slots.WaitFree();
  const Statement length{"length", "SELECT length($1)", {oid::kText}};
  proxy.Freeze();
  Params params;
  params.Text(std::string(size_t{16} << 20, 'x'));
  ExpectUnknown(slots.Run(Batch(length, std::move(params))));
  proxy.Thaw();
  ExpectRecovery(slots);
}

TEST_F(Fault, NewConnectionsIntoABlackHoleTimeOutAndRecover) {
  TcpProxy proxy(Postgres::SocketPath());
  proxy.Freeze();
  TestSlots slots(proxy.Through(WithShortDeadline()));
  const ConnectFailure failure = slots.WaitConnectFailure();
  EXPECT_FALSE(failure.needs_person);
  EXPECT_EQ(failure.status.code(), Code::kDatabaseUnavailable);
  proxy.Thaw();
  ExpectRecovery(slots);
}

TEST_F(Fault, ABlackHoleDoesNotHideTheHostBehindIt) {
  TcpProxy hole(Postgres::SocketPath());
  TcpProxy fine(Postgres::SocketPath());
  hole.Freeze();
  ConnectOptions options = WithShortDeadline();
  options.keywords = {{"host", "127.0.0.1,127.0.0.1"},
                      {"port", fmt::format("{},{}", hole.port(), fine.port())}};
  TestSlots slots(options);
  ExpectRecovery(slots);
}

TEST_F(Fault, AnAnswerThatTakesLongButMovesIsNotSilence) {
  ConnectOptions options = WithShortDeadline();
  options.in_flight_deadline_ms = 1'000;
  TestSlots slots(options);
  slots.WaitFree();
  // Half as long again as the deadline, in rows that are too large for the server to hold back.
  BatchResult result =
      slots.Run("SELECT pg_sleep(0.05)::text || repeat('x', 20000) FROM generate_series(1, 30)");
  ASSERT_TRUE(result.ok()) << result.status.ToString();
  EXPECT_EQ(result.rows[0].rows(), 30);
}

TEST_F(Fault, TheServerBecomesReadOnly) {
  TestSlots slots(Postgres::Options());
  slots.WaitFree();
  const int pid = slots.backend_pid();
  const Statement read_only{
      "read_only", "SELECT set_config('transaction_read_only', 'on', true)", {}};
  const Statement insert{"insert", "INSERT INTO public.t VALUES (1)", {}};
  Batch batch;
  batch.Add(read_only, Params());
  batch.Add(insert, Params());
  const BatchResult result = slots.Run(std::move(batch));
  EXPECT_EQ(result.outcome, Outcome::kFailure);
  EXPECT_EQ(result.sqlstate, "25006");
  EXPECT_EQ(result.status.code(), Code::kDatabaseUnavailable);
  slots.WaitDowns(1);
  ExpectRecovery(slots);
  EXPECT_NE(slots.backend_pid(), pid);
}

TEST_F(Fault, ConnectionsBeyondTheLimitWaitWhileOthersWork) {
  postgres_.Ask("DROP ROLE IF EXISTS limited");
  postgres_.Ask("CREATE ROLE limited LOGIN CONNECTION LIMIT 2");
  ConnectOptions options = Postgres::Options();
  options.keywords = {{"user", "limited"}};
  TestSlots slots(options, 4);
  slots.WaitFree(2);
  const ConnectFailure failure = slots.WaitConnectFailure();
  EXPECT_EQ(failure.sqlstate, "53300");
  EXPECT_FALSE(failure.needs_person);
  EXPECT_EQ(slots.counts().up, 2);
  EXPECT_TRUE(slots.Run("SELECT 1").ok());
  postgres_.Ask("ALTER ROLE limited CONNECTION LIMIT -1");
  ExpectRecovery(slots, 4);
}

}  // namespace
}  // namespace queen::pg
