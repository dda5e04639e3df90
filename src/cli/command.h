// The tree of commands as data: what the command line is parsed with, --help is written from, and
// shells complete with. A command either does something or has commands below it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace queen::cli {

class Session;

// What a shell offers in the place of a value.
enum class Offer { kNothing, kFile, kQueue, kGroup };

// Where a value goes. A number is checked against min..max.
struct NumberTarget {
  int64_t* value;
  int64_t max = INT64_MAX;
  int64_t min = 0;
};

// For "at most so many", where none at all would be no wish.
inline NumberTarget AtLeastOne(int64_t* value, int64_t max = INT64_MAX) { return {value, max, 1}; }

using Target = std::variant<std::string*, bool*, NumberTarget, std::vector<std::string>*>;

struct Option {
  std::string names;  // "-n,--limit"
  std::string value;  // what it takes, as --help names it; "" for a switch
  std::string help;
  Target target;
  std::vector<std::string> choices = {};  // if not empty, nothing else is allowed
  Offer offer = Offer::kNothing;
};

struct Argument {
  std::string name;  // "QUEUE"
  std::string help;
  Target target;
  bool required = true;
  Offer offer = Offer::kNothing;
};

struct Command {
  std::string name;
  std::string summary;
  std::string details = {};  // whole lines
  std::vector<Argument> arguments = {};
  std::vector<Option> options = {};
  std::function<int(Session&)> run = {};  // answers an ExitCode
  std::vector<Command> children = {};
  bool talks_to_broker = true;  // takes --url, --output and the others of connection.h
};

// "--limit" of "-n,--limit".
inline std::string LongName(const Option& option) {
  const size_t comma = option.names.find(',');
  return comma == std::string::npos ? option.names : option.names.substr(comma + 1);
}

}  // namespace queen::cli
