#include "http/output.h"

#include <algorithm>
#include <cassert>

namespace queen::http {
namespace {

// Up to here copying a body is cheaper than a buffer of its own.
constexpr size_t kCopiedBodyBytesMax = size_t{16} << 10;
// A tail that has grown so far is followed by another one, so that appending never moves much.
constexpr size_t kTailBytesMax = size_t{64} << 10;

}  // namespace

std::string& Output::Tail(BufferPool& pool) {
  if (buffers_.empty() || tail_is_body_ || buffers_.back().size() >= kTailBytesMax) {
    buffers_.push_back(pool.Take());
    tail_is_body_ = false;
  }
  return buffers_.back();
}

void Output::Append(std::string body, BufferPool& pool) {
  if (body.size() <= kCopiedBodyBytesMax) {
    Tail(pool).append(body);
    return;
  }
  buffers_.push_back(std::move(body));
  tail_is_body_ = true;
}

size_t Output::Describe(uv_buf_t* buffers, size_t buffers_max) const {
  const size_t count = std::min(buffers_.size(), buffers_max);
  for (size_t i = 0; i < count; ++i) {
    const size_t skip = i == 0 ? consumed_ : 0;
    buffers[i].base = const_cast<char*>(buffers_[i].data()) + skip;
    buffers[i].len = buffers_[i].size() - skip;
  }
  return count;
}

void Output::Consume(size_t bytes, BufferPool& pool) {
  consumed_ += bytes;
  size_t done = 0;
  while (done < buffers_.size() && consumed_ >= buffers_[done].size()) {
    consumed_ -= buffers_[done].size();
    pool.Give(std::move(buffers_[done]));
    ++done;
  }
  assert(done < buffers_.size() || consumed_ == 0);
  buffers_.erase(buffers_.begin(), buffers_.begin() + static_cast<std::ptrdiff_t>(done));
  if (buffers_.empty()) tail_is_body_ = false;
}

size_t Output::size() const {
  size_t total = 0;
  for (const std::string& buffer : buffers_) total += buffer.size();
  return total - consumed_;
}

}  // namespace queen::http
