#include "config/setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <utility>

namespace queen::config {
namespace {

constexpr std::string_view kMask = "***";
constexpr std::array<std::pair<std::string_view, int64_t>, 3> kSizeUnits = {
    {{"GiB", int64_t{1} << 30}, {"MiB", int64_t{1} << 20}, {"KiB", int64_t{1} << 10}}};

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

bool HasControlCharacter(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

// Reads a number that is the whole of `text`.
template <typename Number>
std::optional<std::string> ParseNumber(std::string_view text, Number min, Number max,
                                       std::string_view what, Number& out) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = end == text.data() + text.size();
  if (whole && error == std::errc::result_out_of_range) return "is out of range";
  if (error != std::errc() || !whole) return fmt::format("is not {}", what);
  if constexpr (std::is_floating_point_v<Number>) {
    if (!std::isfinite(number)) return fmt::format("is not {}", what);
  }
  if (number < min || number > max) return "is out of range";
  out = number;
  return std::nullopt;
}

std::optional<std::string> ParseSize(std::string_view text, const SizeKind& kind, int64_t& out) {
  int64_t unit = 1;
  for (const auto& [suffix, bytes] : kSizeUnits) {
    if (text.size() <= suffix.size()) continue;
    if (!EqualIgnoringCase(text.substr(text.size() - suffix.size()), suffix)) continue;
    text.remove_suffix(suffix.size());
    unit = bytes;
    break;
  }
  while (unit > 1 && text.ends_with(' ')) text.remove_suffix(1);
  int64_t number = 0;
  // The bounds are divided, so that the product below cannot overflow.
  if (auto problem = ParseNumber<int64_t>(text, 0, kind.max / unit, "a size in bytes", number)) {
    return problem;
  }
  if (number * unit < kind.min) return "is out of range";
  out = number * unit;
  return std::nullopt;
}

std::string FormatSize(int64_t bytes) {
  for (const auto& [suffix, unit] : kSizeUnits) {
    if (bytes >= unit && bytes % unit == 0) return fmt::format("{}{}", bytes / unit, suffix);
  }
  return fmt::format("{}", bytes);
}

std::optional<bool> ParseBool(std::string_view text) {
  for (const std::string_view word : {"true", "1", "yes", "on"}) {
    if (EqualIgnoringCase(text, word)) return true;
  }
  for (const std::string_view word : {"false", "0", "no", "off"}) {
    if (EqualIgnoringCase(text, word)) return false;
  }
  return std::nullopt;
}

std::optional<std::string> ParseText(std::string_view text, std::string& out) {
  if (HasControlCharacter(text)) return "holds a control character";
  out = text;
  return std::nullopt;
}

std::string InOneLine(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n') {
      line += "\\n";
    } else if (c != '\r') {
      line += c;
    }
  }
  return line;
}

bool IsUrl(std::string_view text) {
  return text.starts_with("postgres://") || text.starts_with("postgresql://");
}

// The password between the user and the host of a URL; empty when there is none.
std::string_view PasswordInUrl(std::string_view url) {
  const size_t user = url.find("://") + 3;
  const size_t at = url.rfind('@');
  const size_t colon = url.find(':', user);
  if (at == std::string_view::npos || colon == std::string_view::npos || colon > at) return {};
  return url.substr(colon + 1, at - colon - 1);
}

// Whether what stands behind the first colon of a URL without a user is no port: then it may be the
// password of a user whose host was forgotten.
bool LacksHost(std::string_view url) {
  std::string_view rest = url.substr(url.find("://") + 3);
  rest = rest.substr(0, rest.find_first_of("/?"));
  if (rest.find('@') != std::string_view::npos) return false;
  while (!rest.empty()) {
    const std::string_view host = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), host.size() + 1));
    const size_t colon = host.find(':', host.starts_with('[') ? host.find(']') : 0);
    if (colon == std::string_view::npos) continue;
    if (host.find_first_not_of("0123456789", colon + 1) != std::string_view::npos) return true;
  }
  return false;
}

// Hides the password of a connection string, and all of it where the password may be anywhere.
std::string MaskConninfo(std::string_view text) {
  if (text.empty()) return "";
  if (!IsUrl(text) || text.find("pass") != std::string_view::npos) return std::string(kMask);
  const std::string_view password = PasswordInUrl(text);
  if (password.empty()) return std::string(LacksHost(text) ? kMask : text);
  const auto before = static_cast<size_t>(password.data() - text.data());
  return fmt::format("{}{}{}", text.substr(0, before), kMask,
                     text.substr(before + password.size()));
}

}  // namespace

bool HasPassword(std::string_view conninfo) {
  if (IsUrl(conninfo) && !PasswordInUrl(conninfo).empty()) return true;
  return conninfo.find("password") != std::string_view::npos;
}

std::string FlagOf(const Setting& setting) {
  if (setting.secret()) return "";
  // The prefix only keeps the variable apart from others in a shared environment.
  std::string_view name = setting.name;
  if (name.starts_with("QUEEN_")) name.remove_prefix(6);
  std::string flag = "--";
  for (const char c : name) flag += c == '_' ? '-' : static_cast<char>(std::tolower(c));
  return flag;
}

