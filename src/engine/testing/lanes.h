// Logs and times for the tests of the rules, in few words.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/random.h"
#include "engine/lane.h"

// A case names only the fields that it is about.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace queen::engine {

inline constexpr int64_t kTestSecond = 1'000'000;
inline constexpr int64_t kTestNow = 1'700'000'000 * kTestSecond;

inline int64_t Ago(int64_t seconds) { return kTestNow - seconds * kTestSecond; }
inline int64_t In(int64_t seconds) { return kTestNow + seconds * kTestSecond; }

// A log of these segments, all of it known; what stands between them is gone.
inline LogView LogOf(std::vector<SegmentSpan> segments) {
  LogView log;
  log.segments = std::move(segments);
  if (log.segments.empty()) return log;
  const SegmentSpan& last = log.segments.back();
  log.known_end = log.end = log.live_end = last.end();
  log.newest_micros = last.created_micros + last.count - 1;
  return log;
}

// The same, with the segments behind offset `known_end` not listed.
inline LogView ListedUpTo(LogView log, int64_t known_end) {
  std::erase_if(log.segments,
                [known_end](const SegmentSpan& segment) { return segment.base_seq >= known_end; });
  log.known_end = known_end;
  return log;
}

// The same, with a newest segment that retention has blanked.
inline LogView BlankedBehind(LogView log, int32_t count, int64_t created_micros) {
  log.known_end = log.end = log.live_end + count;
  log.newest_micros = created_micros + count - 1;
  return log;
}

// A new seed, or QUEEN_TEST_SEED. Print it with the failure.
inline uint64_t TestSeed() {
  uint64_t seed = 0;
  SecureRandomBytes(&seed, sizeof seed);
  if (const char* given = std::getenv("QUEEN_TEST_SEED")) seed = std::strtoull(given, nullptr, 10);
  return seed;
}

}  // namespace queen::engine
