#include "pg/params.h"

#include <gtest/gtest.h>

namespace queen::pg {
namespace {

std::string Hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

// Each value as hex, "null" for null.
std::vector<std::string> HexOf(const Params& params) {
  std::vector<const char*> pointers;
  std::vector<int> lengths;
  params.Describe(pointers, lengths);
  std::vector<std::string> values;
  for (size_t i = 0; i < params.size(); ++i) {
    values.push_back(pointers[i] == nullptr ? "null"
                                            : Hex({pointers[i], static_cast<size_t>(lengths[i])}));
  }
  return values;
}

TEST(Params, ScalarsAreBigEndian) {
  Params params;
  params.Bool(true).Bool(false).Int4(-2).Int8(0x0102030405060708).Float8(1.0).Xid8(255);
  EXPECT_EQ(HexOf(params), (std::vector<std::string>{"01", "00", "fffffffe", "0102030405060708",
                                                     "3ff0000000000000", "00000000000000ff"}));
  EXPECT_EQ(params.bytes(), 30U);
}

TEST(Params, TextsAndBytesAreThemselves) {
  const std::string kept = "lvalue";
  Params params;
  params.Text("abc").Text(std::string("moved in")).Text(kept).Json("[]").Jsonb("[]");
  params.Bytea(std::string_view("\0\xff", 2)).Text("").Bytea(std::string());
  EXPECT_EQ(HexOf(params), (std::vector<std::string>{"616263", "6d6f76656420696e", "6c76616c7565",
                                                     "5b5d", "015b5d", "00ff", "", ""}));
  EXPECT_EQ(kept, "lvalue");
}

TEST(Params, NullHasATypeAndNoValue) {
  Params params;
  params.Null(oid::kUuid).Int4(1);
  EXPECT_EQ(HexOf(params), (std::vector<std::string>{"null", "00000001"}));
  EXPECT_EQ(params.TypeOf(0), oid::kUuid);
  EXPECT_EQ(params.TypeOf(1), oid::kInt4);
}

TEST(Params, TimesCountFrom2000) {
  Params params;
  params.TimestampTz(946'684'800'000'001);
  params.TimestampTz(INT64_MAX).TimestampTz(INT64_MIN).TimestampTz(INT64_MIN + 1);
  EXPECT_EQ(HexOf(params), (std::vector<std::string>{"0000000000000001", "7fffffffffffffff",
                                                     "8000000000000000", "8000000000000000"}));
}

TEST(Params, AnArrayHasAHeaderAndLengths) {
  Int4Array array(2, 4);
  array.Add(7);
  array.AddNull();
  EXPECT_EQ(array.size(), 2U);
  Params params;
  params.Add(std::move(array));
  EXPECT_EQ(params.TypeOf(0), oid::kInt4Array);
  EXPECT_EQ(HexOf(params)[0],
            "00000001"  // one dimension
            "00000001"  // has nulls
            "00000017"  // of int4
            "00000002"  // two elements
            "00000001"  // counted from 1
            "0000000400000007"
            "ffffffff");
}

TEST(Params, AnEmptyArrayHasNoDimension) {
  Params params;
  params.Add(TextArray(10, 100));
  EXPECT_EQ(HexOf(params)[0], "000000000000000000000019");
}

TEST(Params, PointersSurviveMoves) {
  Params params;
  params.Text("first").Text(std::string("second"));
  Params moved = std::move(params);
  EXPECT_EQ(HexOf(moved), (std::vector<std::string>{"6669727374", "7365636f6e64"}));
}

}  // namespace
}  // namespace queen::pg
