// What is JSON and what is not, as tables; each text is tried at the places where the block
// scanners begin, cross and end a block, in a buffer of its exact size for AddressSanitizer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/json_oracle.h"
#include "base/json_reader.h"

namespace queen {
namespace {

using namespace std::string_literals;

// The verdict on a copy of `text` that has `shift` bytes in front of it and nothing behind it.
Status Check(std::string_view text, size_t shift = 0) {
  const auto copy = std::make_unique_for_overwrite<char[]>(shift + text.size());
  if (!text.empty()) std::memcpy(copy.get() + shift, text.data(), text.size());
  return ParseJson({copy.get() + shift, text.size()}).status();
}

const std::vector<std::string>& Valid() {
  static const std::vector<std::string> texts = {
      "null",
      "true",
      "false",
      "0",
      "-0",
      "1",
      "-1",
      "10",
      "1.5",
      "0.5",
      "1e5",
      "1E5",
      "1e+5",
      "1e-5",
      "0e0",
      "0.0e-0",
      "-1.25E+10",
      "123456789012345678901234567890",
      "9223372036854775808",
      "1e400",
      "-1e-400",
      "0.1234567890123456789012345678901234567890",
      "1" + std::string(400, '0'),
      "\"\"",
      "\"a\"",
      R"("\"\\\/\b\f\n\r\t")",
      R"("\u0000")",
      R"("\u12aB")",
      R"("\ud800")",
      R"("\udc00\ud800")",
      R"("\uD83D\uDE00")",
      "\"\x7f\"",
      "\"\xC2\x80\xDF\xBF\"",
      "\"\xE0\xA0\x80\xE1\x80\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF\"",
      "\"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\"",
      "\"\xE2\x80\xA8\xE2\x80\xA9\"",
      "[]",
      "[ ]",
      "{}",
      "{ }",
      "[1]",
      "[1,2]",
      "[[],{}]",
      R"({"a":1})",
      R"({"a":1,"a":2})",
      R"({"":0})",
      R"({"a\u0062":[{"c":null}]})",
      " \t\r\n1 \t\r\n",
      "\n[\n1\n,\n2\n]\n",
      "{ \"a\" : 1 , \"b\" : [ true , false ] }",
      "[-0.0,0,1e1]",
      R"(["<>&'/"])"};
  return texts;
}

const std::vector<std::string>& Invalid() {
  static const std::vector<std::string> texts = {
      "", " ", "\n\t", "\xEF\xBB\xBF{}", "\xEF\xBB\xBF", "nul", "nulll", "True", "TRUE", "tru",
      "truee", "fals", "undefined", "NaN", "Infinity", "-Infinity", "-", "+1", "01", "-01", "00",
      "1.", ".5", "-.5", "1.e5", "1e", "1E+", "1e-", "1e5.5", "1.2.3", "0x1", "1_000", "1a", "--1",
      "- 1", "1 2", "1,2", "0e", "\xD9\xA1", "\"", "\"a", "a\"", "'a'", R"("\)", R"("\")",
      R"("\a")", R"("\x41")", R"("\u")", R"("\u1")", R"("\u12")", R"("\u123")", R"("\u12G4")",
      R"("\u 123")", R"("\u-123")", R"("\U1234")", R"("\u123)", R"("\0")", "\"\n\"", "\"\r\"",
      "\"\t\"", "\"\x1f\"", "\"\0\""s, "\"\\\n\"", "\0"s, "1\0"s, "[\0]"s,
      // UTF-8: lone continuation, overlong, surrogates, beyond U+10FFFF, cut short, not a lead
      // byte.
      "\"\x80\"", "\"\xBF\"", "\"\xC0\x80\"", "\"\xC1\xBF\"", "\"\xC2\"", "\"\xC2",
      "\"\xC2\xC2\x80\"", "\"\xDF\x7F\"", "\"\xE0\x80\x80\"", "\"\xE0\x9F\xBF\"", "\"\xE1\x80\"",
      "\"\xE1\x80", "\"\xE1\"", "\"\xE1\x80\x41\"", "\"\xE1\x41\x80\"", "\"\xED\xA0\x80\"",
      "\"\xED\xBF\xBF\"", "\"\xEF\xBF\"", "\"\xF0\x80\x80\x80\"", "\"\xF0\x8F\xBF\xBF\"",
      "\"\xF0\x90\x80\"", "\"\xF0\x90\"", "\"\xF0\"", "\"\xF0\x90\x80\x80", "\"\xF4\x90\x80\x80\"",
      "\"\xF5\x80\x80\x80\"", "\"\xF8\x88\x80\x80\x80\"", "\"\xFC\x84\x80\x80\x80\x80\"",
      "\"\xFE\"", "\"\xFF\"", "\"\\u00\xC3\xA9\"", "{\"\xFF\":1}", "[1]\xC3\xA9", "[\xC2\xA0]", "[",
      "]", "{", "}", "[,]", "[1,]", "[,1]", "[1,,2]", "[1 2]", "[1", "[1,", "[}", "{]", "[1}",
      R"({"a":1])", "{,}", R"({"a"})", R"({"a":})", R"({"a":1,})", R"({"a" 1})", R"({"a"::1})",
      R"({"a","b"})", R"({"a":1 "b":2})", "{1:2}", "{a:1}", "{null:1}", R"({"a":1)", R"({"a":)",
      R"({"a")", R"({"a)", R"({,"a":1})", R"({"a":1,,"b":2})", R"({"a":1}})", "[]]", "[][]", "{}{}",
      "[] x", "[1]//", "/**/[]", "[1,/*x*/2]", "[\v1]", "[\f1]", R"({"a":01x,,})", "\"a\"\"b\"",
      "*", "[a]", "[\"a\",\n", "{\"a\":\"b\"}#"};
  return texts;
}

