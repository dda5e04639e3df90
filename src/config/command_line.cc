#include "config/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>

#include "config/load.h"
#include "config/names.h"
#include "config/report.h"
#include "config/settings.h"
#include "config/version.h"

namespace queen::config {
namespace {

constexpr int kUsageError = 2;

struct CommandInfo {
  std::string_view name;
  std::string_view arguments;
  std::string_view summary;
  std::string_view details;
  bool takes_settings;
};

constexpr std::array<CommandInfo, 7> kCommands = {{
    {"serve", "", "run the broker",
     "Runs the broker until it is told to stop (SIGTERM, SIGINT). Without DATABASE_URL or PG_HOST\n"
     "it starts and supervises a PostgreSQL server of its own.\n",
     true},
    {"config", "[--json | --markdown]", "print the settings in force and where they came from",
     "  --json      print them for programs\n"
     "  --markdown  print the reference page of all settings instead\n",
     true},
    {"migrate", "[--print [--all]]", "bring the schema of the database up to date",
     "Applies the migrations and procedures that the database lacks, as `queen serve` does when "
     "it\n"
     "starts, and says what it did.\n\n"
     "  --print     print the SQL that is missing in the database, and change nothing\n"
     "  --all       with --print: all of it, as for an empty database, without connecting to one\n",
     true},
    {"token", "create | list | revoke ID...", "make, list and revoke tokens for clients",
     "Tokens are kept in the database, as hashes, and count on all its brokers with\n"
     "QUEEN_TOKENS_ENABLED, JWT_ENABLED or QUEEN_TOKENS_FILE. `create` prints the token, this "
     "once.\n\n"
     "  --role ROLE       create: read-only, read-write or admin\n"
     "  --sub NAME        create: who it is; messages it pushes have this producerSub\n"
     "  --push PATTERN    create: it may push to these queues only, such as 'orders.*'\n"
     "  --pop PATTERN     create: it may pop from these queues only\n"
     "  --admin PATTERN   create: it may configure and clear these queues only. Each of the three\n"
     "                    may be repeated; once one is given, what is left out is not allowed\n"
     "  --ttl TIME        create: how long it is valid, such as 12h or 30d, or never; default 90d\n"
     "  --json            create, list: print it for programs\n",
     true},
    {"bench", "SCENARIO [options]", "put load on a broker and report what it costs",
     "`queen bench --help` lists the scenarios.\n", false},
    {"version", "", "print the version", "", false},
    {"help", "[COMMAND]", "print this text, or that of a command", "", false},
}};

const CommandInfo* FindCommand(std::string_view name) {
  const auto found = std::ranges::find(kCommands, name, &CommandInfo::name);
  return found == kCommands.end() ? nullptr : &*found;
}

using Others = std::vector<OtherCommand>;

bool IsOther(const Others& others, std::string_view name) {
  return std::ranges::find(others, name, &OtherCommand::name) != others.end();
}

std::string GeneralHelp(const Others& others) {
  std::string out =
      "Queen, a partitioned message broker on PostgreSQL.\n\nUsage: queen COMMAND\n\n";
  for (const CommandInfo& command : kCommands) {
    out += fmt::format("  {:<11} {}\n", command.name, command.summary);
  }
  if (!others.empty()) out += "\nFor operators, of a broker that runs (--url, QUEEN_URL):\n\n";
  for (const OtherCommand& command : others) {
    out += fmt::format("  {:<11} {}\n", command.name, command.summary);
  }
  out += "\n`queen COMMAND --help` lists the flags and settings of a command.\n";
  return out;
}

std::string HelpOf(const CommandInfo& command) {
  std::string out = fmt::format("Usage: queen {}{}{}{}\n\n{}{}", command.name,
                                command.arguments.empty() ? "" : " ", command.arguments,
                                command.takes_settings ? " [flags]" : "", command.details,
                                command.details.empty() ? "" : "\n");
  if (!command.takes_settings) return out;
  out +=
      "A setting is a flag, an environment variable, or a line NAME = value in a file; flags win\n"
      "over the environment, and the environment over the file.\n\n"
      "  --config FILE  QUEEN_CONFIG\n      the file\n";
  return out + SettingsHelp();
}

ParseResult Finish(int exit_code, std::string out, std::string err = "") {
  ParseResult result;
  result.finished = Finished{exit_code, std::move(out), std::move(err)};
  return result;
}

ParseResult FinishWithProblems(const std::vector<std::string>& problems, std::string_view hint) {
  std::string err;
  for (const std::string& problem : problems) err += fmt::format("queen: {}\n", problem);
  err += fmt::format("Try `queen {}`.\n", hint);
  return Finish(kUsageError, "", std::move(err));
}

// One command as CLI11 knows it. CLI11 only splits the words; texts are judged by Load.
class CommandParser {
 public:
  CommandParser(CLI::App& app, const CommandInfo& info)
      : info_(info), app_(*app.add_subcommand(std::string(info.name))) {
    app_.set_help_flag();
    app_.add_flag("-h,--help");
    if (!info.takes_settings) return;
    AddOption(std::string(kFileFlag));
    for (const Setting& setting : Settings()) {
      const std::string flag = FlagOf(setting);
      if (flag.empty()) continue;
      if (std::holds_alternative<BoolKind>(setting.kind)) {
        app_.add_flag(flag)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
      } else {
        AddOption(flag);
      }
    }
  }

