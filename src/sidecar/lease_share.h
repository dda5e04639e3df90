// How much one lease call may carry, and how much each of its pops may be given.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace queen::sidecar {

// The rows and messages asked for by one lease call.
class LeaseLoad {
 public:
  LeaseLoad(size_t rows_max, size_t messages_max)
      : rows_max_(rows_max), messages_max_(messages_max) {}

  // Whether a pop with so many candidates and messages is not too much. The first never is: a pop
  // has limits of its own.
  bool Fits(size_t rows, size_t messages) const {
    return rows_ == 0 || (rows_ + rows <= rows_max_ && messages_ + messages <= messages_max_);
  }
  void Add(size_t rows, size_t messages) {
    rows_ += rows;
    messages_ += messages;
  }

 private:
  const size_t rows_max_;
  const size_t messages_max_;
  size_t rows_ = 0;
  size_t messages_ = 0;
};

// What one pop may be given.
struct ReplyShare {
  // A message's id, times and names in a reply.
  static constexpr int64_t kMessageBytes = 512;
  // A reply of this size is small: http::ReplyBudget has room for it that large ones do not take.
  static constexpr int64_t kSmallBytes = int64_t{64} << 10;
  // Who needs room for a segment and does not fit in with the others asks for as much: most
  // segments are smaller.
  static constexpr int64_t kSegmentBytes = int64_t{2} << 20;

  int64_t bytes = 0;  // of segments
  int32_t messages = 0;

  // What a reply with as much takes.
  size_t room() const { return static_cast<size_t>(bytes + messages * kMessageBytes); }

  // For each of `pops` while `free` bytes are left for large replies: half of them is for others
  // that come meanwhile. At least a small reply.
  static ReplyShare Among(size_t pops, size_t free, int64_t bytes_max, int32_t batch) {
    const auto each = static_cast<int64_t>(free / 2 / std::max<size_t>(pops, 1));
    const int64_t half = std::max(each, kSmallBytes) / 2;
    return {std::min(bytes_max, half), MessagesIn(half, batch)};
  }

  // For a pop whose first segment has `needed` bytes.
  static ReplyShare For(int64_t needed, int64_t bytes_max, int32_t batch) {
    const int64_t bytes = std::max(needed, std::min(bytes_max, kSegmentBytes));
    return {bytes, MessagesIn(std::max(bytes, kSmallBytes) / 2, batch)};
  }

 private:
  static int32_t MessagesIn(int64_t bytes, int32_t batch) {
    return static_cast<int32_t>(std::clamp<int64_t>(bytes / kMessageBytes, 1, batch));
  }
};

}  // namespace queen::sidecar
