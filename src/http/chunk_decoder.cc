#include "http/chunk_decoder.h"

#include <algorithm>

#include "http/percent.h"
#include "http/token.h"

namespace queen::http {
namespace {

constexpr int kSizeDigitsMax = 16;

}  // namespace

void ChunkDecoder::Reset() {
  state_ = State::kSize;
  chunk_bytes_ = 0;
  size_digits_ = 0;
  dropped_bytes_ = 0;
}

ChunkDecoder::Outcome ChunkDecoder::Refuse(Code code, std::string_view text) {
  refusal_ = Status(code, std::string(text));
  return Outcome::kRefused;
}

ChunkDecoder::Outcome ChunkDecoder::Go(State state) {
  state_ = state;
  return Outcome::kNeedMore;
}

ChunkDecoder::Outcome ChunkDecoder::Expect(char wanted, char c, State next) {
  if (c != wanted)
    return Refuse(Code::kInvalidRequest, "A chunk of the body is not framed by CRLF");
  return Go(next);
}

ChunkDecoder::Outcome ChunkDecoder::Drop() {
  if (++dropped_bytes_ > limits_->header_bytes_max) return Refuse(Code::kHeadersTooLarge);
  return Outcome::kNeedMore;
}

ChunkDecoder::Outcome ChunkDecoder::Feed(std::string_view& input, std::string& body) {
  while (!input.empty()) {
    Outcome outcome = Outcome::kNeedMore;
    if (state_ == State::kData) {
      outcome = TakeData(input, body);
    } else {
      outcome = Take(input.front(), body.size());
      input.remove_prefix(1);
    }
    if (outcome != Outcome::kNeedMore) return outcome;
  }
  return Outcome::kNeedMore;
}

ChunkDecoder::Outcome ChunkDecoder::TakeData(std::string_view& input, std::string& body) {
  const size_t size = std::min<size_t>(input.size(), chunk_bytes_);
  body.append(input.substr(0, size));
  input.remove_prefix(size);
  chunk_bytes_ -= size;
  return chunk_bytes_ == 0 ? Go(State::kDataReturn) : Outcome::kNeedMore;
}

ChunkDecoder::Outcome ChunkDecoder::Take(char c, size_t body_bytes) {
  switch (state_) {
    case State::kSize:
      return TakeSize(c, body_bytes);
    case State::kBeforeExtension:
      if (c == ' ' || c == '\t') return Drop();
      return Expect(';', c, State::kExtension);
    case State::kExtension:
      return TakeExtension(c);
    case State::kSizeFeed:
      size_digits_ = 0;
      return Expect('\n', c, chunk_bytes_ > 0 ? State::kData : State::kTrailerStart);
    case State::kData:
      break;
    case State::kDataReturn:
      return Expect('\r', c, State::kDataFeed);
    case State::kDataFeed:
      return Expect('\n', c, State::kSize);
    case State::kTrailerStart:
      return TakeTrailerStart(c);
    case State::kTrailerName:
      return TakeTrailerName(c);
    case State::kTrailerValue:
      return TakeTrailerValue(c);
    case State::kTrailerFeed:
      return Expect('\n', c, State::kTrailerStart);
    case State::kEndFeed:
      if (c == '\n') return Outcome::kDone;
      return Expect('\n', c, State::kEndFeed);
  }
  return Refuse(Code::kInternal);
}

ChunkDecoder::Outcome ChunkDecoder::TakeSize(char c, size_t body_bytes) {
  if (const int digit = HexDigitValue(c); digit >= 0) {
    if (++size_digits_ > kSizeDigitsMax) {
      return Refuse(Code::kInvalidRequest, "The size of a chunk has too many digits");
    }
    chunk_bytes_ = chunk_bytes_ * 16 + static_cast<uint64_t>(digit);
    if (chunk_bytes_ > limits_->body_bytes_max - body_bytes) return Refuse(Code::kPayloadTooLarge);
    return Outcome::kNeedMore;
  }
  if (size_digits_ > 0) {
    if (c == '\r') return Go(State::kSizeFeed);
    if (c == ';') return Go(State::kExtension);
    if (c == ' ' || c == '\t') return Go(State::kBeforeExtension);
  }
  return Refuse(Code::kInvalidRequest, "The size of a chunk is malformed");
}

ChunkDecoder::Outcome ChunkDecoder::TakeExtension(char c) {
  if (c == '\r') return Go(State::kSizeFeed);
  if (!IsValueCharacter(c)) return Refuse(Code::kInvalidRequest, "A chunk extension is malformed");
  return Drop();
}

ChunkDecoder::Outcome ChunkDecoder::TakeTrailerStart(char c) {
  if (c == '\r') return Go(State::kEndFeed);
  state_ = State::kTrailerName;
  if (!IsTokenCharacter(c)) return Refuse(Code::kInvalidRequest, "A trailer is malformed");
  return Drop();
}

ChunkDecoder::Outcome ChunkDecoder::TakeTrailerName(char c) {
  if (c == ':') return Go(State::kTrailerValue);
  if (!IsTokenCharacter(c)) return Refuse(Code::kInvalidRequest, "A trailer is malformed");
  return Drop();
}

ChunkDecoder::Outcome ChunkDecoder::TakeTrailerValue(char c) {
  if (c == '\r') return Go(State::kTrailerFeed);
  if (!IsValueCharacter(c)) return Refuse(Code::kInvalidRequest, "A trailer is malformed");
  return Drop();
}

}  // namespace queen::http
