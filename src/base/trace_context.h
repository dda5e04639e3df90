// TraceContext: where in a distributed trace something happens, as W3C Trace Context writes it:
//
//   traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
//                version, trace id, id of the span that is the parent, flags
//   tracestate:  what vendors add to it, "key=value" with commas between
//
// What breaks the rules is no context at all: whoever reads it goes on as if nothing had come.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace queen {

inline constexpr std::string_view kTraceparent = "traceparent";
inline constexpr std::string_view kTracestate = "tracestate";

struct TraceContext {
  static constexpr uint8_t kSampled = 1;

  std::array<uint8_t, 16> trace_id{};
  std::array<uint8_t, 8> span_id{};
  uint8_t flags = 0;

  bool operator==(const TraceContext&) const = default;

  // A default made one is none.
  bool valid() const { return span_id != decltype(span_id){}; }
  bool sampled() const { return (flags & kSampled) != 0; }

  // nullopt where the rules say that the value is to be ignored. A version later than 00 is read as
  // far as 00 goes.
  static std::optional<TraceContext> Parse(std::string_view traceparent);
  // As version 00, with no flag but `sampled`.
  std::string ToTraceparent() const;
};

// Which trace a request belongs to. Neither is valid where nobody asked for one.
struct RequestTrace {
  TraceContext caller;  // that came with the request
  TraceContext span;    // of the request's own span: only while it is to be exported
};

// Whether it is a list of at most 32 vendors' entries, within 512 bytes. Another one is left out,
// and the traceparent beside it stays.
bool IsTracestate(std::string_view text);

// Appends two lower-case digits per byte.
template <size_t kSize>
void AppendHex(std::string& out, const std::array<uint8_t, kSize>& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const uint8_t byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
}

}  // namespace queen
