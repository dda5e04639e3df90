// Empty strings that keep their memory, so that a connection has an output buffer only while it has
// output. One per loop; bounded.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace queen::http {

class BufferPool {
 public:
  std::string Take() {
    if (free_.empty()) return {};
    std::string buffer = std::move(free_.back());
    free_.pop_back();
    return buffer;
  }

  void Give(std::string buffer) {
    if (free_.size() >= kBuffersMax || buffer.capacity() > kBufferBytesMax) return;
    buffer.clear();
    free_.push_back(std::move(buffer));
  }

 private:
  static constexpr size_t kBuffersMax = 256;
  static constexpr size_t kBufferBytesMax = size_t{32} << 10;

  std::vector<std::string> free_;
};

}  // namespace queen::http