TEST(JsonGrammar, AcceptsWhatIsJson) {
  for (const std::string& text : Valid()) {
    EXPECT_TRUE(Check(text).ok()) << text << ": " << Check(text).message();
    EXPECT_TRUE(JsonOracle::Accepts(text, kJsonDepthMax)) << text;
  }
}

TEST(JsonGrammar, RefusesWhatIsNot) {
  for (const std::string& text : Invalid()) {
    const Status status = Check(text);
    EXPECT_EQ(status.code(), Code::kInvalidRequest) << text;
    EXPECT_TRUE(status.message().starts_with("Invalid JSON at byte ")) << status.message();
    EXPECT_FALSE(JsonOracle::Accepts(text, kJsonDepthMax)) << text;
  }
}

TEST(JsonGrammar, RefusesEveryPrefixOfADocument) {
  const std::string text =
      "{\"a\\u00e9\xC3\xA9\xE4\xBD\xA0\xF0\x9F\x98\x80\":[-1.5e+7,true,false,null,{}],\"b\":\"c\"}";
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(Check(text.substr(0, size)).ok()) << text.substr(0, size);
  }
  EXPECT_TRUE(Check(text).ok());
}

TEST(JsonGrammar, SaysWhereAndWhy) {
  EXPECT_EQ(Check(R"({"a":01})").message(),
            "Invalid JSON at byte 6: a number may not begin with 0");
  EXPECT_EQ(Check("[1, 2 3]").message(), "Invalid JSON at byte 6: expected ',' or ']'");
  EXPECT_EQ(Check("").message(), "Invalid JSON at byte 0: there is no value");
  EXPECT_EQ(Check("  ").message(), "Invalid JSON at byte 2: there is no value");
  EXPECT_EQ(Check("[\"abc\xFF\"]").message(), "Invalid JSON at byte 5: the text is not UTF-8");
  EXPECT_EQ(Check("[1] 2").message(), "Invalid JSON at byte 4: more text after the value");
  EXPECT_EQ(Check(R"({"a":[1)").message(),
            "Invalid JSON at byte 7: the text ends in the middle of a value");
  EXPECT_EQ(Check(R"(["\q"])").message(), "Invalid JSON at byte 2: unknown escape in a string");
  EXPECT_EQ(Check("\xEF\xBB\xBF{}").message(), "Invalid JSON at byte 0: expected a value");
}