std::optional<std::string> ParseValue(const Setting& setting, std::string_view text,
                                      Config& config) {
  using Problem = std::optional<std::string>;
  return std::visit(
      Overloaded{
          [&](const IntKind& kind) -> Problem {
            return ParseNumber(text, kind.min, kind.max, "a whole number", kind.at(config));
          },
          [&](const DoubleKind& kind) -> Problem {
            return ParseNumber(text, kind.min, kind.max, "a number", kind.at(config));
          },
          [&](const BoolKind& kind) -> Problem {
            const std::optional<bool> value = ParseBool(text);
            if (!value) return "is not a truth value";
            kind.at(config) = *value;
            return std::nullopt;
          },
          [&](const SizeKind& kind) -> Problem { return ParseSize(text, kind, kind.at(config)); },
          [&](const TextKind& kind) -> Problem {
            if (kind.valid != nullptr && !kind.valid(text)) return "is not valid";
            if (kind.lines) return ParseText(InOneLine(text), kind.at(config));
            return ParseText(text, kind.at(config));
          },
          [&](const PathKind& kind) -> Problem {
            if (text.empty()) return "is not a path";
            std::error_code error;
            const auto path = std::filesystem::absolute(text, error).lexically_normal();
            if (error) return "cannot be made absolute: " + error.message();
            return ParseText(path.string(), kind.at(config));
          },
          [&](const SecretKind& kind) -> Problem {
            if (kind.valid != nullptr && !kind.valid(text)) return "is not valid";
            return ParseText(text, kind.at(config));
          },
          [&](const ConninfoKind& kind) -> Problem {
            if (!text.empty() && !IsUrl(text) && text.find('=') == std::string_view::npos) {
              return "is not a connection string";
            }
            return ParseText(text, kind.at(config));
          },
          [&](const WordKind& kind) -> Problem {
            if (std::ranges::find(kind.words, text) == kind.words.end()) return "is not known";
            kind.at(config) = text;
            return std::nullopt;
          },
          [&](const EnumKind& kind) -> Problem {
            const auto found = std::ranges::find(kind.words, text);
            if (found == kind.words.end()) return "is not known";
            kind.set(config, static_cast<size_t>(found - kind.words.begin()));
            return std::nullopt;
          },
      },
      setting.kind);
}

std::string ShowValue(const Setting& setting, const Config& config) {
  // The accessors give the way to change a member as well; here they are only read through.
  auto& members = const_cast<Config&>(config);
  return std::visit(
      Overloaded{
          [&](const IntKind& kind) { return fmt::format("{}", kind.at(members)); },
          [&](const DoubleKind& kind) { return fmt::format("{}", kind.at(members)); },
          [&](const BoolKind& kind) { return fmt::format("{}", kind.at(members)); },
          [&](const SizeKind& kind) { return FormatSize(kind.at(members)); },
          [&](const SecretKind& kind) {
            return std::string(kind.at(members).empty() ? "" : kMask);
          },
          [&](const ConninfoKind& kind) { return MaskConninfo(kind.at(members)); },
          [&](const EnumKind& kind) { return std::string(kind.words[kind.get(config)]); },
          [&](const auto& kind) { return std::string(kind.at(members)); },
      },
      setting.kind);
}

std::string ShowGiven(const Setting& setting, std::string_view text) {
  if (setting.secret()) return "the value";
  if (std::holds_alternative<ConninfoKind>(setting.kind)) {
    return IsUrl(text) ? fmt::format("\"{}\"", MaskConninfo(text)) : "the value";
  }
  std::string shown;
  for (const char c : text) shown += HasControlCharacter({&c, 1}) ? '?' : c;
  return fmt::format("\"{}\"", shown);
}

std::string AllowedText(const Setting& setting) {
  return std::visit(
      Overloaded{
          [](const IntKind& kind) {
            return fmt::format("{}..{}{}{}", kind.min, kind.max, kind.unit.empty() ? "" : " ",
                               kind.unit);
          },
          [](const DoubleKind& kind) { return fmt::format("{}..{}", kind.min, kind.max); },
          [](const BoolKind&) { return std::string("true or false"); },
          [](const SizeKind& kind) {
            return fmt::format("{}..{}", FormatSize(kind.min), FormatSize(kind.max));
          },
          [](const TextKind& kind) { return std::string(kind.allowed); },
          [](const PathKind&) { return std::string("a path"); },
          [](const SecretKind& kind) { return fmt::format("{} (secret)", kind.allowed); },
          [](const ConninfoKind&) {
            return std::string("postgresql://user@host:port/database or key=value pairs");
          },
          [](const auto& kind) { return fmt::format("one of {}", fmt::join(kind.words, ", ")); },
      },
      setting.kind);
}

std::string DefaultText(const Setting& setting) {
  if (!setting.computed.text.empty()) return std::string(setting.computed.text);
  return ShowValue(setting, Config{});
}

}  // namespace queen::config
