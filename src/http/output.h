// The bytes that wait to be written to one connection: small replies are put together in one
// buffer, large bodies are kept as they came and never copied.
#pragma once

#include <uv.h>

#include <string>
#include <vector>

#include "http/buffer_pool.h"

namespace queen::http {

class Output {
 public:
  // The buffer at the end of the queue, to append to. Valid until the next call.
  std::string& Tail(BufferPool& pool);

  // Adds a body behind everything before it.
  void Append(std::string body, BufferPool& pool);

  // Describes the first bytes in at most `buffers_max` pieces; returns how many were needed.
  size_t Describe(uv_buf_t* buffers, size_t buffers_max) const;

  // Forgets the first `bytes`, which were written. REQUIRES: bytes <= size()
  void Consume(size_t bytes, BufferPool& pool);

  size_t size() const;
  // What is in memory: the same, and what was written of the first buffer.
  size_t memory() const { return size() + consumed_; }
  bool empty() const { return buffers_.empty() || size() == 0; }
  size_t buffer_count() const { return buffers_.size(); }

 private:
  std::vector<std::string> buffers_;
  size_t consumed_ = 0;        // bytes of the first buffer that were written
  bool tail_is_body_ = false;  // the last buffer is a large body: append to a new one
};

}  // namespace queen::http
