#include "cli/cli.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/json_reader.h"
#include "base/utf8.h"
#include "cli/completion.h"
#include "cli/families.h"
#include "cli/json_text.h"
#include "cli/parse.h"
#include "cli/session.h"
#include "cli/units.h"
#include "config/settings.h"

namespace queen::cli {
namespace {

constexpr std::string_view kExitCodes =
    "Exit codes:\n"
    "  0    done\n"
    "  1    the broker refused, part of the work failed, or doctor found something\n"
    "  2    a wrong command line\n"
    "  3    no broker answered, or it has no database\n"
    "  4    what was named does not exist, or there was no message to pop\n"
    "  5    no token, or one that may not do this\n"
    "  130  interrupted\n";

Option HelpOption() { return {"-h,--help", "", "print this text", static_cast<bool*>(nullptr)}; }

Command CompletionCommand() {
  Command command{"completion", "print the completion script of a shell",
                  "For example: source <(queen completion bash)\n"};
  command.talks_to_broker = false;
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    Command child{shell, "for " + shell};
    child.talks_to_broker = false;
    child.run = [shell](Session&) {
      Session::Print(CompletionScript(shell));
      return static_cast<int>(kDone);
    };
    command.children.push_back(std::move(child));
  }
  return command;
}

std::vector<Command> Families() {
  std::vector<Command> families;
  for (const auto make :
       {PushCommand, PopCommand, TailCommand, QueuesCommand, QueueCommand, GroupsCommand,
        GroupCommand, SeekCommand, DlqCommand, MessagesCommand, MessageCommand, TraceCommand,
        ExplainCommand, TopCommand, DoctorCommand, AuditCommand, CompletionCommand}) {
    families.push_back(make());
  }
  return families;
}

void AddSharedOptions(Command& command, SharedOptions& shared) {
  for (Command& child : command.children) AddSharedOptions(child, shared);
  if (command.run && command.talks_to_broker) {
    for (Option& option : SharedOptionRows(shared)) command.options.push_back(std::move(option));
  }
  command.options.push_back(HelpOption());
}

Command Tree(SharedOptions& shared) {
  Command root{"", "the commands of an operator"};
  root.children = Families();
  for (Command& child : root.children) AddSharedOptions(child, shared);
  return root;
}

// The commands that config/command_line.h parses, for completion.
std::vector<Command> OtherCommands() {
  std::vector<Command> others;
  for (const char* name : {"serve", "config", "migrate", "token"}) {
    Command command{name, ""};
    for (const config::Setting& setting : config::Settings()) {
      if (const std::string flag = config::FlagOf(setting); !flag.empty()) {
        command.options.push_back(
            {flag, "", std::string(setting.description), static_cast<std::string*>(nullptr)});
      }
    }
    others.push_back(std::move(command));
  }
  for (const char* name : {"bench", "version", "help"}) others.push_back({name, ""});
  return others;
}

// Names for completion. A shell waits for it: a broker that does not answer at once is left alone.
std::vector<std::string> AskNames(const config::Environment& environment, Offer offer) {
  SharedOptions shared;
  shared.timeout_seconds = 1;
  Session session(shared, environment);
  if (!session.problem().empty()) return {};
  const auto reply = offer == Offer::kQueue ? session.admin().Queues() : session.admin().Groups();
  if (!reply.ok()) return {};
  const auto root = ParseJson(*reply);
  if (!root.ok()) return {};
  std::vector<std::string> names;
  const JsonValue list = offer == Offer::kQueue ? root->Find("queues") : *root;
  for (const JsonValue& entry : JsonElements(list)) {
    const std::string name = TextAt(entry, "name");
    if (Printable(name) == name) names.push_back(name);  // others cannot be typed either
  }
  return names;
}

int CompleteWords(const Command& tree, const std::vector<std::string>& words,
                  const config::Environment& environment) {
  Command root = tree;
  for (Command& other : OtherCommands()) root.children.push_back(std::move(other));
  const Completion completion =
      Complete(root, words, [&](Offer offer) { return AskNames(environment, offer); });
  std::string out = completion.files ? ":files\n" : "";
  for (const Candidate& candidate : completion.candidates) {
    out += candidate.word + "\t" + candidate.help + "\n";
  }
  Session::Print(out);
  return kDone;
}

// `word` with a ? for each byte that is not ASCII.
std::string Readable(std::string word) {
  std::ranges::replace_if(
      word, [](char c) { return static_cast<signed char>(c) < 0; }, '?');
  return Printable(word);
}

int Run(const std::vector<std::string>& words, const config::Environment& environment) {
  SharedOptions shared;
  const Command tree = Tree(shared);
  if (IsCompletion(words)) {
    return CompleteWords(tree, {words.begin() + 1, words.end()}, environment);
  }
  for (const std::string& word : words) {
    if (IsValidUtf8(word)) continue;
    Say(fmt::format("queen: an argument is not UTF-8: {}\n", Readable(word)));
    return kUsage;
  }
  const Parsed parsed = Parse(tree, words);
  if (parsed.wants_help) {
    Session::Print(HelpOf(*parsed.command, parsed.path) + "\n" + std::string(kExitCodes));
    return kDone;
  }
  if (!parsed.problem.empty()) {
    Say(fmt::format("queen: {}\nTry `queen {} --help`.\n", parsed.problem, parsed.path));
    return kUsage;
  }
  Session session(shared, environment);
  if (!session.problem().empty()) return session.Fail(session.problem(), kUsage);
  return parsed.command->run(session);
}

}  // namespace

std::vector<config::OtherCommand> Commands() {
  std::vector<config::OtherCommand> commands;
  for (const Command& family : Families()) commands.push_back({family.name, family.summary});
  return commands;
}

bool IsCompletion(const std::vector<std::string>& words) {
  return !words.empty() && words.front() == "__complete";
}

int RunCli(const std::vector<std::string>& words, const config::Environment& environment) {
  return Session::Ended(Run(words, environment));
}

}  // namespace queen::cli
