#include "config/load.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "config/config_file.h"
#include "config/names.h"
#include "config/settings.h"

namespace queen::config {
namespace {

constexpr std::string_view kDefault = "default";

struct Given {
  std::string text;
  std::string origin;
};
// Keyed by the name of the setting; a later source overwrites an earlier one.
using GivenValues = std::map<std::string, Given, std::less<>>;

std::vector<std::string> KnownNames() {
  std::vector<std::string> names;
  for (const Setting& setting : Settings()) names.emplace_back(setting.name);
  return names;
}

void TakeFile(const std::string& path, GivenValues& given, std::vector<std::string>& problems) {
  const Result<std::string> text = ReadFile(path);
  if (!text.ok()) {
    problems.push_back(
        fmt::format("cannot read the configuration file {}: {}", path, text.status().message()));
    return;
  }
  FileContent content = ParseFile(path, *text);
  problems.insert(problems.end(), content.problems.begin(), content.problems.end());
  std::map<std::string, int> lines;
  for (FileEntry& entry : content.entries) {
    const std::string where = fmt::format("{}:{}", path, entry.line);
    const auto [first, is_new] = lines.emplace(entry.name, entry.line);
    if (FindSetting(entry.name) == nullptr) {
      problems.push_back(fmt::format("{}: unknown key {}{}", where, entry.name,
                                     Suggestion(entry.name, KnownNames())));
    } else if (!is_new) {
      problems.push_back(
          fmt::format("{}: {} was already set on line {}", where, entry.name, first->second));
    } else {
      given[entry.name] = {std::move(entry.value), where};
    }
  }
}

void TakeEnvironment(const Environment& environment, GivenValues& given) {
  for (const Setting& setting : Settings()) {
    const auto found = environment.find(setting.name);
    if (found == environment.end() || found->second.empty()) continue;
    given[std::string(setting.name)] = {found->second, "environment"};
  }
}

void TakeFlags(const Sources& sources, GivenValues& given, std::vector<std::string>& problems) {
  std::map<std::string_view, int> times;
  for (const auto& [name, text] : sources.flags) {
    const std::string flag = FlagOf(*FindSetting(name));
    if (++times[name] == 2) problems.push_back(fmt::format("the flag {} is given twice", flag));
    given[name] = {text, "flag " + flag};
  }
}

void WarnAboutPasswordsInFlags(const Sources& sources, std::vector<std::string>& warnings) {
  for (const auto& [name, text] : sources.flags) {
    const Setting& setting = *FindSetting(name);
    if (!std::holds_alternative<ConninfoKind>(setting.kind) || !HasPassword(text)) continue;
    warnings.push_back(fmt::format(
        "the flag {} holds a password, and every user of this machine can read command lines: put "
        "it into the environment ({}) or into the file that PGPASSFILE names",
        FlagOf(setting), name));
  }
}

// What was given and has no effect, because something else decides which server is used.
void WarnAboutUnusedDatabaseSettings(const GivenValues& given, const Config& config,
                                     std::vector<std::string>& warnings) {
  std::vector<std::string> unused;
  for (const auto& [name, value] : given) {
    if (name.starts_with("PG_")) unused.push_back(name);
  }
  if (unused.empty()) return;
  const std::string names = fmt::format("{}", fmt::join(unused, ", "));
  if (!config.database.url.empty()) {
    warnings.push_back(fmt::format("both DATABASE_URL and {} are set; DATABASE_URL wins", names));
  } else if (config.database.host.empty()) {
    warnings.push_back(fmt::format(
        "{} is set, but neither PG_HOST nor DATABASE_URL: the broker runs its own PostgreSQL",
        names));
  }
}

}  // namespace

Loaded Load(const Sources& sources) {
  Loaded loaded;
  GivenValues given;
  std::optional<std::string> file = sources.file;
  if (const auto found = sources.environment.find(kFileVariable);
      !file && found != sources.environment.end() && !found->second.empty()) {
    file = found->second;
  }
  if (file) TakeFile(*file, given, loaded.problems);
  TakeEnvironment(sources.environment, given);
  TakeFlags(sources, given, loaded.problems);

  for (const Setting& setting : Settings()) {
    const auto found = given.find(setting.name);
    loaded.origins.emplace_back(found == given.end() ? kDefault : found->second.origin);
    if (found == given.end()) continue;
    const auto& [text, origin] = found->second;
    if (const auto problem = ParseValue(setting, text, loaded.config)) {
      loaded.problems.push_back(fmt::format("{} ({}): {} {}; allowed: {}", setting.name, origin,
                                            ShowGiven(setting, text), *problem,
                                            AllowedText(setting)));
    }
  }
  for (const Setting& setting : Settings()) {
    if (setting.computed.compute == nullptr || given.contains(setting.name)) continue;
    setting.computed.compute(loaded.config, sources.environment);
  }
  // Values that could not be parsed would only repeat themselves here.
  if (loaded.problems.empty()) loaded.problems = CheckTogether(loaded.config);

  loaded.warnings = EnvironmentWarnings(sources.environment, loaded.config.uses_embedded());
  WarnAboutPasswordsInFlags(sources, loaded.warnings);
  WarnAboutUnusedDatabaseSettings(given, loaded.config, loaded.warnings);
  return loaded;
}

Environment EnvironmentOf(const char* const* variables) {
  Environment environment;
  for (; *variables != nullptr; ++variables) {
    const std::string_view variable = *variables;
    const size_t equals = variable.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace(variable.substr(0, equals), variable.substr(equals + 1));
  }
  return environment;
}

}  // namespace queen::config
