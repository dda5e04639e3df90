#include "config/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "config/settings.h"

namespace queen::config {
namespace {

Loaded LoadSecrets() {
  return Load({{{"PORT", "7000"}},
               {{"DATABASE_URL", "postgresql://me:s3cret@db/app"}, {"PG_PASSWORD", "s3cret"}},
               {}});
}

std::string WithSingleSpaces(std::string text) {
  const auto both_blank = [](char a, char b) { return a == ' ' && b == ' '; };
  text.erase(std::unique(text.begin(), text.end(), both_blank), text.end());
  return text;
}

size_t LongestLine(const std::string& text) {
  std::istringstream lines(text);
  size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST(Report, TextShowsValuesAndOriginsButNoSecret) {
  const std::string text = ReportText(LoadSecrets());
  EXPECT_NE(WithSingleSpaces(text).find("\n PORT 7000 flag --port\n"), std::string::npos) << text;
  EXPECT_NE(WithSingleSpaces(text).find("\n PG_PASSWORD *** environment\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("postgresql://me:***@db/app"), std::string::npos);
  EXPECT_EQ(text.find("s3cret"), std::string::npos);
}

TEST(Report, JsonHasTypesButNoSecret) {
  const std::string json = ReportJson(LoadSecrets());
  EXPECT_NE(json.find(R"({"name":"PORT","flag":"--port","section":"Server","value":7000,)"
                      R"("origin":"flag --port"})"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find(R"({"name":"PG_PASSWORD","flag":null,"section":"PostgreSQL","value":"***",)"
                      R"("origin":"environment"})"),
            std::string::npos);
  EXPECT_NE(json.find(R"("value":33554432)"), std::string::npos) << "sizes are bytes";
  EXPECT_NE(json.find(R"("value":false)"), std::string::npos);
  EXPECT_EQ(json.find("s3cret"), std::string::npos);
}

TEST(Report, HelpNamesEverySettingWithin100Columns) {
  const std::string help = SettingsHelp();
  EXPECT_LE(LongestLine(help), 100U);
  for (const Setting& setting : Settings()) {
    EXPECT_NE(help.find(setting.name), std::string::npos);
    EXPECT_NE(help.find(FlagOf(setting)), std::string::npos);
  }
}

TEST(Report, TheReferencePageIsCurrent) {
  std::ifstream file(QUEEN_SOURCE_DIR "/docs/configuration.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), ReportMarkdown())
      << "docs/configuration.md differs from the table of settings; run "
         "`build/queen config --markdown > docs/configuration.md`";
}

}  // namespace
}  // namespace queen::config