TEST(JsonGrammar, NestingEndsAtTheLimit) {
  const auto nested = [](size_t depth, const std::string& open, const std::string& close) {
    std::string text;
    for (size_t i = 0; i < depth; ++i) text += open;
    text += "0";
    for (size_t i = 0; i < depth; ++i) text += close;
    return text;
  };
  for (const auto& [open, close] : {std::pair{"[", "]"}, std::pair{"{\"a\":", "}"}}) {
    EXPECT_TRUE(Check(nested(kJsonDepthMax, open, close)).ok());
    const Status status = Check(nested(kJsonDepthMax + 1, open, close));
    EXPECT_TRUE(status.message().ends_with("nested too deeply")) << status.message();
  }
  EXPECT_TRUE(Check(nested(kJsonDepthMax / 2, "[{\"a\":", "}]")).ok());
  std::string hostile;
  hostile.resize(10'000'000, '[');
  EXPECT_FALSE(Check(hostile).ok());
}

// A byte of each class at each distance from both ends of strings of every length up to four
// blocks, at every alignment of a block.
TEST(JsonGrammar, BlockEdgesChangeNothing) {
  const std::vector<std::string> inside = {"\"",      "\\",      "\\n",      "\x1f", "\n",
                                           "\x7f",    " ",       "\xC3\xA9", "\xC3", "\x80",
                                           "\\u00e9", "\\u00g9", "!",        "\x20"};
  for (size_t length = 0; length <= 64; ++length) {
    for (size_t at = 0; at <= length; ++at) {
      for (const std::string& what : inside) {
        const std::string text = fmt::format("\"{:x>{}}{}{:y>{}}\"", "", at, what, "", length - at);
        ASSERT_EQ(Check(text, length % 16).ok(), JsonOracle::Accepts(text, kJsonDepthMax))
            << "length " << length << " at " << at << ": " << text;
      }
    }
  }
  for (size_t shift = 0; shift < 64; ++shift) {
    for (size_t length = 0; length <= 70; ++length) {
      const std::string x(length, 'x');
      EXPECT_TRUE(Check(fmt::format("\"{}\"", x), shift).ok());
      EXPECT_FALSE(Check(fmt::format("\"{}", x), shift).ok());
      EXPECT_FALSE(Check(fmt::format("\"{}\x01\"", x), shift).ok());
      const std::string blanks(length, length % 2 == 0 ? ' ' : '\n');
      EXPECT_TRUE(Check(fmt::format("{0}1{0}", blanks), shift).ok());
      EXPECT_FALSE(Check(fmt::format("{}\v1", blanks), shift).ok());
      EXPECT_FALSE(Check(blanks, shift).ok());
    }
  }
}

TEST(JsonGrammar, EveryScannerFindsTheSameByte) {
  for (int byte = 0; byte < 256; ++byte) {
    for (size_t length = 1; length <= 40; ++length) {
      for (size_t at = 0; at < length; ++at) {
        std::string text(length, 'a');
        text[at] = static_cast<char>(byte);
        const char* const begin = text.data();
        const char* const end = begin + length;
        const char* const expected = json_scan::FindStringSpecialBytes(begin, end);
        ASSERT_EQ(json_scan::FindStringSpecialSwar(begin, end), expected) << byte;
        ASSERT_EQ(json_scan::FindStringSpecial(begin, end), expected) << byte;
        const bool line_break = byte == '\n' || byte == '\r';
        ASSERT_EQ(json_scan::FindLineBreak(begin, end), line_break ? begin + at : end) << byte;
      }
    }
  }
}

}  // namespace
}  // namespace queen
