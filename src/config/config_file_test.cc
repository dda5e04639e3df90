#include "config/config_file.h"

#include <gtest/gtest.h>

namespace queen::config {
namespace {

std::string ValueOf(std::string_view line) {
  const FileContent content = ParseFile("f", line);
  EXPECT_TRUE(content.problems.empty()) << line;
  EXPECT_EQ(content.entries.size(), 1U) << line;
  return content.entries.empty() ? "?" : content.entries[0].value;
}

std::string ProblemOf(std::string_view text) {
  const FileContent content = ParseFile("f", text);
  return content.problems.empty() ? "" : content.problems[0];
}

TEST(ConfigFile, LinesCommentsAndBlanks) {
  const FileContent content = ParseFile("f", "# comment\n\n  PORT=1\r\n\t# more\nHOST = ::1");
  ASSERT_EQ(content.entries.size(), 2U);
  EXPECT_EQ(content.entries[0].name, "PORT");
  EXPECT_EQ(content.entries[0].value, "1");
  EXPECT_EQ(content.entries[0].line, 3);
  EXPECT_EQ(content.entries[1].value, "::1");
  EXPECT_EQ(content.entries[1].line, 5);
}

TEST(ConfigFile, Values) {
  EXPECT_EQ(ValueOf("A = b c  "), "b c");
  EXPECT_EQ(ValueOf("A ="), "");
  EXPECT_EQ(ValueOf("A = b # c"), "b");
  EXPECT_EQ(ValueOf("A = # c"), "");
  EXPECT_EQ(ValueOf("A = b#c"), "b#c");
  EXPECT_EQ(ValueOf("A = b=c"), "b=c");
  EXPECT_EQ(ValueOf("A = \" b # c \" # d"), " b # c ");
  EXPECT_EQ(ValueOf("A = 'it\"s'"), "it\"s");
  EXPECT_EQ(ValueOf("A = \"\""), "");
}

TEST(ConfigFile, BadLinesAreNamed) {
  EXPECT_EQ(ProblemOf("A = 1\nnonsense"), "f:2: expected NAME = value");
  EXPECT_EQ(ProblemOf("= 1"), "f:1: expected NAME = value");
  EXPECT_EQ(ProblemOf("export A = 1"), "f:1: expected NAME = value");
  EXPECT_EQ(ProblemOf("A = \"open"), "f:1: the quotes around the value of A do not match");
  EXPECT_EQ(ProblemOf("A = \"b\" c"), "f:1: the quotes around the value of A do not match");
}

TEST(ConfigFile, ReadingSaysWhyNot) {
  EXPECT_EQ(ReadFile("/nowhere/queen.conf").status().message(), "No such file or directory");
  EXPECT_EQ(ReadFile("/").status().message(), "Is a directory");
}

}  // namespace
}  // namespace queen::config
