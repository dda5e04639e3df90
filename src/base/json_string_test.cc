#include "base/json_string.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json_reader.h"
#include "base/utf8.h"

namespace queen {
namespace {

JsonText Decode(std::string_view json, JsonScratch& scratch) {
  Result<JsonValue> value = ParseJson(json);
  EXPECT_TRUE(value.ok()) << json;
  return value->Text(scratch);
}

TEST(JsonString, DecodesEscapes) {
  JsonScratch scratch;
  const std::vector<std::pair<const char*, std::string_view>> cases = {
      {R"("")", ""},
      {R"("plain")", "plain"},
      {R"("\"\\\/\b\f\n\r\t")", "\"\\/\b\f\n\r\t"},
      {R"("\u0041\u00e9\u20AC")", "A\xC3\xA9\xE2\x82\xAC"},
      {R"("\ud83d\ude00!")", "\xF0\x9F\x98\x80!"},
      {R"("\uD800\uDC00\uDBFF\uDFFF")", "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"},
      {R"("\\u0041")", "\\u0041"},
      {R"("\u007f\u0080\u07ff\u0800\uffff")", "\x7f\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF"},
  };
  for (const auto& [json, text] : cases) {
    const JsonText decoded = Decode(json, scratch);
    EXPECT_EQ(decoded.text, text) << json;
    EXPECT_TRUE(decoded.storable()) << json;
  }
}

TEST(JsonString, TellsNulAndLoneSurrogates) {
  JsonScratch scratch;
  const JsonText nul = Decode(R"("a\u0000b")", scratch);
  EXPECT_EQ(nul.text, std::string_view("a\0b", 3));
  EXPECT_TRUE(nul.has_nul);
  EXPECT_FALSE(nul.has_lone_surrogate);
  for (const char* json : {R"("\ud800")", R"("\udc00")", R"("\ud800x")", R"("\ud800\n")",
                           R"("\ud800\ud800\udc00")", R"("\udc00\ud800")", R"("\ud800\u0041")"}) {
    const JsonText decoded = Decode(json, scratch);
    EXPECT_TRUE(decoded.has_lone_surrogate) << json;
    EXPECT_TRUE(IsValidUtf8(decoded.text)) << json;
    EXPECT_NE(decoded.text.find("\xEF\xBF\xBD"), std::string_view::npos) << json;
  }
}

TEST(JsonString, TextsWithoutEscapesAreSlices) {
  JsonScratch scratch;
  const std::string json = R"("no escapes")";
  EXPECT_EQ(Decode(json, scratch).text.data(), json.data() + 1);
}

TEST(JsonString, DecodedTextsStayWhereTheyAre) {
  JsonScratch scratch;
  std::vector<std::string_view> texts;
  std::vector<std::string> expected;
  for (size_t i = 0; i < 300; ++i) {
    const std::string body(i * 7, static_cast<char>('a' + i % 26));
    texts.push_back(Decode("\"\\t" + body + "\"", scratch).text);
    expected.push_back("\t" + body);
  }
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(texts[i], expected[i]);
  scratch.Clear();
  EXPECT_EQ(Decode(R"("\n")", scratch).text, "\n");
}

}  // namespace
}  // namespace queen
