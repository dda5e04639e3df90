#include "base/json_line.h"

#include <gtest/gtest.h>

namespace queen {
namespace {

std::string Line(std::string_view json) {
  std::string out = "before ";
  AppendJsonLine(out, json);
  return out.substr(7);
}

TEST(JsonLine, LineBreaksBecomeSpacesAndNothingElseChanges) {
  EXPECT_EQ(Line("{\r\n\t\"a\" : 1.50,\n\"b\":\"\\n\\r\"\r}\n"),
            "{  \t\"a\" : 1.50, \"b\":\"\\n\\r\" } ");
  EXPECT_EQ(Line("1"), "1");
  EXPECT_EQ(Line("\n"), " ");
  EXPECT_EQ(Line("\"\xE2\x80\xA8\x7f\""), "\"\xE2\x80\xA8\x7f\"");
}

TEST(JsonLine, AtEveryPlaceOfABlock) {
  for (size_t length = 0; length < 70; ++length) {
    for (size_t at = 0; at < length; ++at) {
      std::string json(length, '1');
      json[at] = at % 2 == 0 ? '\n' : '\r';
      std::string expected = json;
      expected[at] = ' ';
      EXPECT_EQ(Line(json), expected);
    }
  }
}

}  // namespace
}  // namespace queen
