#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <limits>

namespace queen {
namespace {

std::string Quoted(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

TEST(JsonWriter, EscapesStrings) {
  EXPECT_EQ(Quoted(""), R"("")");
  EXPECT_EQ(Quoted(R"(a"b\c)"), R"("a\"b\\c")");
  EXPECT_EQ(Quoted(std::string_view("\0\n\x1f\x7f", 4)), "\"\\u0000\\n\\u001f\x7f\"");
  EXPECT_EQ(Quoted("grüße 蜂 🐝"), "\"grüße 蜂 🐝\"");
}

TEST(JsonWriter, InvalidUtf8BecomesReplacementCharacters) {
  EXPECT_EQ(Quoted("a\xff"
                   "b"),
            "\"a\xEF\xBF\xBD"
            "b\"");
  EXPECT_EQ(Quoted("\xed\xa0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(Quoted("\xe2\x82"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(JsonWriter, NestsWithCommas) {
  std::string out;
  JsonWriter w(out);
  w.BeginObject();
  w.Field("name", "x");
  w.Key("list");
  w.BeginArray();
  w.Int(1);
  w.Null();
  w.BeginObject();
  w.EndObject();
  w.Raw("[2]");
  w.EndArray();
  w.Field("ok", true);
  w.Field("ratio", 0.5);
  w.Field("nan", std::numeric_limits<double>::quiet_NaN());
  w.EndObject();
  EXPECT_EQ(out, R"({"name":"x","list":[1,null,{},[2]],"ok":true,"ratio":0.5,"nan":null})");
}

}  // namespace
}  // namespace queen
