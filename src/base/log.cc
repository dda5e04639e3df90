#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>

#include "base/clock.h"
#include "base/json_writer.h"

namespace queen::log {
namespace {

std::atomic<Level> g_level{Level::kInfo};
std::atomic<Format> g_format{Format::kText};

std::string_view NameOf(Level level) {
  switch (level) {
    case Level::kTrace:
      return "trace";
    case Level::kDebug:
      return "debug";
    case Level::kInfo:
      return "info";
    case Level::kWarn:
      return "warn";
    case Level::kError:
      return "error";
    case Level::kOff:
      return "off";
  }
  return "?";
}

// spdlog serialises the writers and flushes; the line itself is ours.
spdlog::logger& Sink() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("queen",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_formatter(
        std::make_unique<spdlog::pattern_formatter>("%v", spdlog::pattern_time_type::utc, "\n"));
    made->set_level(spdlog::level::trace);
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *logger;
}

void WriteLine(Level level, std::string_view message, Fields fields, int64_t left_out) {
  Sink().log(spdlog::level::info, FormatLine(g_format.load(std::memory_order_relaxed), level,
                                             WallMicros(), message, fields, left_out));
}

// A text value is quoted only when it would be misread.
void AppendTextValue(std::string& line, std::string_view value) {
  bool plain = !value.empty();
  for (const char c : value) {
    if (c <= ' ' || c == '"' || c == '=' || c == 0x7f) plain = false;
  }
  if (plain) {
    line += value;
  } else {
    AppendJsonString(line, value);
  }
}

void AppendField(std::string& line, Format format, const Field& field) {
  if (format == Format::kJson) {
    line += ',';
    AppendJsonString(line, field.key);
    line += ':';
  } else {
    line += ' ';
    line += field.key;
    line += '=';
  }
  if (const auto* text = std::get_if<std::string_view>(&field.value)) {
    if (format == Format::kJson) {
      AppendJsonString(line, *text);
    } else {
      AppendTextValue(line, *text);
    }
  } else if (const auto* integer = std::get_if<int64_t>(&field.value)) {
    fmt::format_to(std::back_inserter(line), "{}", *integer);
  } else if (const auto* number = std::get_if<double>(&field.value)) {
    AppendJsonNumber(line, *number);
  } else {
    line += std::get<bool>(field.value) ? "true" : "false";
  }
}

}  // namespace

void Configure(Level level, Format format) {
  g_level = level;
  g_format = format;
}

bool Enabled(Level level) { return level >= g_level.load(std::memory_order_relaxed); }

std::string FormatLine(Format format, Level level, int64_t wall_micros, std::string_view message,
                       Fields fields, int64_t left_out) {
  std::string line;
  const std::string time = FormatTimestamp(wall_micros, 3);
  if (format == Format::kJson) {
    line = fmt::format(R"({{"time":"{}","level":"{}","message":)", time, NameOf(level));
    AppendJsonString(line, message);
  } else {
    line = fmt::format("{} {:<5} {}", time, NameOf(level), message);
  }
  for (const Field& field : fields) AppendField(line, format, field);
  if (left_out > 0) AppendField(line, format, {"left_out", left_out});
  if (format == Format::kJson) line += '}';
  return line;
}

void Write(Level level, std::string_view message, Fields fields) {
  if (Enabled(level)) WriteLine(level, message, fields, 0);
}

void WriteRarely(Level level, std::string_view message, Fields fields) {
  static RateLimit limit;
  if (!Enabled(level)) return;
  const std::optional<int64_t> left_out = limit.Take(message, SteadyMillis());
  if (left_out) WriteLine(level, message, fields, *left_out);
}

std::optional<int64_t> RateLimit::Take(std::string_view key, int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  const auto found = said_.find(key);
  if (found == said_.end()) {
    said_.emplace(key, Said{now_ms, 0});
    return 0;
  }
  Said& said = found->second;
  if (now_ms - said.at_ms < kRarelyMs) {
    ++said.left_out;
    return std::nullopt;
  }
  const int64_t left_out = said.left_out;
  said = {now_ms, 0};
  return left_out;
}

}  // namespace queen::log