  const CommandInfo& info() const { return info_; }
  CLI::App& app() { return app_; }
  bool parsed() const { return app_.parsed(); }
  bool Has(const std::string& flag) const { return app_.count(flag) > 0; }

  std::string HelpCommand() const { return fmt::format("{} --help", info_.name); }

  // What is on the command line and does not belong there.
  std::vector<std::string> Problems() const {
    std::vector<std::string> problems;
    bool after_unknown_flag = false;
    for (const std::string& word : app_.remaining()) {
      if (word.starts_with('-')) {
        problems.push_back(UnknownFlag(word.substr(0, word.find('='))));
        after_unknown_flag = true;
      } else if (!std::exchange(after_unknown_flag, false)) {
        problems.push_back(fmt::format("unexpected argument \"{}\"", word));
      }
    }
    if (info_.takes_settings && app_.count(std::string(kFileFlag)) > 1) {
      problems.push_back(fmt::format("the flag {} is given twice", kFileFlag));
    }
    return problems;
  }

  Sources MakeSources(const Environment& environment) const {
    Sources sources;
    sources.environment = environment;
    if (Has(std::string(kFileFlag))) sources.file = Texts(std::string(kFileFlag)).back();
    for (const Setting& setting : Settings()) {
      const std::string flag = FlagOf(setting);
      if (flag.empty()) continue;
      for (const std::string& text : Texts(flag)) sources.flags.emplace_back(setting.name, text);
    }
    return sources;
  }

 private:
  void AddOption(const std::string& flag) {
    app_.add_option(flag)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }

  const std::vector<std::string>& Texts(const std::string& flag) const {
    return app_.get_option(flag)->results();
  }

