#include "http/query.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/utf8.h"
#include "http/percent.h"
#include "http/request.h"

namespace queen::http {
namespace {

constexpr size_t kNameInErrorBytesMax = 64;

// Decodes one half of a name=value pair.
bool Decode(std::string_view raw, std::string& out) {
  out.reserve(raw.size());
  return AppendPercentDecoded(raw, Plus::kIsSpace, out) && IsValidUtf8(out) &&
         out.find('\0') == std::string::npos;
}

Status Unusable(std::string_view raw_name) {
  return Status(Code::kInvalidRequest,
                fmt::format("The query parameter \"{}\" is not valid percent-encoded UTF-8",
                            raw_name.substr(0, kNameInErrorBytesMax)));
}

}  // namespace

Result<Query> Query::Parse(std::string_view raw) {
  Query query;
  while (!raw.empty()) {
    const std::string_view pair = raw.substr(0, raw.find('&'));
    raw.remove_prefix(std::min(raw.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    const std::string_view raw_name = pair.substr(0, equals);
    auto& [name, value] = query.parameters_.emplace_back();
    if (!Decode(raw_name, name)) return Unusable(raw_name);
    if (equals == std::string_view::npos) continue;
    if (!Decode(pair.substr(equals + 1), value)) return Unusable(name);
  }
  return query;
}

std::optional<std::string_view> Query::Get(std::string_view name) const {
  for (const auto& [key, value] : parameters_) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::string_view Query::GetOr(std::string_view name, std::string_view absent) const {
  return Get(name).value_or(absent);
}

Result<bool> Query::Bool(std::string_view name, bool absent) const {
  const auto value = Get(name);
  if (!value) return absent;
  if (*value == "1" || EqualsIgnoringCase(*value, "true")) return true;
  if (value->empty() || *value == "0" || EqualsIgnoringCase(*value, "false")) return false;
  return Status(Code::kInvalidRequest,
                fmt::format("The query parameter \"{}\" must be true or false", name));
}

Result<int64_t> Query::Int(std::string_view name, int64_t absent, int64_t low, int64_t high) const {
  const auto value = Get(name);
  if (!value) return absent;
  int64_t number = 0;
  const char* end = value->data() + value->size();
  const auto [stop, error] = std::from_chars(value->data(), end, number);
  const bool whole = error == std::errc() && stop == end;
  if (whole && number >= low && number <= high) return number;
  std::string text = fmt::format("The query parameter \"{}\" must be a whole number", name);
  const bool bounded = low != INT64_MIN || high != INT64_MAX;
  if (bounded && high == INT64_MAX) text += fmt::format(" of at least {}", low);
  if (bounded && high != INT64_MAX) text += fmt::format(" between {} and {}", low, high);
  return Status(Code::kInvalidRequest, std::move(text));
}

Result<double> Query::Number(std::string_view name, double absent) const {
  const auto value = Get(name);
  if (!value) return absent;
  double number = 0;
  const char* end = value->data() + value->size();
  const auto [stop, error] = std::from_chars(value->data(), end, number);
  if (error == std::errc() && stop == end && std::isfinite(number)) return number;
  return Status(Code::kInvalidRequest,
                fmt::format("The query parameter \"{}\" must be a number", name));
}

}  // namespace queen::http
