#include "bench/options.h"

#include <gtest/gtest.h>

#include <map>

namespace queen::bench {
namespace {

Options Parsed(const std::vector<std::string>& words) {
  const auto result = ParseOptions(words);
  const auto* const answer = std::get_if<Answer>(&result);
  EXPECT_EQ(answer, nullptr) << (answer == nullptr ? "" : answer->text);
  return answer == nullptr ? std::get<Options>(result) : Options{};
}

// The first line of the complaint.
std::string Refused(const std::vector<std::string>& words) {
  const auto result = ParseOptions(words);
  const auto* const answer = std::get_if<Answer>(&result);
  if (answer == nullptr) return "accepted";
  EXPECT_EQ(answer->exit_code, 2);
  EXPECT_NE(answer->text.find("Try `queen bench "), std::string::npos);
  return answer->text.substr(0, answer->text.find('\n'));
}

TEST(OptionsTest, EachScenarioHasItsDefaults) {
  EXPECT_EQ(Parsed({"push"}).producers, 32);
  EXPECT_EQ(Parsed({"drain"}).fill, 1'000'000);
  EXPECT_EQ(Parsed({"e2e"}).push_batch, 1);
  EXPECT_EQ(Parsed({"popwave"}).pops, 500);
  EXPECT_EQ(Parsed({"partitions"}).pop_batch, 1);
  EXPECT_EQ(Parsed({"soak"}).interval_seconds, 10);
  EXPECT_EQ(Parsed({"soak"}).scenario, Scenario::kSoak);
}

TEST(OptionsTest, TheSameWordMeansWhatTheScenarioMeasures) {
  EXPECT_EQ(Parsed({"push", "--batch", "7"}).push_batch, 7);
  EXPECT_EQ(Parsed({"drain", "--batch=7"}).pop_batch, 7);
  EXPECT_EQ(Parsed({"push", "--connections", "3"}).producers, 3);
  EXPECT_EQ(Parsed({"drain", "--connections", "3"}).consumers, 3);
}

TEST(OptionsTest, FlagsTextsAndLists) {
  EXPECT_TRUE(Parsed({"drain", "--with-push"}).with_push);
  EXPECT_EQ(Parsed({"push", "--url", "http://h:1"}).url, "http://h:1");
  EXPECT_EQ(Parsed({"partitions", "--counts", "100,5"}).counts, (std::vector<int64_t>{100, 5}));
}

TEST(OptionsTest, AMistakeNamesTheOption) {
  EXPECT_EQ(Refused({"push", "--batch", "x"}),
            "queen: --batch must be a whole number from 1 to 10000, not \"x\"");
  EXPECT_EQ(Refused({"push", "--batch", "10001"}),
            "queen: --batch must be a whole number from 1 to 10000, not \"10001\"");
  EXPECT_EQ(Refused({"push", "--batch", "1 "}),
            "queen: --batch must be a whole number from 1 to 10000, not \"1 \"");
  EXPECT_EQ(Refused({"push", "--batch"}), "queen: --batch needs a value");
  EXPECT_EQ(Refused({"push", "--batch", "1", "--batch=2"}), "queen: --batch is given twice");
  EXPECT_EQ(Refused({"push", "--bach", "1"}),
            "queen: unknown option --bach; did you mean --batch?");
  EXPECT_EQ(Refused({"push", "--rounds", "1"}), "queen: --rounds is no option of bench push");
  EXPECT_EQ(Refused({"push", "--json=1"}), "queen: --json takes no value");
  EXPECT_EQ(Refused({"push", "--url", ""}), "queen: --url must not be empty");
  EXPECT_EQ(Refused({"push", "5"}), "queen: unexpected argument \"5\"");
  EXPECT_EQ(Refused({"partitions", "--counts", "5,,6"}),
            "queen: --counts must be whole numbers from 1 to 9999999 with commas between, not "
            "\"5,,6\"");
  EXPECT_EQ(Refused({"pus"}), "queen: unknown scenario pus; did you mean push?");
  EXPECT_EQ(Refused({"--json", "push"}),
            "queen: the scenario comes first: queen bench SCENARIO "
            "--json");
}

TEST(OptionsTest, OptionsThatContradictEachOther) {
  EXPECT_EQ(Refused({"push", "--batch", "2", "--partitions-per-push", "3"}),
            "queen: --partitions-per-push is larger than the messages of a push");
  EXPECT_EQ(Refused({"push", "--partitions", "2", "--partitions-per-push", "3"}),
            "queen: --partitions-per-push is larger than --partitions");
  EXPECT_EQ(Refused({"drain", "--connections", "2", "--groups", "3"}),
            "queen: --groups is larger than --connections: each group needs one");
  EXPECT_EQ(Refused({"drain", "--fill", "0"}),
            "queen: --fill 0 leaves nothing to drain without --with-push");
  EXPECT_EQ(Refused({"e2e", "--messages", "5"}), "queen: --messages goes with --idle");
}

TEST(OptionsTest, HelpListsTheOptionsOfTheScenarioWithItsDefaults) {
  const auto general = std::get<Answer>(ParseOptions({"--help"}));
  EXPECT_EQ(general.exit_code, 0);
  EXPECT_NE(general.text.find("popwave"), std::string::npos);
  const auto help = std::get<Answer>(ParseOptions({"popwave", "--help"}));
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.text.find("--pops N  (default 500)"), std::string::npos);
  EXPECT_EQ(help.text.find("--fill"), std::string::npos);
  EXPECT_EQ(std::get<Answer>(ParseOptions({})).exit_code, 2);
}

TEST(OptionsTest, TheRecordHoldsWhatDescribesTheLoadAsJson) {
  std::map<std::string, std::string> recorded;
  for (auto& [name, value] : RecordedOptions(Parsed({"partitions", "--counts", "1,2", "--json"}))) {
    EXPECT_TRUE(recorded.emplace(name, value).second) << name;
  }
  EXPECT_EQ(recorded["counts"], "[1,2]");
  EXPECT_EQ(recorded["batch"], "1");
  EXPECT_EQ(recorded["no-transaction-ids"], "false");
  EXPECT_FALSE(recorded.contains("json"));
  EXPECT_FALSE(recorded.contains("database")) << "it may hold a password";
}

}  // namespace
}  // namespace queen::bench
