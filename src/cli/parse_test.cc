#include "cli/parse.h"

#include <gtest/gtest.h>

#include "cli/completion.h"

namespace queen::cli {
namespace {

// A tree with one command of each kind, and what its command line was taken for.
struct Tree {
  std::string queue;
  std::string payload;
  std::string output = "table";
  int64_t limit = 10;
  bool yes = false;
  std::vector<std::string> headers;
  Command root;

  Tree() {
    const auto run = [](Session&) { return 0; };
    root.children = {
        {"push",
         "push a message",
         "",
         {{"QUEUE", "", &queue, true, Offer::kQueue}, {"PAYLOAD", "", &payload, false}},
         {{"-n,--limit", "N", "", NumberTarget{&limit, 100}},
          {"-y,--yes", "", "", &yes},
          {"--header", "H", "", &headers},
          {"-f,--file", "FILE", "", &payload, {}, Offer::kFile},
          {"-o,--output", "FORMAT", "", &output, {"table", "json"}},
          {"-h,--help", "", "", static_cast<bool*>(nullptr)}},
         run},
        {"queue",
         "one queue",
         "",
         {},
         {},
         {},
         {{"show", "show it", "", {{"QUEUE", "", &queue}}, {}, run}}},
    };
  }

  // The problem of these words, "" if they are right.
  std::string Problem(const std::vector<std::string>& words) { return Parse(root, words).problem; }

  std::vector<std::string> Words(const std::vector<std::string>& words) const {
    std::vector<std::string> names;
    const auto ask = [](Offer offer) {
      return offer == Offer::kQueue ? std::vector<std::string>{"orders", "invoices"}
                                    : std::vector<std::string>{};
    };
    for (const Candidate& candidate : Complete(root, words, ask).candidates) {
      names.push_back(candidate.word);
    }
    return names;
  }
};

using Names = std::vector<std::string>;

TEST(Parse, FillsWhatIsGivenAndKeepsTheRest) {
  Tree tree;
  const Parsed parsed = Parse(tree.root, {"push", "orders", "-n", "5", "--header=a=1", "--header",
                                          "b=2", "{\"a\":1}", "-y"});
  EXPECT_EQ(parsed.problem, "");
  EXPECT_EQ(parsed.path, "push");
  EXPECT_EQ(tree.queue, "orders");
  EXPECT_EQ(tree.payload, "{\"a\":1}");
  EXPECT_EQ(tree.limit, 5);
  EXPECT_TRUE(tree.yes);
  EXPECT_EQ(tree.headers, (Names{"a=1", "b=2"}));
  EXPECT_EQ(tree.output, "table");
}

TEST(Parse, FindsCommandsBelowOthers) {
  Tree tree;
  const Parsed parsed = Parse(tree.root, {"queue", "show", "orders"});
  EXPECT_EQ(parsed.problem, "");
  EXPECT_EQ(parsed.path, "queue show");
  EXPECT_EQ(tree.queue, "orders");
}

TEST(Parse, SaysWhatIsWrong) {
  Tree tree;
  EXPECT_EQ(tree.Problem({"push"}), "QUEUE is missing");
  EXPECT_EQ(tree.Problem({"push", "q", "1", "2"}), "unexpected argument \"2\"");
  EXPECT_EQ(tree.Problem({"push", "q", "--limt", "1"}),
            "unknown flag --limt; did you mean --limit?");
  EXPECT_EQ(tree.Problem({"push", "q", "-n", "x"}),
            "--limit: \"x\" is not a whole number from 0 to 100");
  EXPECT_EQ(tree.Problem({"push", "q", "-n", "101"}),
            "--limit: \"101\" is not a whole number from 0 to 100");
  EXPECT_EQ(tree.Problem({"push", "q", "-n", "1", "-n", "2"}), "--limit is given twice");
  EXPECT_EQ(tree.Problem({"push", "q", "-o", "xml"}),
            "--output: \"xml\" is not known; allowed: table, json");
  EXPECT_EQ(tree.Problem({"queue"}), "queen queue needs a command");
  EXPECT_EQ(tree.Problem({"queue", "shw"}), "unknown command queue shw; did you mean show?");
  EXPECT_NE(tree.Problem({"push", "q", "-n"}), "");
}

TEST(Parse, HelpComesBeforeProblems) {
  Tree tree;
  const Parsed parsed = Parse(tree.root, {"push", "--help"});
  EXPECT_TRUE(parsed.wants_help);
  EXPECT_EQ(parsed.problem, "");
  const std::string help = HelpOf(*parsed.command, parsed.path);
  EXPECT_TRUE(help.starts_with("Usage: queen push QUEUE [PAYLOAD] [options]\n\nPush a message.\n"))
      << help;
  EXPECT_NE(help.find("-n, --limit N"), std::string::npos);
}

TEST(Completion, OffersCommandsFlagsValuesAndNames) {
  const Tree tree;
  EXPECT_EQ(tree.Words({""}), (Names{"push", "queue"}));
  EXPECT_EQ(tree.Words({"qu"}), (Names{"queue"}));
  EXPECT_EQ(tree.Words({"queue", ""}), (Names{"show"}));
  EXPECT_EQ(tree.Words({"push", ""}), (Names{"orders", "invoices"}));
  EXPECT_EQ(tree.Words({"push", "or"}), (Names{"orders"}));
  EXPECT_EQ(tree.Words({"push", "orders", ""}), (Names{}));
  EXPECT_EQ(tree.Words({"push", "--l"}), (Names{"--limit"}));
  EXPECT_EQ(tree.Words({"push", "-o", ""}), (Names{"table", "json"}));
  EXPECT_EQ(tree.Words({"push", "--output", "j"}), (Names{"json"}));
  EXPECT_EQ(tree.Words({"push", "--yes", "inv"}), (Names{"invoices"}));  // a switch takes no value
  EXPECT_EQ(tree.Words({"nonsense", ""}), (Names{}));
}

TEST(Completion, LeavesFilesToTheShell) {
  const Tree tree;
  const auto nobody = [](Offer) { return Names{}; };
  EXPECT_TRUE(Complete(tree.root, {"push", "-f", ""}, nobody).files);
  EXPECT_FALSE(Complete(tree.root, {"push", ""}, nobody).files);
}

}  // namespace
}  // namespace queen::cli
