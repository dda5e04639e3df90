// Structured logs: a message and fields, written as text or JSON lines to standard error. Any
// thread may log. Levels: trace, debug, info, warn, error, off (LOG_LEVEL); formats: text, json.
//
//   log::Info("listening", {{"url", url}, {"workers", 2}});
//   text: 2026-01-31T23:59:59.123Z info  listening url=http://... workers=2
//   json: {"time":"...","level":"info","message":"listening","url":"http://...","workers":2}
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace queen::log {

enum class Level { kTrace, kDebug, kInfo, kWarn, kError, kOff };
enum class Format { kText, kJson };

// One key and its value; borrows both, for the duration of the call.
struct Field {
  std::string_view key;
  std::variant<std::string_view, int64_t, double, bool> value;

  Field(std::string_view k, std::string_view v) : key(k), value(v) {}
  Field(std::string_view k, const std::string& v) : key(k), value(std::string_view(v)) {}
  Field(std::string_view k, const char* v) : key(k), value(std::string_view(v)) {}
  Field(std::string_view k, bool v) : key(k), value(v) {}
  Field(std::string_view k, std::integral auto v) : key(k), value(static_cast<int64_t>(v)) {}
  Field(std::string_view k, std::floating_point auto v) : key(k), value(static_cast<double>(v)) {}
};
using Fields = std::initializer_list<Field>;

// Call once at start, before other threads log.
void Configure(Level level, Format format);

bool Enabled(Level level);
void Write(Level level, std::string_view message, Fields fields = {});

inline void Debug(std::string_view message, Fields fields = {}) {
  if (Enabled(Level::kDebug)) Write(Level::kDebug, message, fields);
}
inline void Info(std::string_view message, Fields fields = {}) {
  Write(Level::kInfo, message, fields);
}
inline void Warn(std::string_view message, Fields fields = {}) {
  Write(Level::kWarn, message, fields);
}
inline void Error(std::string_view message, Fields fields = {}) {
  Write(Level::kError, message, fields);
}

// One line as Write would print it, without the newline; separate so that it can be tested.
std::string FormatLine(Format format, Level level, int64_t wall_micros, std::string_view message,
                       Fields fields);

}  // namespace queen::log