  std::string UnknownFlag(const std::string& flag) const {
    std::vector<std::string> known;
    for (const CLI::Option* option : app_.get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    for (const Setting& setting : Settings()) {
      std::string as_flag = "--";
      for (const char c : setting.name) as_flag += c == '_' ? '-' : static_cast<char>(tolower(c));
      if (flag != as_flag) continue;
      if (!setting.secret())
        return fmt::format("unknown flag {}; did you mean {}?", flag, FlagOf(setting));
      return fmt::format(
          "unknown flag {}: a secret is read from the environment ({}) or the file, since every "
          "user of a machine can read its command lines",
          flag, setting.name);
    }
    return fmt::format("unknown flag {}{}", flag, Suggestion(flag, known));
  }

  const CommandInfo& info_;
  CLI::App& app_;
};

// Problems of the command line and of every source together, so that one run shows them all.
Loaded LoadAll(const CommandParser& parser, const Environment& environment) {
  Loaded loaded = Load(parser.MakeSources(environment));
  const std::vector<std::string> problems = parser.Problems();
  loaded.problems.insert(loaded.problems.begin(), problems.begin(), problems.end());
  return loaded;
}

ParseResult ShowConfig(const CommandParser& parser, const Environment& environment) {
  if (parser.Has("--json") && parser.Has("--markdown")) {
    return FinishWithProblems({"--json and --markdown exclude each other"}, "config --help");
  }
  if (parser.Has("--markdown")) return Finish(0, ReportMarkdown());
  const Loaded loaded = LoadAll(parser, environment);
  if (!loaded.problems.empty()) return FinishWithProblems(loaded.problems, parser.HelpCommand());
  std::string warnings;
  for (const std::string& warning : loaded.warnings) {
    warnings += fmt::format("queen: warning: {}\n", warning);
  }
  return Finish(0, parser.Has("--json") ? ReportJson(loaded) : ReportText(loaded),
                std::move(warnings));
}

// What follows `queen token`, as CLI11 has split it.
struct TokenWords {
  std::vector<std::string> words;
  std::string role;
  std::string subject;
  std::string ttl;
  std::vector<std::string> push;
  std::vector<std::string> pop;
  std::vector<std::string> admin;
};

void AddTokenWords(CLI::App& app, TokenWords& words) {
  app.add_option("words", words.words);
  app.add_option("--role", words.role);
  app.add_option("--sub", words.subject);
  app.add_option("--ttl", words.ttl);
  const auto add_list = [&app](const std::string& flag, std::vector<std::string>& patterns) {
    app.add_option(flag, patterns)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  add_list("--push", words.push);
  add_list("--pop", words.pop);
  add_list("--admin", words.admin);
  app.add_flag("--json");
}

// nullopt for what is no time; nullopt inside for "never".
std::optional<std::optional<int64_t>> ParseTtl(std::string_view text) {
  constexpr int64_t kTtlDaysDefault = 90;
  constexpr int64_t kTtlSecondsMax = 3'155'760'000;  // a hundred years
  constexpr int64_t kDay = 86'400;
  if (text.empty()) return kTtlDaysDefault * kDay;
  if (text == "never") return std::optional<int64_t>();
  int64_t unit = 0;
  if (text.back() == 's') unit = 1;
  if (text.back() == 'm') unit = 60;
  if (text.back() == 'h') unit = 3'600;
  if (text.back() == 'd') unit = kDay;
  int64_t number = 0;
  const char* const end = text.data() + text.size() - 1;
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (unit == 0 || error != std::errc() || stop != end || number < 1 ||
      number > kTtlSecondsMax / unit) {
    return std::nullopt;
  }
  return number * unit;
}

std::vector<std::string> TakeTokenWords(const TokenWords& words, bool json, TokenArguments& token) {
  constexpr std::array<std::string_view, 3> kRoles = {"read-only", "read-write", "admin"};
  std::vector<std::string> problems;
  const std::string action = words.words.empty() ? "" : words.words.front();
  token.json = json;
  if (action == "revoke") {
    token.action = TokenArguments::Action::kRevoke;
    token.ids.assign(words.words.begin() + 1, words.words.end());
    if (token.ids.empty()) problems.emplace_back("token revoke: which? `queen token list` has ids");
    return problems;
  }
  if (action != "create" && action != "list") {
    problems.emplace_back("token: say create, list or revoke");
  } else if (words.words.size() > 1) {
    problems.push_back(fmt::format("unexpected argument \"{}\"", words.words[1]));
  }
  if (action != "create") return problems;
  token.action = TokenArguments::Action::kCreate;
  token.role = words.role;
  token.subject = words.subject;
  token.push = words.push;
  token.pop = words.pop;
  token.admin = words.admin;
  if (std::ranges::find(kRoles, token.role) == kRoles.end()) {
    problems.emplace_back("token create: --role is read-only, read-write or admin");
  }
  constexpr size_t kSubjectBytesMax = 255;
  if (token.subject.empty() || token.subject.size() > kSubjectBytesMax ||
      std::ranges::any_of(token.subject, [](unsigned char c) { return c < 0x20 || c == 0x7f; })) {
    problems.emplace_back("token create: --sub says who it is, in at most 255 bytes");
  }
  const auto ttl = ParseTtl(words.ttl);
  if (!ttl) problems.emplace_back("token create: --ttl is a time such as 12h or 30d, or never");
  if (ttl) token.ttl_seconds = *ttl;
  return problems;
}

ParseResult LoadFor(Command command, const CommandParser& parser, const Environment& environment,
                    const TokenWords& token_words) {
  ParseResult result;
  result.command = command;
  if (command == Command::kToken) {
    const auto problems = TakeTokenWords(token_words, parser.Has("--json"), result.token);
    if (!problems.empty()) return FinishWithProblems(problems, "token --help");
  }
  if (command == Command::kMigrate) {
    result.migrate = {parser.Has("--print"), parser.Has("--all")};
    if (result.migrate.all && !result.migrate.print) {
      return FinishWithProblems({"--all goes with --print"}, "migrate --help");
    }
  }
  Loaded loaded = LoadAll(parser, environment);
  if (!loaded.problems.empty()) return FinishWithProblems(loaded.problems, parser.HelpCommand());
  result.config = std::move(loaded.config);
  result.warnings = std::move(loaded.warnings);
  return result;
}

ParseResult ParseTopLevel(const CLI::App& app, const Others& others) {
  if (app.count("--version") > 0) return Finish(0, fmt::format("queen {}\n", Version()));
  if (app.count("--help") > 0) return Finish(0, GeneralHelp(others));
  const std::vector<std::string> words = app.remaining();
  if (words.empty()) return Finish(kUsageError, "", GeneralHelp(others));
  std::vector<std::string> names;
  names.reserve(kCommands.size());
  for (const CommandInfo& command : kCommands) names.emplace_back(command.name);
  for (const OtherCommand& command : others) names.push_back(command.name);
  const std::string what =
      words.front().starts_with('-')
          ? fmt::format("unknown flag {}", words.front())
          : fmt::format("unknown command {}{}", words.front(), Suggestion(words.front(), names));
  return FinishWithProblems({what}, "help");
}

// The help of another command is its own: it is run with --help.
ParseResult RunOther(std::vector<std::string> words) {
  ParseResult result;
  result.command = Command::kOther;
  result.other = std::move(words);
  return result;
}

ParseResult ShowHelp(const std::string& name, const Others& others) {
  if (name.empty()) return Finish(0, GeneralHelp(others));
  if (IsOther(others, name)) return RunOther({name, "--help"});
  const CommandInfo* command = FindCommand(name);
  if (command == nullptr) return FinishWithProblems({"unknown command " + name}, "help");
  return Finish(0, HelpOf(*command));
}

}  // namespace

ParseResult ParseCommandLine(int argc, const char* const* argv, const Environment& environment,
                             const Others& others) {
  if (argc >= 2 && IsOther(others, argv[1])) return RunOther({argv + 1, argv + argc});
  if (argc >= 2 && std::string_view(argv[1]) == "bench") {
    ParseResult result;
    result.command = Command::kBench;
    result.bench.assign(argv + 2, argv + argc);
    return result;
  }
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  app.require_subcommand(0, 1);
  app.add_flag("-h,--help");
  app.add_flag("--version");
  std::vector<CommandParser> parsers;
  parsers.reserve(kCommands.size());
  for (const CommandInfo& info : kCommands) parsers.emplace_back(app, info);
  std::string topic;
  TokenWords token_words;
  for (CommandParser& parser : parsers) {
    if (parser.info().name == "config") parser.app().add_flag("--json");
    if (parser.info().name == "config") parser.app().add_flag("--markdown");
    if (parser.info().name == "migrate") parser.app().add_flag("--print");
    if (parser.info().name == "migrate") parser.app().add_flag("--all");
    if (parser.info().name == "token") AddTokenWords(parser.app(), token_words);
    if (parser.info().name == "help") parser.app().add_option("command", topic);
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return FinishWithProblems({error.what()}, "help");
  }

  for (const CommandParser& parser : parsers) {
    if (!parser.parsed()) continue;
    const std::string name(parser.info().name);
    if (parser.Has("--help")) return Finish(0, HelpOf(parser.info()));
    if (const auto words = app.remaining(); !words.empty()) {
      return FinishWithProblems({fmt::format("{} belongs after the command: queen {} {}",
                                             words.front(), name, words.front())},
                                parser.HelpCommand());
    }
    if (name == "serve") return LoadFor(Command::kServe, parser, environment, {});
    if (name == "migrate") return LoadFor(Command::kMigrate, parser, environment, {});
    if (name == "token") return LoadFor(Command::kToken, parser, environment, token_words);
    if (name == "config") return ShowConfig(parser, environment);
    if (const auto problems = parser.Problems(); !problems.empty()) {
      return FinishWithProblems(problems, parser.HelpCommand());
    }
    if (name == "help") return ShowHelp(topic, others);
    return Finish(0, fmt::format("queen {}\n", Version()));
  }
  return ParseTopLevel(app, others);
}

void HidePasswords(int argc, char** argv) {
  bool is_value = false;  // of a flag that takes a connection string
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool is_flag = word.starts_with("--database");
    const size_t begin = is_flag && word.find('=') != word.npos ? word.find('=') + 1 : 0;
    if ((is_value || begin > 0) && HasPassword(word.substr(begin))) {
      std::fill(argv[i] + begin, argv[i] + word.size(), '*');
    }
    is_value = is_flag && begin == 0;
  }
}

}  // namespace queen::config
