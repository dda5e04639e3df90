#include "pg/prepared_statements.h"

#include <gtest/gtest.h>

namespace queen::pg {
namespace {

const Statement kStatement{"s", "SELECT 1", {}};

class PreparedStatementsTest : public ::testing::Test {
 protected:
  void Prepare(std::string_view sqlstate = {}) {
    prepared_.OnPrepareSent(kStatement);
    prepared_.OnPrepared(kStatement, sqlstate);
  }
  bool NeedsPrepare() const { return prepared_.NeedsOf(kStatement).prepare; }
  bool NeedsDeallocate() const { return prepared_.NeedsOf(kStatement).deallocate; }

  PreparedStatements prepared_;
};

TEST_F(PreparedStatementsTest, PreparedOnce) {
  EXPECT_TRUE(NeedsPrepare());
  EXPECT_FALSE(prepared_.IsPending(kStatement));
  prepared_.OnPrepareSent(kStatement);
  EXPECT_TRUE(prepared_.IsPending(kStatement));
  EXPECT_FALSE(NeedsPrepare());
  prepared_.OnPrepared(kStatement, {});
  EXPECT_FALSE(prepared_.IsPending(kStatement));
  EXPECT_FALSE(NeedsPrepare());
  prepared_.Clear();
  EXPECT_TRUE(NeedsPrepare());
}

TEST_F(PreparedStatementsTest, FailedOrSkippedIsNotPrepared) {
  Prepare("42883");
  EXPECT_TRUE(NeedsPrepare());
  EXPECT_FALSE(NeedsDeallocate());
  Prepare(PreparedStatements::kSkipped);
  EXPECT_TRUE(NeedsPrepare());
}

TEST_F(PreparedStatementsTest, LostByTheServer) {
  Prepare();
  prepared_.OnExecutionFailed(kStatement, "26000");
  EXPECT_TRUE(NeedsPrepare());
  EXPECT_FALSE(NeedsDeallocate());
}

TEST_F(PreparedStatementsTest, StaleIsReplaced) {
  Prepare();
  prepared_.OnExecutionFailed(kStatement, "0A000");
  EXPECT_TRUE(NeedsPrepare());
  EXPECT_TRUE(NeedsDeallocate());
  prepared_.OnPrepareSent(kStatement);
  prepared_.OnDeallocated(kStatement, {});
  prepared_.OnPrepared(kStatement, {});
  EXPECT_FALSE(NeedsPrepare());
  EXPECT_FALSE(NeedsDeallocate());
}

TEST_F(PreparedStatementsTest, StaleAndNothingRan) {
  Prepare();
  prepared_.OnExecutionFailed(kStatement, "0A000");
  prepared_.OnPrepareSent(kStatement);
  prepared_.OnDeallocated(kStatement, PreparedStatements::kSkipped);
  prepared_.OnPrepared(kStatement, PreparedStatements::kSkipped);
  EXPECT_TRUE(NeedsDeallocate());
}

TEST_F(PreparedStatementsTest, StaleDeallocatedButNotPrepared) {
  Prepare();
  prepared_.OnExecutionFailed(kStatement, "0A000");
  prepared_.OnPrepareSent(kStatement);
  prepared_.OnDeallocated(kStatement, {});
  prepared_.OnPrepared(kStatement, "42883");
  EXPECT_TRUE(NeedsPrepare());
  EXPECT_FALSE(NeedsDeallocate());
}

TEST_F(PreparedStatementsTest, AlreadyThereIsReplaced) {
  Prepare("42P05");
  EXPECT_TRUE(NeedsPrepare());
  EXPECT_TRUE(NeedsDeallocate());
}

TEST_F(PreparedStatementsTest, OtherErrorsKeepIt) {
  Prepare();
  for (const std::string_view sqlstate : {"22012", "40001", "57014"}) {
    prepared_.OnExecutionFailed(kStatement, sqlstate);
  }
  EXPECT_FALSE(NeedsPrepare());
}

}  // namespace
}  // namespace queen::pg
