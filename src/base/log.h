// Structured logs: a message and fields, written as text or JSON lines to standard error. Any
// thread may log. Levels: trace, debug, info, warn, error, off (LOG_LEVEL); formats: text, json.
//
//   log::Info("listening", {{"url", url}, {"workers", 2}});
//   text: 2026-01-31T23:59:59.123Z info  listening url=http://... workers=2
//   json: {"time":"...","level":"info","message":"listening","url":"http://...","workers":2}
//
// A line that a client or an outage can cause again and again is written with WarnRarely or
// ErrorRarely: at most one line of the same message every kRarelyMs, whoever writes it. The next
// line says in `left_out` how many were not written.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <mutex>
#include <optional>
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

inline constexpr int64_t kRarelyMs = 10'000;

// As Write, at most every kRarelyMs for the same message.
void WriteRarely(Level level, std::string_view message, Fields fields = {});

inline void WarnRarely(std::string_view message, Fields fields = {}) {
  WriteRarely(Level::kWarn, message, fields);
}
inline void ErrorRarely(std::string_view message, Fields fields = {}) {
  WriteRarely(Level::kError, message, fields);
}

// RateLimit: which of the lines with the same key are written. Keys are messages of the program, so
// their number is bounded. Any thread.
class RateLimit {
 public:
  // nullopt: leave this line out. Otherwise write it; the value counts those left out before it.
  std::optional<int64_t> Take(std::string_view key, int64_t now_ms);

 private:
  struct Said {
    int64_t at_ms = 0;
    int64_t left_out = 0;
  };

  std::mutex mutex_;
  std::map<std::string, Said, std::less<>> said_;  // guarded by mutex_
};

// One line as Write would print it, without the newline; separate so that it can be tested.
// `left_out` above 0 becomes the last field.
std::string FormatLine(Format format, Level level, int64_t wall_micros, std::string_view message,
                       Fields fields, int64_t left_out = 0);

}  // namespace queen::log
