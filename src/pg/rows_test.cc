// Rows over results made by hand; value_types_pgtest has those of a server.

#include "pg/rows.h"

#include <gtest/gtest.h>
#include <libpq-fe.h>

namespace queen::pg {
namespace {

using namespace std::string_literals;

// One row with one column of `type` and these bytes.
Rows Single(Oid type, const std::string& bytes) {
  ResultHandle result(PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK));
  std::string name = "c";
  PGresAttDesc column{.name = name.data(),
                      .tableid = 0,
                      .columnid = 0,
                      .format = 1,
                      .typid = type,
                      .typlen = -1,
                      .atttypmod = -1};
  PQsetResultAttrs(result.get(), 1, &column);
  std::string value = bytes;
  PQsetvalue(result.get(), 0, 0, value.data(), static_cast<int>(value.size()));
  return Rows(std::move(result));
}

Rows SingleNull(Oid type) {
  ResultHandle result(PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK));
  std::string name = "c";
  PGresAttDesc column{.name = name.data(),
                      .tableid = 0,
                      .columnid = 0,
                      .format = 1,
                      .typid = type,
                      .typlen = -1,
                      .atttypmod = -1};
  PQsetResultAttrs(result.get(), 1, &column);
  PQsetvalue(result.get(), 0, 0, nullptr, -1);
  return Rows(std::move(result));
}

TEST(Rows, NoResultIsEmpty) {
  const Rows rows;
  EXPECT_TRUE(rows.empty());
  EXPECT_EQ(rows.columns(), 0);
  EXPECT_EQ(rows.Affected(), 0);
}

TEST(Rows, MovesLeaveNothingBehind) {
  Rows rows = Single(oid::kText, "abc");
  const std::string_view text = rows.Text(0, 0);
  const Rows moved = std::move(rows);
  EXPECT_EQ(text, "abc");
  EXPECT_EQ(moved.Text(0, 0).data(), text.data());
  EXPECT_TRUE(rows.empty());  // NOLINT(bugprone-use-after-move)
}

TEST(Rows, ExpectNamesWhatDiffers) {
  const Rows rows = Single(oid::kText, "abc");
  EXPECT_TRUE(rows.Expect({oid::kText}).ok());
  EXPECT_EQ(rows.Expect({}).code(), Code::kInternal);
  EXPECT_EQ(rows.Expect({oid::kInt4}).message(), "column c has type 25 instead of 23");
}

using RowsDeathTest = ::testing::Test;

TEST(RowsDeathTest, WrongReadsAreCaught) {
  const Rows number = Single(oid::kInt8, "\0\0\0\0\0\0\0\7"s);
  EXPECT_EQ(number.Int8(0, 0), 7);
  EXPECT_DEATH((void)number.Int4(0, 0), "wanted=int4");
  EXPECT_DEATH((void)number.Text(0, 0), "wanted=text");
  EXPECT_DEATH((void)number.Array(0, 0), "wanted=\"an array\"");
  EXPECT_DEATH((void)number.Int8(1, 0), "row=1 rows=1");
  EXPECT_DEATH((void)number.Int8(-1, 0), "row=-1");
  EXPECT_DEATH((void)number.Int8(0, 1), "column=1 columns=1");
  EXPECT_DEATH((void)number.TypeOf(3), "column=3");
}

TEST(RowsDeathTest, NullIsNoValue) {
  const Rows rows = SingleNull(oid::kInt4);
  EXPECT_TRUE(rows.IsNull(0, 0));
  EXPECT_DEATH((void)rows.Int4(0, 0), "not null");
}

TEST(RowsDeathTest, WrongLengthsAreCaught) {
  EXPECT_DEATH((void)Single(oid::kInt4, "\0\0\0"s).Int4(0, 0), "wanted=int4");
  EXPECT_DEATH((void)Single(oid::kInt8, "\0\0\0\0"s).Int8(0, 0), "wanted=int8");
  EXPECT_DEATH((void)Single(oid::kUuid, "0123456789"s).Uuid(0, 0), "wanted=uuid");
  EXPECT_DEATH((void)Single(oid::kBool, ""s).Bool(0, 0), "wanted=bool");
  EXPECT_DEATH((void)Single(oid::kJsonb, ""s).Text(0, 0), "wanted=text");
  EXPECT_DEATH((void)Single(oid::kTimestampTz, "\0"s).TimestampTz(0, 0), "wanted=timestamptz");
}

TEST(RowsDeathTest, BrokenArraysAreCaught) {
  EXPECT_DEATH((void)Single(oid::kInt4Array, "\0\0\0"s).Array(0, 0), "no array header");
  const std::string two_dimensions = "\0\0\0\2\0\0\0\0\0\0\0\x17"s + std::string(16, '\0');
  EXPECT_DEATH((void)Single(oid::kInt4Array, two_dimensions).Array(0, 0), "not one dimension");
  const std::string header = "\0\0\0\1\0\0\0\0\0\0\0\x17\0\0\0\1\0\0\0\1"s;
  EXPECT_DEATH((void)Single(oid::kInt4Array, header).Int4Array(0, 0), "cut short");
  EXPECT_DEATH((void)Single(oid::kInt4Array, header + "\0\0\0\4\0\0"s).Int4Array(0, 0),
               "cut short");
  EXPECT_DEATH((void)Single(oid::kInt4Array, header + "\xff\xff\xff\xff"s).Int4Array(0, 0),
               "element is null");
  EXPECT_DEATH((void)Single(oid::kInt4Array, header + "\0\0\0\4\0\0\0\1"s).TextArray(0, 0),
               "another type");
}

}  // namespace
}  // namespace queen::pg
