#include "base/status.h"

#include <gtest/gtest.h>

#include <set>

namespace queen {
namespace {

TEST(Status, DefaultIsOk) {
  Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.ToString(), "ok");
}

TEST(Status, EmptyMessageTakesTheTextOfTheList) {
  Status status(Code::kNotFound);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.message(), "Not found");
  EXPECT_EQ(status.ToString(), "not_found: Not found");
}

TEST(Status, NamesAndSqlStatesAreUnique) {
  std::set<std::string_view> names;
  std::set<std::string_view> sqlstates;
#define CHECK_ROW(id, json_name, state, http, retryable, text) \
  EXPECT_TRUE(names.insert(json_name).second) << (json_name);  \
  if (!std::string_view(state).empty()) {                      \
    EXPECT_TRUE(sqlstates.insert(state).second) << (state);    \
  }                                                            \
  EXPECT_EQ(InfoOf(Code::id).name, json_name);
  QUEEN_ERROR_CODES(CHECK_ROW)
#undef CHECK_ROW
}

TEST(Status, SqlStatesOfOursMapBack) {
  EXPECT_EQ(CodeOfSqlState("QN010"), Code::kWrongIsolation);
  EXPECT_EQ(CodeOfSqlState("QN999"), std::nullopt);
  EXPECT_EQ(CodeOfSqlState("23505"), std::nullopt);
}

Result<int> Half(int n) {
  if (n % 2 != 0) return Status(Code::kInvalidRequest, "odd");
  return n / 2;
}

TEST(Result, HoldsAValueOrAStatus) {
  EXPECT_EQ(*Half(4), 2);
  EXPECT_EQ(Half(3).status().code(), Code::kInvalidRequest);
}

}  // namespace
}  // namespace queen
