// Puts the chunks of a body together (RFC 9112, 7.1). Extensions and trailers are checked, counted
// against a limit and dropped. Every line must end in CRLF: a decoder that guesses where a chunk
// ends disagrees with the proxy before it. (llhttp 8.1 refuses a second chunk extension, which is
// why chunks are read here.)
//
//   kSize -> [kExtension] -> kSizeFeed -> kData -> kDataReturn -> kDataFeed -> kSize ...
//   the chunk of size 0: kSizeFeed -> kTrailer* -> kEndFeed -> done
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http/limits.h"

namespace queen::http {

class ChunkDecoder {
 public:
  enum class Outcome { kNeedMore, kDone, kRefused };

  explicit ChunkDecoder(const Limits& limits) : limits_(&limits) {}

  // Takes bytes from the front of `input`, appending what is data to `body`, up to the end of the
  // body and no further.
  Outcome Feed(std::string_view& input, std::string& body);

  // After kRefused: why.
  const Status& refusal() const { return refusal_; }
  void Reset();

 private:
  enum class State {
    kSize,
    kBeforeExtension,
    kExtension,
    kSizeFeed,
    kData,
    kDataReturn,
    kDataFeed,
    kTrailerStart,
    kTrailerName,
    kTrailerValue,
    kTrailerFeed,
    kEndFeed,
  };

  Outcome TakeData(std::string_view& input, std::string& body);
  // Handles one byte that is not data.
  Outcome Take(char c, size_t body_bytes);
  Outcome TakeSize(char c, size_t body_bytes);
  Outcome TakeExtension(char c);
  Outcome TakeTrailerStart(char c);
  Outcome TakeTrailerName(char c);
  Outcome TakeTrailerValue(char c);
  // Expects exactly `wanted`, then goes on in `next`.
  Outcome Expect(char wanted, char c, State next);
  // Counts a byte that is dropped and stays in the state.
  Outcome Drop();
  Outcome Refuse(Code code, std::string_view text = {});
  Outcome Go(State state);

  const Limits* limits_;
  State state_ = State::kSize;
  uint64_t chunk_bytes_ = 0;  // left of the current chunk
  int size_digits_ = 0;
  size_t dropped_bytes_ = 0;
  Status refusal_;
};

}  // namespace queen::http
