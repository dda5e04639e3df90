#include "config/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "config/settings.h"

namespace queen::config {
namespace {

constexpr size_t kColumns = 100;
constexpr size_t kHelpIndent = 6;

// Appends `text` wrapped at white space, each line behind `indent` spaces.
void AppendWrapped(std::string& out, std::string_view text, size_t indent) {
  while (!text.empty()) {
    size_t length = text.size();
    if (indent + length > kColumns) {
      const size_t space = text.rfind(' ', kColumns - indent);
      if (space != std::string_view::npos) length = space;
    }
    out.append(indent, ' ');
    out += text.substr(0, length);
    out += '\n';
    text.remove_prefix(length);
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
}

// Calls `begin` with each section's name before the first of its settings.
template <typename Begin, typename Each>
void ForEachSetting(Begin begin, Each each) {
  std::string_view section;
  const std::span<const Setting> settings = Settings();
  for (size_t i = 0; i < settings.size(); ++i) {
    if (settings[i].section != section) begin(section = settings[i].section);
    each(settings[i], i);
  }
}

std::string MarkdownCell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return cell;
}

std::string Code(std::string_view text) {
  return text.empty() ? std::string() : fmt::format("`{}`", MarkdownCell(text));
}

}  // namespace

std::string SettingsHelp() {
  std::string out;
  ForEachSetting(
      [&](std::string_view section) { out += fmt::format("\n{}:\n", section); },
      [&](const Setting& setting, size_t) {
        const std::string flag = FlagOf(setting);
        const std::string default_text = DefaultText(setting);
        out += fmt::format("  {}{}{}\n", flag, flag.empty() ? "" : "  ", setting.name);
        AppendWrapped(out,
                      fmt::format("{} ({}; default: {})", setting.description, AllowedText(setting),
                                  default_text.empty() ? "none" : default_text),
                      kHelpIndent);
      });
  return out;
}

std::string ReportText(const Loaded& loaded) {
  size_t name_width = 0;
  size_t value_width = 0;
  for (const Setting& setting : Settings()) {
    name_width = std::max(name_width, setting.name.size());
    value_width = std::max(value_width, ShowValue(setting, loaded.config).size());
  }
  std::string out;
  ForEachSetting(
      [&](std::string_view section) {
        out += fmt::format("{}{}\n", out.empty() ? "" : "\n", section);
      },
      [&](const Setting& setting, size_t i) {
        const std::string value = ShowValue(setting, loaded.config);
        out += fmt::format("  {:<{}}  {:<{}}  {}\n", setting.name, name_width,
                           value.empty() ? "-" : value, value_width, loaded.origins[i]);
      });
  return out;
}

std::string ReportJson(const Loaded& loaded) {
  Config config = loaded.config;
  std::string out;
  JsonWriter json(out);
  json.BeginObject();
  json.Key("settings");
  json.BeginArray();
  const std::span<const Setting> settings = Settings();
  for (size_t i = 0; i < settings.size(); ++i) {
    const Setting& setting = settings[i];
    json.BeginObject();
    json.Field("name", setting.name);
    json.Key("flag");
    if (const std::string flag = FlagOf(setting); flag.empty()) {
      json.Null();
    } else {
      json.String(flag);
    }
    json.Field("section", setting.section);
    json.Key("value");
    const std::string value = ShowValue(setting, config);
    if (const auto* integer = std::get_if<IntKind>(&setting.kind)) {
      json.Int(integer->at(config));
    } else if (const auto* size = std::get_if<SizeKind>(&setting.kind)) {
      json.Int(size->at(config));
    } else if (const auto* number = std::get_if<DoubleKind>(&setting.kind)) {
      json.Number(number->at(config));
    } else if (const auto* truth = std::get_if<BoolKind>(&setting.kind)) {
      json.Bool(truth->at(config));
    } else if (setting.secret() && value.empty()) {
      json.Null();
    } else {
      json.String(value);
    }
    json.Field("origin", loaded.origins[i]);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  out += '\n';
  return out;
}

std::string ReportMarkdown() {
  std::string out =
      "# Configuration\n\n"
      "This page is written by `queen config --markdown` from the table in "
      "[settings.cc](../src/config/settings.cc);\na test fails when the two differ.\n\n"
      "A setting is taken from the first of these that has it:\n\n"
      "1. a flag after the command, such as `queen serve --port 7000`;\n"
      "2. an environment variable (an empty one counts as not set);\n"
      "3. the file named by `--config FILE` or `QUEEN_CONFIG`: lines `NAME = value` with the names "
      "of the\n   environment; `#` starts a comment; single or double quotes keep a value as it "
      "is;\n"
      "4. the default.\n\n"
      "`queen config` prints the values in force and where each came from, `--json` for programs. "
      "An unknown\nflag or file key, a value that cannot be read or is out of range, and settings "
      "that contradict each\nother stop the start with exit code 2 and one message per problem. "
      "Secrets have no flag, since every\nuser of a machine can read its command lines, and are "
      "never printed.\n\n"
      "With `DATABASE_URL` or `PG_HOST` the broker uses that PostgreSQL server; with neither it "
      "runs its own.\nSizes are bytes or end in `KiB`, `MiB` or `GiB`. Truth values are `true`, "
      "`1`, `yes`, `on` and their\nopposites.\n";
  ForEachSetting(
      [&](std::string_view section) {
        out += fmt::format(
            "\n## {}\n\n| variable | flag | default | allowed | what it does "
            "|\n|---|---|---|---|---|\n",
            section);
      },
      [&](const Setting& setting, size_t) {
        const std::string default_text = setting.computed.text.empty()
                                             ? Code(DefaultText(setting))
                                             : MarkdownCell(setting.computed.text);
        out += fmt::format("| {} | {} | {} | {} | {} |\n", Code(setting.name),
                           Code(FlagOf(setting)), default_text, MarkdownCell(AllowedText(setting)),
                           MarkdownCell(setting.description));
      });
  return out;
}

}  // namespace queen::config
