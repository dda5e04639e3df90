// Setting: one row of the table of settings, and what can be done with a row without knowing its
// type: parse a text into a Config, show the value a Config holds, say what is allowed.
//
// A kind carries the way to its member (`at`), so that the table is the only link between a name
// and a member.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "config/config.h"

namespace queen::config {

// Names and values, as a process is given them.
using Environment = std::map<std::string, std::string, std::less<>>;

struct IntKind {
  int& (*at)(Config&);
  int min;
  int max;
  std::string_view unit = {};
};

struct DoubleKind {
  double& (*at)(Config&);
  double min;
  double max;
};

struct BoolKind {
  bool& (*at)(Config&);
};

// Bytes; "512", "16KiB", "64MiB" and "1GiB" are accepted.
struct SizeKind {
  int64_t& (*at)(Config&);
  int64_t min;
  int64_t max;
};

struct TextKind {
  std::string& (*at)(Config&);
  // What the text must be, for people; `valid` checks it (null: anything).
  std::string_view allowed;
  bool (*valid)(std::string_view) = nullptr;
  bool lines = false;  // it may have several, and is kept in one line with "\\n" between them
};

// A path in the file system, made absolute.
struct PathKind {
  std::string& (*at)(Config&);
};

// Never shown, never a flag: every user of a machine can read its command lines.
struct SecretKind {
  std::string& (*at)(Config&);
  // As in TextKind.
  std::string_view allowed = "a text";
  bool (*valid)(std::string_view) = nullptr;
};

// A connection string, shown without its password.
struct ConninfoKind {
  std::string& (*at)(Config&);
};

// One of a few words that the code keeps as text.
struct WordKind {
  std::string& (*at)(Config&);
  std::span<const std::string_view> words;
};

// One of a few words that the code keeps as an enum; the position of a word is its value.
struct EnumKind {
  size_t (*get)(const Config&);
  void (*set)(Config&, size_t);
  std::span<const std::string_view> words;
};

using Kind = std::variant<IntKind, DoubleKind, BoolKind, SizeKind, TextKind, PathKind, SecretKind,
                          ConninfoKind, WordKind, EnumKind>;

// A default that depends on the machine or on other settings. Computed after everything that was
// given is in place, in the order of the table.
struct ComputedDefault {
  std::string_view text;  // for people
  void (*compute)(Config&, const Environment&) = nullptr;
};

struct Setting {
  std::string_view name;  // in the environment and in the file
  std::string_view section;
  Kind kind;
  std::string_view description;
  ComputedDefault computed = {};

  bool secret() const { return std::holds_alternative<SecretKind>(kind); }
};

// "--num-workers" for NUM_WORKERS; "" for a secret, which has no flag.
std::string FlagOf(const Setting& setting);

// Sets the member from `text`. Returns what is wrong with it, such as "is out of range", and leaves
// the Config alone if something is.
std::optional<std::string> ParseValue(const Setting& setting, std::string_view text,
                                      Config& config);

// The value in force, fit to be shown: secrets as "***", and a text that was never set as "".
std::string ShowValue(const Setting& setting, const Config& config);

// `text`, given for this setting, fit to be shown in an error message.
std::string ShowGiven(const Setting& setting, std::string_view text);

// Whether a connection string holds a password.
bool HasPassword(std::string_view conninfo);

// Such as "0..65535" or "one of text, json".
std::string AllowedText(const Setting& setting);

// The default for people: the value of Config{}, or the text of a computed one.
std::string DefaultText(const Setting& setting);

}  // namespace queen::config
