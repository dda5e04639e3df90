// What every message of a run carries, so that its consumer can tell which message it is and how
// long it took: a stamp of fixed width inside a JSON object padded to the size asked for.
//
//   {"bench":"<run>-<producer>-<partition>-<seq>-<sent>","pad":"..."}     all in hex
//
// A lane is one producer on one partition; its messages are numbered 0, 1, 2, ... in the order they
// are sent. Fixed widths let a request be prepared once and only its digits be written anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace queen::bench {

struct Stamp {
  uint64_t run = 0;
  uint32_t producer = 0;
  uint32_t partition = 0;
  uint32_t seq = 0;
  int64_t sent_us = 0;  // when it was to be sent, on this process's steady clock

  bool operator==(const Stamp&) const = default;
};

inline constexpr size_t kStampBytes = 16 + 1 + 8 + 1 + 8 + 1 + 8 + 1 + 16;
// Where the stamp begins inside a payload.
inline constexpr size_t kStampOffset = std::string_view(R"({"bench":")").size();
inline constexpr size_t kPayloadBytesMin = kStampOffset + kStampBytes + 11;

// Writes exactly kStampBytes at `out`.
void WriteStamp(char* out, const Stamp& stamp);

// A payload of `bytes` with an empty stamp. The padding does not compress.
// REQUIRES: bytes >= kPayloadBytesMin
std::string MakePayload(size_t bytes);

// The stamp of a payload as a pop returned it, whatever its order of keys and white space; nullopt
// if it is none of ours.
std::optional<Stamp> ReadStamp(std::string_view payload);

}  // namespace queen::bench
