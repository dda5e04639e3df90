#include "base/trace_context.h"

#include <algorithm>

namespace queen {
namespace {

constexpr size_t kLength = 55;  // of version 00
constexpr size_t kTraceIdAt = 3;
constexpr size_t kSpanIdAt = 36;
constexpr size_t kFlagsAt = 53;
constexpr uint8_t kVersionNever = 0xff;

constexpr size_t kStateBytesMax = 512;
constexpr size_t kStateEntriesMax = 32;
constexpr size_t kStateKeyMax = 256;
constexpr size_t kStateValueMax = 256;
constexpr size_t kTenantMax = 241;
constexpr size_t kSystemMax = 14;

// Upper case is against the rules.
int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// REQUIRES: text.size() == 2 * kSize
template <size_t kSize>
bool ReadHex(std::string_view text, std::array<uint8_t, kSize>& bytes) {
  for (size_t i = 0; i < kSize; ++i) {
    const int high = DigitOf(text[2 * i]);
    const int low = DigitOf(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return true;
}

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsKeyByte(char c) {
  return IsLower(c) || IsDigit(c) || c == '_' || c == '-' || c == '*' || c == '/';
}

bool IsKeyPart(std::string_view text, size_t size_max, bool digit_may_begin) {
  if (text.empty() || text.size() > size_max) return false;
  if (!IsLower(text[0]) && !(digit_may_begin && IsDigit(text[0]))) return false;
  return std::all_of(text.begin(), text.end(), IsKeyByte);
}

// "vendor", or "tenant@vendor".
bool IsStateKey(std::string_view key) {
  const size_t at = key.find('@');
  if (at == std::string_view::npos) return IsKeyPart(key, kStateKeyMax, false);
  return IsKeyPart(key.substr(0, at), kTenantMax, true) &&
         IsKeyPart(key.substr(at + 1), kSystemMax, false);
}

// Printable ASCII but for what separates entries; the space may not be last.
bool IsStateValue(std::string_view value) {
  if (value.empty() || value.size() > kStateValueMax || value.back() == ' ') return false;
  return std::all_of(value.begin(), value.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != ',' && c != '='; });
}

std::string_view WithoutSpace(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

std::optional<TraceContext> TraceContext::Parse(std::string_view traceparent) {
  if (traceparent.size() < kLength) return std::nullopt;
  std::array<uint8_t, 1> version{};
  std::array<uint8_t, 1> flags{};
  TraceContext context;
  const bool digits = ReadHex(traceparent.substr(0, 2), version) &&
                      ReadHex(traceparent.substr(kTraceIdAt, 32), context.trace_id) &&
                      ReadHex(traceparent.substr(kSpanIdAt, 16), context.span_id) &&
                      ReadHex(traceparent.substr(kFlagsAt, 2), flags);
  const bool dashes = traceparent[kTraceIdAt - 1] == '-' && traceparent[kSpanIdAt - 1] == '-' &&
                      traceparent[kFlagsAt - 1] == '-';
  if (!digits || !dashes || version[0] == kVersionNever) return std::nullopt;
  if (traceparent.size() > kLength && (version[0] == 0 || traceparent[kLength] != '-')) {
    return std::nullopt;
  }
  if (context.trace_id == decltype(trace_id){} || !context.valid()) return std::nullopt;
  context.flags = flags[0];
  return context;
}

std::string TraceContext::ToTraceparent() const {
  std::string text = "00-";
  text.reserve(kLength);
  AppendHex(text, trace_id);
  text += '-';
  AppendHex(text, span_id);
  text += sampled() ? "-01" : "-00";
  return text;
}

bool IsTracestate(std::string_view text) {
  if (text.size() > kStateBytesMax) return false;
  size_t entries = 0;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view entry = WithoutSpace(text.substr(0, comma));
    if (!entry.empty()) {  // an empty one is allowed and counts for nothing
      const size_t equals = entry.find('=');
      if (equals == std::string_view::npos || !IsStateKey(entry.substr(0, equals)) ||
          !IsStateValue(entry.substr(equals + 1)) || ++entries > kStateEntriesMax) {
        return false;
      }
    }
    if (comma == std::string_view::npos) return entries > 0;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace queen
