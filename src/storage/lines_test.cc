#include "storage/lines.h"

#include <gtest/gtest.h>

#include <random>

namespace queen::storage {
namespace {

using Lines = std::vector<std::string_view>;

Lines Split(std::string_view text, size_t count) {
  Lines lines = {"left over"};
  const Status status = SplitLines(text, count, lines);
  EXPECT_EQ(status.code(), lines.empty() ? Code::kLineCountMismatch : Code::kOk);
  return lines;
}

TEST(Lines, SplitsExactlyCountLines) {
  EXPECT_EQ(Split("a\nbb\nccc", 3), (Lines{"a", "bb", "ccc"}));
  EXPECT_EQ(Split("a", 1), Lines{"a"});
  EXPECT_EQ(Split("", 1), Lines{""});
  EXPECT_EQ(Split("\n", 2), (Lines{"", ""}));
  EXPECT_EQ(Split("\na\n", 3), (Lines{"", "a", ""}));
  EXPECT_EQ(Split("a\r\nb", 2), (Lines{"a\r", "b"}));
}

TEST(Lines, RefusesAnyOtherCount) {
  EXPECT_EQ(Split("a\nb", 1), Lines{});
  EXPECT_EQ(Split("a\nb", 3), Lines{});
  EXPECT_EQ(Split("a\nb\n", 2), Lines{});
  EXPECT_EQ(Split("", 2), Lines{});
  EXPECT_EQ(Split("", 0), Lines{});
  EXPECT_EQ(Split("a", 0), Lines{});
  EXPECT_EQ(Split("\n", 1), Lines{});
  EXPECT_EQ(Split("a", size_t{1} << 60), Lines{});
}

TEST(Lines, SlicesPointIntoTheText) {
  const std::string text = "one\ntwo";
  const Lines lines = Split(text, 2);
  EXPECT_EQ(lines[1].data(), text.data() + 4);
}

TEST(Lines, NullMeansEmptyLines) {
  Lines lines = {"left over"};
  EXPECT_TRUE(SplitNullableLines(std::nullopt, 3, lines).ok());
  EXPECT_EQ(lines, (Lines{"", "", ""}));
  EXPECT_TRUE(SplitNullableLines("a\n\nb", 3, lines).ok());
  EXPECT_EQ(lines, (Lines{"a", "", "b"}));
}

TEST(Lines, AColumnOfEmptyLinesIsNull) {
  LineColumn column;
  EXPECT_EQ(column.nullable_text(), std::nullopt);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(column.Add(""));
    EXPECT_EQ(column.nullable_text(), std::nullopt);
  }
  ASSERT_TRUE(column.Add("x"));
  EXPECT_EQ(column.nullable_text(), "\n\n\nx");
  EXPECT_EQ(column.count(), 4u);
  column.Clear();
  EXPECT_EQ(column.count(), 0u);
  EXPECT_EQ(column.text(), "");
}

TEST(Lines, ALineBreakCannotBecomeASecondLine) {
  LineColumn column;
  ASSERT_TRUE(column.Add("a"));
  EXPECT_FALSE(column.Add("b\nc"));
  EXPECT_FALSE(column.Add("\n"));
  EXPECT_EQ(column.text(), "a");
  EXPECT_EQ(column.count(), 1u);
  column.AddJson("{\n\"k\":\r\n1}");
  EXPECT_EQ(column.text(), "a\n{ \"k\":  1}");
}

TEST(Lines, WhatIsJoinedSplitsAgain) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::string> expected(1 + random() % 100);
    LineColumn column;
    for (std::string& line : expected) {
      line.assign(random() % 40, static_cast<char>('a' + random() % 26));
      ASSERT_TRUE(column.Add(line));
    }
    Lines lines;
    ASSERT_TRUE(SplitNullableLines(column.nullable_text(), expected.size(), lines).ok());
    EXPECT_TRUE(std::equal(lines.begin(), lines.end(), expected.begin(), expected.end()));
  }
}

}  // namespace
}  // namespace queen::storage
