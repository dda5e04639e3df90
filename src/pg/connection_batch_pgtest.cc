// What a batch is: one transaction, one Sync, one write, answered in order, all or nothing; and how
// its statements get prepared.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pg/testing/postgres.h"
#include "pg/testing/tcp_proxy.h"
#include "pg/testing/test_slots.h"
#include "pg/testing/wire.h"

namespace queen::pg {
namespace {

using testing::MessageTypes;
using testing::Postgres;
using testing::TcpProxy;
using testing::TestSlots;

const Statement kInsert{"insert_n", "INSERT INTO public.t VALUES ($1)", {oid::kInt4}};
const Statement kInsertChild{"insert_child", "INSERT INTO public.child VALUES ($1)", {oid::kInt4}};
const Statement kEcho{"echo", "SELECT $1", {oid::kInt4}};
const Statement kDivide{"divide", "SELECT 1 / $1", {oid::kInt4}};
const Statement kPrepared{"prepared",
                          "SELECT count(*) FROM pg_catalog.pg_prepared_statements WHERE name = $1",
                          {oid::kText}};

Params One(int32_t value) {
  Params params;
  params.Int4(value);
  return params;
}

Params One(std::string_view value) {
  Params params;
  params.Text(value);
  return params;
}

class BatchTest : public ::testing::Test {
 protected:
  BatchTest() {
    postgres_.Ask("DROP TABLE IF EXISTS public.t, public.child, public.parent");
    postgres_.Ask("CREATE TABLE public.t (n int)");
    postgres_.Ask("CREATE TABLE public.parent (n int PRIMARY KEY)");
    postgres_.Ask(
        "CREATE TABLE public.child (n int REFERENCES public.parent DEFERRABLE INITIALLY DEFERRED)");
  }

  std::string CountOf(const std::string& table) {
    return postgres_.Ask("SELECT count(*) FROM public." + table);
  }

