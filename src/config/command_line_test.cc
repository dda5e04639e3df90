#include "config/command_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "config/settings.h"

namespace queen::config {
namespace {

ParseResult Parse(std::vector<const char*> words, const Environment& environment = {}) {
  Environment with_home = environment;
  with_home.emplace("HOME", "/home/someone");
  words.insert(words.begin(), "queen");
  return ParseCommandLine(static_cast<int>(words.size()), words.data(), with_home);
}

// The text on standard error of a command line that is refused.
std::string Refused(std::vector<const char*> words, const Environment& environment = {}) {
  const ParseResult result = Parse(std::move(words), environment);
  if (!result.finished) return "accepted";
  EXPECT_EQ(result.finished->exit_code, 2);
  EXPECT_EQ(result.finished->out, "");
  return result.finished->err;
}

// The text on standard output of a command that does all its work here.
std::string Printed(std::vector<const char*> words, const Environment& environment = {}) {
  const ParseResult result = Parse(std::move(words), environment);
  if (!result.finished) return "not finished";
  EXPECT_EQ(result.finished->exit_code, 0) << result.finished->err;
  return result.finished->out;
}

TEST(CommandLine, ServeTakesSettings) {
  const ParseResult result =
      Parse({"serve", "--port", "7000", "--host=[::1]", "--pg-use-ssl", "--pg-host", "a,b"},
            {{"NUM_WORKER", "1"}});
  ASSERT_FALSE(result.finished) << result.finished->err;
  EXPECT_EQ(result.command, Command::kServe);
  EXPECT_EQ(result.config.http.port, 7000);
  EXPECT_EQ(result.config.http.host, "[::1]");
  EXPECT_TRUE(result.config.database.use_ssl);
  EXPECT_EQ(result.config.database.host, "a,b");
  EXPECT_EQ(result.warnings.size(), 1U);
}

TEST(CommandLine, EveryFlagReachesItsSetting) {
  for (const Setting& setting : Settings()) {
    if (setting.secret()) continue;
    const std::string word = FlagOf(setting) + "=\x01";
    EXPECT_NE(Refused({"serve", word.c_str()}).find(std::string(setting.name) + " (flag "),
              std::string::npos)
        << setting.name;
  }
}

TEST(CommandLine, Migrate) {
  EXPECT_EQ(Parse({"migrate"}).command, Command::kMigrate);
  const ParseResult result = Parse({"migrate", "--print", "--all"});
  ASSERT_FALSE(result.finished);
  EXPECT_TRUE(result.migrate.print);
  EXPECT_TRUE(result.migrate.all);
  EXPECT_EQ(Refused({"migrate", "--all"}),
            "queen: --all goes with --print\nTry `queen migrate --help`.\n");
}

TEST(CommandLine, TokensAreMadeListedAndRevoked) {
  const ParseResult made =
      Parse({"token", "create", "--role", "read-write", "--sub", "worker-1", "--push", "orders.*",
             "--push=audit", "--ttl", "12h", "--pg-host", "db"});
  ASSERT_FALSE(made.finished) << made.finished->err;
  EXPECT_EQ(made.command, Command::kToken);
  EXPECT_EQ(made.token.action, TokenArguments::Action::kCreate);
  EXPECT_EQ(made.token.subject, "worker-1");
  EXPECT_EQ(made.token.push, std::vector<std::string>({"orders.*", "audit"}));
  EXPECT_TRUE(made.token.pop.empty());
  EXPECT_EQ(made.token.ttl_seconds, 43'200);
  EXPECT_EQ(made.config.database.host, "db");
  const auto ttl = [](const char* text) {
    return Parse({"token", "create", "--role", "admin", "--sub", "x", "--ttl", text})
        .token.ttl_seconds;
  };
  EXPECT_EQ(ttl("90d"), 7'776'000);
  EXPECT_EQ(ttl("never"), std::nullopt);
  EXPECT_EQ(Parse({"token", "create", "--role", "admin", "--sub", "x"}).token.ttl_seconds,
            7'776'000);
  EXPECT_TRUE(Parse({"token", "list", "--json"}).token.json);
  const ParseResult revoked = Parse({"token", "revoke", "a", "b"});
  EXPECT_EQ(revoked.token.action, TokenArguments::Action::kRevoke);
  EXPECT_EQ(revoked.token.ids, std::vector<std::string>({"a", "b"}));
  for (const std::vector<const char*>& wrong :
       std::vector<std::vector<const char*>>{{"token"},
                                             {"token", "make"},
                                             {"token", "list", "x"},
                                             {"token", "revoke"},
                                             {"token", "create", "--sub", "x"},
                                             {"token", "create", "--role", "admin"},
                                             {"token", "create", "--role", "x", "--sub", "x"}}) {
    EXPECT_NE(Refused(wrong), "accepted");
  }
  for (const char* text : {"0d", "5", "d", "-1h", "1w", "99999999999d", "1.5h"}) {
    EXPECT_NE(Refused({"token", "create", "--role", "admin", "--sub", "x", "--ttl", text}),
              "accepted")
        << text;
  }
}

TEST(CommandLine, EveryProblemIsOneLine) {
  EXPECT_EQ(Refused({"serve", "--prot", "1", "--port", "x", "extra"}, {{"LOG_FORMAT", "xml"}}),
            "queen: unknown flag --prot; did you mean --port?\n"
            "queen: unexpected argument \"extra\"\n"
            "queen: PORT (flag --port): \"x\" is not a whole number; allowed: 0..65535\n"
            "queen: LOG_FORMAT (environment): \"xml\" is not known; allowed: one of text, json\n"
            "Try `queen serve --help`.\n");
}

TEST(CommandLine, FlagsGivenWrongly) {
  EXPECT_EQ(Refused({"serve", "--port", "1", "--port", "2"}),
            "queen: the flag --port is given twice\nTry `queen serve --help`.\n");
  EXPECT_EQ(Refused({"serve", "--config", "a", "--config", "b"}).substr(0, 40),
            "queen: the flag --config is given twice\n");
  EXPECT_NE(Refused({"serve", "--port"}).find("--port"), std::string::npos);
  EXPECT_EQ(Refused({"serve", "--queen-data-dir=/x"}),
            "queen: unknown flag --queen-data-dir; did you mean --data-dir?\n"
            "Try `queen serve --help`.\n");
  EXPECT_EQ(Refused({"--port", "1", "serve"}),
            "queen: --port belongs after the command: queen serve --port\n"
            "Try `queen serve --help`.\n");
}

TEST(CommandLine, SecretsAreNoFlags) {
  EXPECT_EQ(Refused({"serve", "--pg-password=s3cret"}),
            "queen: unknown flag --pg-password: a secret is read from the environment "
            "(PG_PASSWORD) or the file, since every user of a machine can read its command lines\n"
            "Try `queen serve --help`.\n");
  EXPECT_EQ(Refused({"serve", "--pg-password", "s3cret"}).find("s3cret"), std::string::npos);
}

TEST(CommandLine, CommandsGivenWrongly) {
  EXPECT_EQ(Refused({"serv"}),
            "queen: unknown command serv; did you mean serve?\nTry `queen "
            "help`.\n");
  EXPECT_EQ(Refused({"--nonsense"}), "queen: unknown flag --nonsense\nTry `queen help`.\n");
  EXPECT_EQ(Refused({"serve", "config"}),
            "queen: unexpected argument \"config\"\nTry `queen serve --help`.\n");
  EXPECT_NE(Refused({}).find("Usage: queen COMMAND"), std::string::npos);
}

TEST(CommandLine, ConfigPrintsWhatIsInForce) {
  EXPECT_NE(Printed({"config", "--port", "7000"}).find("7000"), std::string::npos);
  EXPECT_EQ(Printed({"config", "--json"}).front(), '{');
  EXPECT_TRUE(Printed({"config", "--markdown"}).starts_with("# Configuration\n"));
  EXPECT_NE(Refused({"config", "--json", "--markdown"}).find("exclude"), std::string::npos);
  const ParseResult result = Parse({"config"}, {{"NUM_WORKER", "1"}});
  EXPECT_EQ(result.finished->err,
            "queen: warning: the environment variable NUM_WORKER is not a setting; did you mean "
            "NUM_WORKERS?\n");
}

TEST(CommandLine, VersionAndHelp) {
  EXPECT_TRUE(Printed({"version"}).starts_with("queen 0."));
  EXPECT_EQ(Printed({"--version"}), Printed({"version"}));
  EXPECT_EQ(Printed({"--help"}), Printed({"help"}));
  EXPECT_EQ(Printed({"serve", "--help"}), Printed({"help", "serve"}));
  EXPECT_NE(Printed({"migrate", "-h"}).find("--print"), std::string::npos);
  EXPECT_NE(Refused({"help", "nonsense"}).find("unknown command"), std::string::npos);
  for (const char* command : {"serve", "config", "migrate"}) {
    const std::string help = Printed({command, "--help"});
    EXPECT_NE(help.find("--port  PORT"), std::string::npos);
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST(CommandLine, OtherCommandsArePassedOnUnread) {
  const std::vector<OtherCommand> others = {{"push", "push a message"}};
  const auto parse = [&](std::vector<const char*> words) {
    words.insert(words.begin(), "queen");
    return ParseCommandLine(static_cast<int>(words.size()), words.data(), {}, others);
  };
  const ParseResult pushed = parse({"push", "orders", "--nonsense"});
  EXPECT_EQ(pushed.command, Command::kOther);
  EXPECT_EQ(pushed.other, (std::vector<std::string>{"push", "orders", "--nonsense"}));
  EXPECT_EQ(parse({"help", "push"}).other, (std::vector<std::string>{"push", "--help"}));
  EXPECT_NE(parse({"help"}).finished->out.find("push        push a message"), std::string::npos);
  EXPECT_EQ(parse({"pusj"}).finished->err,
            "queen: unknown command pusj; did you mean push?\nTry `queen help`.\n");
}

}  // namespace
}  // namespace queen::config
