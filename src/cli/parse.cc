#include "cli/parse.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "config/names.h"

namespace queen::cli {
namespace {

constexpr std::string_view kHelpFlag = "-h,--help";

std::string RangeText(const NumberTarget& number) {
  if (number.max != INT64_MAX) return fmt::format(" from {} to {}", number.min, number.max);
  return number.min == 0 ? "" : fmt::format(" of at least {}", number.min);
}

// Puts the words that were given into `target`; a problem, or "".
std::string Assign(const Target& target, const std::string& name,
                   const std::vector<std::string>& given) {
  if (auto* const* text = std::get_if<std::string*>(&target)) {
    **text = given.back();
  } else if (auto* const* list = std::get_if<std::vector<std::string>*>(&target)) {
    **list = given;
  } else if (auto* const* flag = std::get_if<bool*>(&target)) {
    **flag = true;
  } else {
    const auto& number = std::get<NumberTarget>(target);
    const std::string& word = given.back();
    int64_t value = 0;
    const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (fault != std::errc() || end != word.data() + word.size() || value < number.min ||
        value > number.max) {
      return fmt::format("{}: \"{}\" is not a whole number{}", name, word, RangeText(number));
    }
    *number.value = value;
  }
  return "";
}

bool IsList(const Target& target) {
  return std::holds_alternative<std::vector<std::string>*>(target);
}

class Parser {
 public:
  Parser(CLI::App& app, const Command& command, std::string path)
      : app_(app), command_(command), path_(std::move(path)) {
    app_.set_help_flag();
    app_.allow_extras();
    app_.add_flag(std::string(kHelpFlag));
    app_.require_subcommand(0, 1);
    for (const Option& option : command_.options) {
      if (option.names == kHelpFlag) continue;
      const bool is_switch = std::holds_alternative<bool*>(option.target);
      CLI::Option* made = is_switch ? app_.add_flag(option.names) : app_.add_option(option.names);
      if (!is_switch) made->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
    for (const Argument& argument : command_.arguments) {
      CLI::Option* made = app_.add_option(argument.name);
      if (IsList(argument.target)) {
        made->expected(1, -1)->allow_extra_args()->multi_option_policy(
            CLI::MultiOptionPolicy::TakeAll);
      }
    }
    children_.reserve(command_.children.size());
    for (const Command& child : command_.children) {
      children_.emplace_back(*app_.add_subcommand(child.name), child,
                             path_.empty() ? child.name : path_ + " " + child.name);
    }
  }

  Parsed Finish() const {
    for (const Parser& child : children_) {
      if (child.app_.parsed()) return child.Finish();
    }
    Parsed parsed{&command_, path_, app_.count("--help") > 0, ""};
    if (!parsed.wants_help) parsed.problem = Problem();
    return parsed;
  }

 private:
  std::string Problem() const {
    for (const std::string& word : app_.remaining()) {
      if (word.size() > 1 && word.starts_with('-'))
        return UnknownFlag(word.substr(0, word.find('=')));
      if (!command_.run) return UnknownCommand(word);
      return fmt::format("unexpected argument \"{}\"", word);
    }
    if (!command_.run) return fmt::format("queen {} needs a command", path_);
    for (const Option& option : command_.options) {
      if (std::string problem = Take(option); !problem.empty()) return problem;
    }
    for (const Argument& argument : command_.arguments) {
      const std::vector<std::string> given = app_.get_option(argument.name)->results();
      if (given.empty()) {
        if (argument.required) return fmt::format("{} is missing", argument.name);
        continue;
      }
      if (std::string problem = Assign(argument.target, argument.name, given); !problem.empty()) {
        return problem;
      }
    }
    return "";
  }

  std::string Take(const Option& option) const {
    if (option.names == kHelpFlag) return "";
    const std::string name = LongName(option);
    const std::vector<std::string> given = app_.get_option(name)->results();
    if (given.empty()) return "";
    if (given.size() > 1 && !IsList(option.target)) return fmt::format("{} is given twice", name);
    if (!option.choices.empty() &&
        std::ranges::find(option.choices, given.back()) == option.choices.end()) {
      return fmt::format("{}: \"{}\" is not known; allowed: {}", name, given.back(),
                         fmt::join(option.choices, ", "));
    }
    return Assign(option.target, name, given);
  }

  std::string UnknownFlag(const std::string& flag) const {
    std::vector<std::string> known;
    for (const Option& option : command_.options) known.push_back(LongName(option));
    return fmt::format("unknown flag {}{}", flag, config::Suggestion(flag, known));
  }

  std::string UnknownCommand(const std::string& word) const {
    std::vector<std::string> known;
    for (const Command& child : command_.children) known.push_back(child.name);
    return fmt::format("unknown command {} {}{}", path_, word, config::Suggestion(word, known));
  }

  CLI::App& app_;
  const Command& command_;
  const std::string path_;
  std::vector<Parser> children_;
};

}  // namespace

Parsed Parse(const Command& root, const std::vector<std::string>& words) {
  CLI::App app;
  const Parser parser(app, root, "");
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    Parsed failed = parser.Finish();
    failed.wants_help = false;
    failed.problem = error.what();
    return failed;
  }
  return parser.Finish();
}

std::string HelpOf(const Command& command, const std::string& path) {
  std::string usage = "Usage: queen " + path;
  if (!command.children.empty()) usage += " COMMAND";
  for (const Argument& argument : command.arguments) {
    usage += fmt::format(fmt::runtime(argument.required ? " {}" : " [{}]"), argument.name);
  }
  if (!command.options.empty()) usage += " [options]";
  std::string out =
      fmt::format("{}\n\n{}{}.\n", usage, static_cast<char>(toupper(command.summary[0])),
                  command.summary.substr(1));
  if (!command.details.empty()) out += "\n" + command.details;
  const auto add_row = [&out](const std::string& left, const std::string& right) {
    out += left.size() <= 24 ? fmt::format("  {:<24}  {}\n", left, right)
                             : fmt::format("  {}\n  {:<24}  {}\n", left, "", right);
  };
  if (!command.children.empty()) out += "\nCommands:\n";
  for (const Command& child : command.children) add_row(child.name, child.summary);
  if (!command.arguments.empty()) out += "\nArguments:\n";
  for (const Argument& argument : command.arguments) add_row(argument.name, argument.help);
  if (!command.options.empty()) out += "\nOptions:\n";
  for (const Option& option : command.options) {
    const size_t comma = option.names.find(',');
    std::string left = comma == std::string::npos
                           ? "    " + option.names
                           : option.names.substr(0, comma) + ", " + option.names.substr(comma + 1);
    if (!option.value.empty()) left += " " + option.value;
    add_row(left, option.help);
  }
  return out;
}

}  // namespace queen::cli
