#include "pg/sqlstate.h"

#include <gtest/gtest.h>

namespace queen::pg {
namespace {

TEST(Sqlstate, MeansOneOfOurCodes) {
  const struct {
    std::string_view sqlstate;
    Code code;
  } cases[] = {
      {"", Code::kDatabaseUnavailable},       // made up by libpq: the connection broke
      {"08006", Code::kDatabaseUnavailable},  // connection failure
      {"25006", Code::kDatabaseUnavailable},  // read-only transaction
      {"25001", Code::kDatabaseRefused},      // the rest of that class
      {"40001", Code::kDatabaseRetry},        // serialization failure
      {"40P01", Code::kDatabaseRetry},        // deadlock
      {"55P03", Code::kDatabaseRetry},        // lock not available
      {"26000", Code::kDatabaseRetry},        // no such prepared statement
      {"53100", Code::kDatabaseUnavailable},  // disk full
      {"53200", Code::kDatabaseUnavailable},  // out of memory, or of locks
      {"53300", Code::kDatabaseUnavailable},  // too many connections
      {"53400", Code::kDatabaseUnavailable},  // configuration limit
      {"57014", Code::kStatementTimeout},     // query cancelled
      {"57P01", Code::kDatabaseUnavailable},  // admin shutdown
      {"57P02", Code::kDatabaseUnavailable},  // crash shutdown
      {"57P03", Code::kDatabaseUnavailable},  // cannot connect now
      {"58030", Code::kDatabaseUnavailable},  // io error
      {"22012", Code::kDatabaseRefused},      // division by zero
      {"23505", Code::kDatabaseRefused},      // unique violation
      {"42883", Code::kDatabaseRefused},      // no such function
      {"XX000", Code::kDatabaseRefused},      // internal error
      {"QN404", Code::kNotFound},             // ours
      {"QN010", Code::kWrongIsolation},       // ours
      {"QN013", Code::kDatabaseUnavailable},  // another database answers
      {"QN999", Code::kDatabaseRefused},      // our class, but not on the list
      {"00000", Code::kDatabaseRefused},      // never kOk
      {"x", Code::kDatabaseRefused},
  };
  for (const auto& [sqlstate, code] : cases) {
    EXPECT_EQ(CodeOf(sqlstate), code) << sqlstate;
  }
}

TEST(Sqlstate, KnowsWhatAPersonMustFix) {
  for (const std::string_view sqlstate : {"28P01", "28000", "3D000", "42501", "22023", "42704"}) {
    EXPECT_TRUE(NeedsAPerson(sqlstate)) << sqlstate;
  }
  for (const std::string_view sqlstate : {"", "53300", "57P03", "08006"}) {
    EXPECT_FALSE(NeedsAPerson(sqlstate)) << sqlstate;
  }
  EXPECT_NE(RefusalOf("28P01").problem.find("password"), std::string_view::npos);
  EXPECT_NE(RefusalOf("28000").check.find("pg_hba.conf"), std::string_view::npos);
  EXPECT_NE(RefusalOf("3D000").problem.find("does not exist"), std::string_view::npos);
  EXPECT_FALSE(RefusalOf("").problem.empty());
}

}  // namespace
}  // namespace queen::pg