  Postgres postgres_;
};

TEST_F(BatchTest, ManyBatchesAreAnsweredInOrder) {
  constexpr int kDepth = 16;
  constexpr int kBatches = 2'000;
  TestSlots slots(Postgres::Options(), 1, kDepth);
  slots.WaitFree();
  std::vector<int> answers;
  std::promise<void> done;
  slots.Call([&](Slots& s) {
    // Each answer sends the next batch, so that the pipeline stays full.
    auto sent = std::make_shared<int>(0);
    auto send = std::make_shared<std::function<void()>>();
    *send = [&s, &answers, &done, sent, send] {
      const int n = (*sent)++;
      s.Execute(Batch(kEcho, One(n)), [&, sent, send](BatchResult result) {
        ASSERT_TRUE(result.ok()) << result.status.ToString();
        answers.push_back(result.rows[0].Int4(0, 0));
        if (*sent < kBatches) (*send)();
        if (answers.size() == kBatches) {
          done.set_value();
          *send = nullptr;
        }
      });
    };
    for (int i = 0; i < kDepth; ++i) (*send)();
    EXPECT_EQ(s.connection(0).load(), kDepth);
    EXPECT_EQ(s.FindFree(), Slots::kNone);
  });
  done.get_future().wait();
  ASSERT_EQ(answers.size(), size_t{kBatches});
  for (int i = 0; i < kBatches; ++i) EXPECT_EQ(answers[static_cast<size_t>(i)], i);
}

TEST_F(BatchTest, OneBatchIsOneWriteAndOneSync) {
  TcpProxy proxy(Postgres::SocketPath());
  TestSlots slots(proxy.Through(Postgres::Options()));
  slots.WaitFree();
  proxy.StartRecording();
  Batch three;
  three.Add(kEcho, One(1));
  three.Add(kInsert, One(2));
  three.Add(kEcho, One(3));
  ASSERT_TRUE(slots.Run(std::move(three)).ok());
  auto sent = proxy.Recorded();
  // Parse and Bind, Describe, Execute for what is new, no Parse for what is not, and one Sync.
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(MessageTypes(sent[0]),
            "PBDE"
            "PBDE"
            "BDE"
            "S");

  proxy.StartRecording();
  ASSERT_TRUE(slots.Run(Batch(kInsert, One(4))).ok());
  sent = proxy.Recorded();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(MessageTypes(sent[0]), "BDES");
  EXPECT_EQ(CountOf("t"), "2");
}

TEST_F(BatchTest, ALargeBatchAlsoHasOneSync) {
  TcpProxy proxy(Postgres::SocketPath());
  TestSlots slots(proxy.Through(Postgres::Options()));
  slots.WaitFree();
  const Statement length{"length", "SELECT length($1)", {oid::kText}};
  proxy.StartRecording();
  Params params;
  params.Text(std::string(1 << 20, 'x'));
  BatchResult result = slots.Run(Batch(length, std::move(params)));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.rows[0].Int4(0, 0), 1 << 20);
  std::string all;
  for (const auto& chunk : proxy.Recorded()) all += chunk;
  EXPECT_EQ(MessageTypes(all), "PBDES");
}

TEST_F(BatchTest, AnErrorInTheMiddleRollsBackAllOfIt) {
  TestSlots slots(Postgres::Options());
  slots.WaitFree();
  Batch batch;
  batch.Add(kInsert, One(1));
  batch.Add(kDivide, One(0));
  batch.Add(kInsert, One(2));
  const BatchResult result = slots.Run(std::move(batch));
  EXPECT_EQ(result.outcome, Outcome::kFailure);
  EXPECT_TRUE(result.sent);
  EXPECT_EQ(result.sqlstate, "22012");
  EXPECT_EQ(result.status.code(), Code::kDatabaseRefused);
  EXPECT_EQ(result.failed_statement, 1);
  EXPECT_TRUE(result.rows.empty());
  EXPECT_EQ(CountOf("t"), "0");
  EXPECT_TRUE(slots.Run(Batch(kInsert, One(3))).ok());
  EXPECT_EQ(CountOf("t"), "1");
}

TEST_F(BatchTest, AFailedBatchLeavesItsPipelineNeighboursAlone) {
  TestSlots slots(Postgres::Options(), 1, 3);
  slots.WaitFree();
  ASSERT_TRUE(slots.Run(Batch(kInsert, One(0))).ok());
  ASSERT_TRUE(slots.Run(Batch(kDivide, One(1))).ok());
  std::vector<std::future<BatchResult>> answers;
  answers.push_back(slots.Begin(Batch(kInsert, One(1))));
  answers.push_back(slots.Begin(Batch(kDivide, One(0))));
  answers.push_back(slots.Begin(Batch(kInsert, One(2))));
  EXPECT_TRUE(answers[0].get().ok());
  EXPECT_EQ(answers[1].get().outcome, Outcome::kFailure);
  EXPECT_TRUE(answers[2].get().ok());
  EXPECT_EQ(CountOf("t"), "3");
}

TEST_F(BatchTest, AnErrorAtCommitIsAFailure) {
  TestSlots slots(Postgres::Options());
  slots.WaitFree();
  Batch batch;
  batch.Add(kInsert, One(1));
  batch.Add(kInsertChild, One(77));  // every statement succeeds; the commit does not
  const BatchResult result = slots.Run(std::move(batch));
  EXPECT_EQ(result.outcome, Outcome::kFailure);
  EXPECT_EQ(result.sqlstate, "23503");
  EXPECT_EQ(result.failed_statement, BatchResult::kNoStatement);
  EXPECT_TRUE(result.rows.empty());
  EXPECT_EQ(CountOf("t"), "0");
  EXPECT_TRUE(slots.Run(Batch(kInsert, One(2))).ok());
  EXPECT_EQ(CountOf("t"), "1");
}

TEST_F(BatchTest, AnErrorAtCommitInAFullPipeline) {
  TestSlots slots(Postgres::Options(), 1, 3);
  slots.WaitFree();
  ASSERT_TRUE(slots.Run(Batch(kInsert, One(0))).ok());
  std::vector<std::future<BatchResult>> answers;
  answers.push_back(slots.Begin(Batch(kInsertChild, One(77))));
  answers.push_back(slots.Begin(Batch(kInsert, One(1))));
  answers.push_back(slots.Begin(Batch(kInsert, One(2))));
  EXPECT_EQ(answers[0].get().sqlstate, "23503");
  EXPECT_TRUE(answers[1].get().ok());
  EXPECT_TRUE(answers[2].get().ok());
  EXPECT_EQ(CountOf("t"), "3");
}

TEST_F(BatchTest, OurOwnSqlstatesBecomeOurCodes) {
  TestSlots slots(Postgres::Options());
  slots.WaitFree();
  const BatchResult result = slots.Run(
      "DO $$ BEGIN RAISE EXCEPTION 'no such queue' USING ERRCODE = 'QN404', DETAIL = '{}'; END $$");
  EXPECT_EQ(result.outcome, Outcome::kFailure);
  EXPECT_EQ(result.status.code(), Code::kNotFound);
  EXPECT_EQ(result.status.message(), "no such queue");
  EXPECT_EQ(result.sqlstate, "QN404");
  EXPECT_EQ(result.detail, "{}");
}

TEST_F(BatchTest, ALocalSettingEndsWithItsBatch) {
  TestSlots slots(Postgres::Options());
  slots.WaitFree();
  const Statement relax{
      "relax", "SELECT pg_catalog.set_config('synchronous_commit', 'off', true)", {}};
  const Statement show{"show", "SELECT current_setting('synchronous_commit')", {}};
  Batch batch;
  batch.Add(relax, Params());
  batch.Add(show, Params());
  BatchResult inside = slots.Run(std::move(batch));
  ASSERT_TRUE(inside.ok());
  EXPECT_EQ(inside.rows[1].Text(0, 0), "off");
  BatchResult after = slots.Run(Batch(show, Params()));
  EXPECT_EQ(after.rows[0].Text(0, 0), "on");
}

TEST_F(BatchTest, StatementsArePreparedOncePerConnectionAndAgainAfterReconnecting) {
  TcpProxy proxy(Postgres::SocketPath());
  TestSlots slots(proxy.Through(Postgres::Options()));
  slots.WaitFree();
  proxy.StartRecording();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(slots.Run(Batch(kEcho, One(i))).ok());
  EXPECT_EQ(slots.Run(Batch(kPrepared, One("echo"))).rows[0].Int8(0, 0), 1);
  const auto count_parses = [&] {
    std::string types;
    for (const auto& chunk : proxy.Recorded()) types += MessageTypes(chunk);
    return std::count(types.begin(), types.end(), 'P');
  };
  EXPECT_EQ(count_parses(), 2);

  proxy.Cut();
  slots.WaitDowns(1);
  slots.WaitFree();
  EXPECT_EQ(slots.Run(Batch(kPrepared, One("echo"))).rows[0].Int8(0, 0), 0);
  EXPECT_EQ(slots.Run(Batch(kEcho, One(5))).rows[0].Int4(0, 0), 5);
  EXPECT_EQ(slots.Run(Batch(kPrepared, One("echo"))).rows[0].Int8(0, 0), 1);
}

TEST_F(BatchTest, APrepareThatFailedIsTriedAgain) {
  postgres_.Ask("DROP FUNCTION IF EXISTS public.later()");
  TestSlots slots(Postgres::Options());
  slots.WaitFree();
  const Statement later{"later", "SELECT public.later()", {}};
  for (int i = 0; i < 2; ++i) {
    const BatchResult missing = slots.Run(Batch(later, Params()));
    EXPECT_EQ(missing.outcome, Outcome::kFailure);
    EXPECT_EQ(missing.sqlstate, "42883");
    EXPECT_EQ(missing.failed_statement, 0);
  }
  postgres_.Ask("CREATE FUNCTION public.later() RETURNS int LANGUAGE sql AS 'SELECT 8'");
  EXPECT_EQ(slots.Run(Batch(later, Params())).rows[0].Int4(0, 0), 8);
}

TEST_F(BatchTest, APrepareThatNeverRanIsTriedAgain) {
  TestSlots slots(Postgres::Options());
  slots.WaitFree();
  Batch batch;
  batch.Add(kDivide, One(0));
  batch.Add(kEcho, One(1));  // its Parse is skipped with the rest
  EXPECT_EQ(slots.Run(std::move(batch)).outcome, Outcome::kFailure);
  EXPECT_EQ(slots.Run(Batch(kEcho, One(2))).rows[0].Int4(0, 0), 2);
  EXPECT_EQ(slots.Run(Batch(kDivide, One(1))).rows[0].Int4(0, 0), 1);
}

TEST_F(BatchTest, ABatchWaitsForAPrepareInFlightAndSurvivesItsFailure) {
  postgres_.Ask("DROP FUNCTION IF EXISTS public.later()");
  TestSlots slots(Postgres::Options(), 1, 4);
  slots.WaitFree();
  const Statement later{"later", "SELECT public.later()", {}};
  std::vector<std::future<BatchResult>> answers;
  answers.push_back(slots.Begin(Batch(later, Params())));
  answers.push_back(slots.Begin(Batch(later, Params())));
  answers.push_back(slots.Begin(Batch(kEcho, One(4))));
  EXPECT_EQ(answers[0].get().sqlstate, "42883");
  EXPECT_EQ(answers[1].get().sqlstate, "42883");
  EXPECT_EQ(answers[2].get().rows[0].Int4(0, 0), 4);
}

TEST_F(BatchTest, AChangedResultTypeIsPreparedAnewOnTheNextUse) {
  TestSlots slots(Postgres::Options());
  slots.WaitFree();
  const Statement all{"all_of_t", "SELECT * FROM public.t", {}};
  ASSERT_TRUE(slots.Run(Batch(kInsert, One(1))).ok());
  ASSERT_TRUE(slots.Run(Batch(all, Params())).ok());
  postgres_.Ask("ALTER TABLE public.t ADD COLUMN more text DEFAULT 'x'");
  const BatchResult stale = slots.Run(Batch(all, Params()));
  EXPECT_EQ(stale.outcome, Outcome::kFailure);
  EXPECT_EQ(stale.sqlstate, "0A000");
  EXPECT_EQ(stale.status.code(), Code::kDatabaseRetry);
  BatchResult fresh = slots.Run(Batch(all, Params()));
  ASSERT_TRUE(fresh.ok()) << fresh.status.ToString();
  EXPECT_EQ(fresh.rows.size(), 1U);
  EXPECT_EQ(fresh.rows[0].columns(), 2);
  EXPECT_TRUE(slots.Run(Batch(all, Params())).ok());
}

TEST_F(BatchTest, StatementsTheSessionLostArePreparedAnew) {
  TestSlots slots(Postgres::Options());
  slots.WaitFree();
  ASSERT_TRUE(slots.Run(Batch(kEcho, One(1))).ok());
  ASSERT_TRUE(slots.Run("DEALLOCATE ALL").ok());
  const BatchResult lost = slots.Run(Batch(kEcho, One(2)));
  EXPECT_EQ(lost.outcome, Outcome::kFailure);
  EXPECT_EQ(lost.sqlstate, "26000");
  EXPECT_EQ(lost.status.code(), Code::kDatabaseRetry);
  EXPECT_EQ(slots.Run(Batch(kEcho, One(3))).rows[0].Int4(0, 0), 3);
}

}  // namespace
}  // namespace queen::pg
