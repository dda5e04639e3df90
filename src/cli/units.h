// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace queen::cli {

std::string ShowCount(int64_t count);  // 1,234,567
// 1 message, 1,234 messages
std::string ShowCount(int64_t count, std::string_view one, std::string_view more);
std::string ShowBytes(int64_t bytes);        // 3.4 MiB
std::string ShowSeconds(double seconds);     // 850 ms, 12 s, 3 m 20 s, 5 h 2 m, 4 d 3 h
std::string ShowRate(double per_second);     // 0, 0.3/s, 120/s, 3,400/s
std::string ShowTime(std::string_view iso);  // 2026-11-16 07:00:01, or the text if it is no time

// Seconds since 1970 of an ISO-8601 UTC time ("2026-11-16T07:00:01.123Z"), or a negative number.
double SecondsOf(std::string_view iso);

// `text` without what a terminal would act on: control characters become "?".
std::string Printable(std::string_view text);

// `text` as one word of a shell's command line.
std::string ShellWord(std::string_view text);

// Columns that a text takes, and its first `columns` with an ellipsis where it was cut.
size_t WidthOf(std::string_view text);
std::string CutTo(std::string_view text, size_t columns);

}  // namespace queen::cli
