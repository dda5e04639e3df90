// Every type goes to a real server and comes back the same.

#include <gtest/gtest.h>

#include <limits>

#include "pg/testing/postgres.h"
#include "pg/testing/test_slots.h"

namespace queen::pg {
namespace {

using testing::Postgres;
using testing::TestSlots;

constexpr int64_t kMicrosMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMicrosMax = std::numeric_limits<int64_t>::max();

class Types : public ::testing::Test {
 protected:
  Types() : slots_(Postgres::Options()) { slots_.WaitFree(); }

  // The rows of `statement`, which must succeed.
  Rows Run(const Statement& statement, Params params) {
    BatchResult result = slots_.Run(Batch(statement, std::move(params)));
    EXPECT_TRUE(result.ok()) << result.status.ToString() << " " << result.sqlstate;
    if (!result.ok()) return {};
    return std::move(result.rows[0]);
  }

  TestSlots slots_;
};

TEST_F(Types, ScalarsRoundTrip) {
  const Statement echo{"echo_scalars",
                       "SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10",
                       {oid::kBool, oid::kInt4, oid::kInt8, oid::kFloat8, oid::kText, oid::kJson,
                        oid::kJsonb, oid::kBytea, oid::kUuid, oid::kTimestampTz}};
  const Uuid uuid = MakeUuidV7();
  const std::string bytes("\0\xff\n\\'", 5);
  Params params;
  params.Bool(true).Int4(-2'000'000'000).Int8(kMicrosMin + 1).Float8(-0.1);
  params.Text("h\xc3\xa9llo 'quoted' \\ \n").Json("{\"a\":\"\\u0000\"}").Jsonb("{\"b\": [1, 2]}");
  params.Bytea(bytes).Uuid(uuid).TimestampTz(1'700'000'000'123'456);
  const Rows rows = Run(echo, std::move(params));
  ASSERT_EQ(rows.rows(), 1);
  ASSERT_EQ(rows.columns(), 10);
  EXPECT_TRUE(rows.Expect({oid::kBool, oid::kInt4, oid::kInt8, oid::kFloat8, oid::kText, oid::kJson,
                           oid::kJsonb, oid::kBytea, oid::kUuid, oid::kTimestampTz})
                  .ok());
  EXPECT_TRUE(rows.Bool(0, 0));
  EXPECT_EQ(rows.Int4(0, 1), -2'000'000'000);
  EXPECT_EQ(rows.Int8(0, 1), -2'000'000'000);
  EXPECT_EQ(rows.Int8(0, 2), kMicrosMin + 1);
  EXPECT_EQ(rows.Float8(0, 3), -0.1);
  EXPECT_EQ(rows.Text(0, 4), "h\xc3\xa9llo 'quoted' \\ \n");
  EXPECT_EQ(rows.Text(0, 5), "{\"a\":\"\\u0000\"}");
  EXPECT_EQ(rows.Text(0, 6), "{\"b\": [1, 2]}");
  EXPECT_EQ(rows.Bytea(0, 7), bytes);
  EXPECT_EQ(rows.Uuid(0, 8), uuid);
  EXPECT_EQ(rows.TimestampTz(0, 9), 1'700'000'000'123'456);
}

TEST_F(Types, TheServerUnderstandsTheValuesAsWeDo) {
  const Statement print{
      "print",
      "SELECT $1::text, $2::text, $3::text, $4::text, $5::text, $6::text",
      {oid::kInt4, oid::kInt8, oid::kFloat8, oid::kUuid, oid::kTimestampTz, oid::kXid8}};
  Params params;
  params.Int4(-7).Int8(8'000'000'000).Float8(1.5);
  params.Uuid(*Uuid::Parse("01890a5d-ac96-774b-bcce-b302099a8057")).TimestampTz(1).Xid8(77);
  const Rows rows = Run(print, std::move(params));
  EXPECT_EQ(rows.Text(0, 0), "-7");
  EXPECT_EQ(rows.Text(0, 1), "8000000000");
  EXPECT_EQ(rows.Text(0, 2), "1.5");
  EXPECT_EQ(rows.Text(0, 3), "01890a5d-ac96-774b-bcce-b302099a8057");
  EXPECT_EQ(rows.Text(0, 4), "1970-01-01 00:00:00.000001+00");
  EXPECT_EQ(rows.Text(0, 5), "77");
}

TEST_F(Types, NullsAndEmptyTexts) {
  const Statement echo{"echo_nulls",
                       "SELECT $1, $2, $3, $4, NULL::int4",
                       {oid::kText, oid::kText, oid::kUuid, oid::kBytea}};
  Params params;
  params.Text("").Null(oid::kText).Null(oid::kUuid).Bytea(std::string_view());
  const Rows rows = Run(echo, std::move(params));
  EXPECT_FALSE(rows.IsNull(0, 0));
  EXPECT_EQ(rows.Text(0, 0), "");
  EXPECT_TRUE(rows.IsNull(0, 1));
  EXPECT_TRUE(rows.IsNull(0, 2));
  EXPECT_FALSE(rows.IsNull(0, 3));
  EXPECT_EQ(rows.Bytea(0, 3), "");
  EXPECT_TRUE(rows.IsNull(0, 4));
}

TEST_F(Types, TimesAtTheEnds) {
  const Statement echo{"echo_times",
                       "SELECT $1, $2, $3, $1 = '-infinity', $2 = 'infinity', "
                       "'294276-12-31 23:59:59+00'::timestamptz",
                       {oid::kTimestampTz, oid::kTimestampTz, oid::kTimestampTz}};
  Params params;
  params.TimestampTz(kMicrosMin).TimestampTz(kMicrosMax).TimestampTz(-1);
  const Rows rows = Run(echo, std::move(params));
  EXPECT_EQ(rows.TimestampTz(0, 0), kMicrosMin);
  EXPECT_EQ(rows.TimestampTz(0, 1), kMicrosMax);
  EXPECT_EQ(rows.TimestampTz(0, 2), -1);
  EXPECT_TRUE(rows.Bool(0, 3));
  EXPECT_TRUE(rows.Bool(0, 4));
  EXPECT_EQ(rows.TimestampTz(0, 5), kMicrosMax);
}

TEST_F(Types, OtherIntegersReadWide) {
  const Statement select{"integers", "SELECT 7::int2, 4000000000::oid, '12345678901'::xid8", {}};
  const Rows rows = Run(select, Params());
  EXPECT_EQ(rows.Int4(0, 0), 7);
  EXPECT_EQ(rows.Int8(0, 0), 7);
  EXPECT_EQ(rows.Int8(0, 1), 4'000'000'000);
  EXPECT_EQ(rows.Int8(0, 2), 12'345'678'901);
}

TEST_F(Types, ArraysRoundTripWithNullElements) {
  const Statement echo{
      "echo_arrays",
      "SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, array_to_string($5, '|', '-')",
      {oid::kBoolArray, oid::kInt4Array, oid::kInt8Array, oid::kFloat8Array, oid::kTextArray,
       oid::kByteaArray, oid::kUuidArray, oid::kTimestampTzArray, oid::kJsonArray}};
  const Uuid uuid = MakeUuidV7();
  BoolArray bools;
  Int4Array int4s;
  Int8Array int8s;
  Float8Array floats;
  TextArray texts;
  ByteaArray byteas;
  UuidArray uuids;
  TimestampTzArray times;
  JsonArray jsons;
  bools.Add(true);
  int4s.Add(-4);
  int8s.Add(int64_t{1} << 40);
  floats.Add(2.5);
  texts.Add("\xe2\x82\xac{},\"");
  byteas.Add(std::string_view("\0\1", 2));
  uuids.Add(uuid);
  times.Add(1'000'000);
  jsons.Add("[1]");
  const auto add_nulls = [](auto&... arrays) { (arrays.AddNull(), ...); };
  add_nulls(bools, int4s, int8s, floats, texts, byteas, uuids, times, jsons);
  texts.Add("");
  Params params;
  params.Add(std::move(bools)).Add(std::move(int4s)).Add(std::move(int8s)).Add(std::move(floats));
  params.Add(std::move(texts)).Add(std::move(byteas)).Add(std::move(uuids)).Add(std::move(times));
  params.Add(std::move(jsons));
  const Rows rows = Run(echo, std::move(params));

  const auto first = [&](int column) {
    ArrayReader reader = rows.Array(0, column);
    EXPECT_EQ(reader.size(), column == 4 ? 3U : 2U);
    EXPECT_TRUE(reader.Next());
    EXPECT_FALSE(reader.IsNull());
    ArrayReader rest = reader;
    EXPECT_TRUE(rest.Next());
    EXPECT_TRUE(rest.IsNull());
    return reader;
  };
  EXPECT_TRUE(first(0).Bool());
  EXPECT_EQ(first(1).Int4(), -4);
  EXPECT_EQ(first(2).Int8(), int64_t{1} << 40);
  EXPECT_EQ(first(3).Float8(), 2.5);
  EXPECT_EQ(first(4).Text(), "\xe2\x82\xac{},\"");
  EXPECT_EQ(first(5).Bytea(), std::string_view("\0\1", 2));
  EXPECT_EQ(first(6).Uuid(), uuid);
  EXPECT_EQ(first(7).TimestampTz(), 1'000'000);
  EXPECT_EQ(first(8).Text(), "[1]");
  EXPECT_EQ(rows.Text(0, 9), "\xe2\x82\xac{},\"|-|");
}

TEST_F(Types, EmptyArrays) {
  const Statement echo{"echo_empty",
                       "SELECT $1, cardinality($1), $2, $1 IS NULL",
                       {oid::kTextArray, oid::kInt8Array}};
  Params params;
  params.Add(TextArray()).Add(Int8Array(100));
  const Rows rows = Run(echo, std::move(params));
  EXPECT_TRUE(rows.TextArray(0, 0).empty());
  EXPECT_EQ(rows.Int4(0, 1), 0);
  EXPECT_TRUE(rows.Int8Array(0, 2).empty());
  EXPECT_FALSE(rows.Bool(0, 3));
}

TEST_F(Types, LongArraysKeepTheirOrder) {
  constexpr int kCount = 100'000;
  const Statement echo{"unnest_two",
                       "SELECT array_agg(n ORDER BY o), array_agg(t ORDER BY o) "
                       "FROM unnest($1, $2) WITH ORDINALITY AS u(n, t, o)",
                       {oid::kInt4Array, oid::kTextArray}};
  Int4Array numbers(kCount, 4);
  TextArray texts(kCount, 8);
  for (int i = 0; i < kCount; ++i) {
    numbers.Add(i);
    texts.Add(std::to_string(i));
  }
  Params params;
  params.Add(std::move(numbers)).Add(std::move(texts));
  const Rows rows = Run(echo, std::move(params));
  const auto got = rows.Int4Array(0, 0);
  const auto got_texts = rows.TextArray(0, 1);
  ASSERT_EQ(got.size(), size_t{kCount});
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i], static_cast<int>(i));
    ASSERT_EQ(got_texts[i], std::to_string(i));
  }
}

TEST_F(Types, TextWithNulIsRefusedAndHarmsNobody) {
  const Statement echo{"echo_text", "SELECT $1", {oid::kText}};
  Params params;
  params.Text(std::string_view("a\0b", 3));
  const BatchResult refused = slots_.Run(Batch(echo, std::move(params)));
  EXPECT_EQ(refused.outcome, Outcome::kFailure);
  EXPECT_EQ(refused.sqlstate, "22021");
  EXPECT_EQ(refused.status.code(), Code::kDatabaseRefused);
  Params fine;
  fine.Text("fine");
  EXPECT_EQ(Run(echo, std::move(fine)).Text(0, 0), "fine");
}

TEST(LargeTypes, SixtyFourMegabytesBothWaysAtOnce) {
  constexpr int kBytes = 64 << 20;
  ConnectOptions options = Postgres::Options();
  options.statement_timeout_ms = 0;  // sanitizers make libpq's copying slow
  TestSlots slots(options);
  slots.WaitFree();
  // The first answer has to be read while the second statement is still being written: a client
  // that only writes would stand still with the server.
  const Statement make{"make", "SELECT pg_catalog.repeat('x', $1)", {oid::kInt4}};
  const Statement length{"length", "SELECT pg_catalog.length($1)", {oid::kBytea}};
  Params result_size;
  result_size.Int4(kBytes);
  Params large;
  large.Bytea(std::string(kBytes, '\0'));
  Batch batch;
  batch.Add(make, std::move(result_size));
  batch.Add(length, std::move(large));
  const BatchResult result = slots.Run(std::move(batch));
  ASSERT_TRUE(result.ok()) << result.status.ToString();
  ASSERT_EQ(result.rows.size(), 2U);
  EXPECT_EQ(result.rows[0].Text(0, 0).size(), size_t{kBytes});
  EXPECT_EQ(result.rows[0].Text(0, 0).find_first_not_of('x'), std::string_view::npos);
  EXPECT_EQ(result.rows[1].Int4(0, 0), kBytes);
}

TEST_F(Types, AffectedRows) {
  EXPECT_TRUE(slots_.Run("CREATE TABLE public.affected (n int)").ok());
  BatchResult inserted = slots_.Run("INSERT INTO public.affected SELECT generate_series(1, 5)");
  ASSERT_TRUE(inserted.ok());
  EXPECT_EQ(inserted.rows[0].Affected(), 5);
  EXPECT_TRUE(slots_.Run("DROP TABLE public.affected").ok());
}

}  // namespace
}  // namespace queen::pg
