// What one client may ask of the broker before it is refused. Every limit names its unit; what
// happens beyond it stands beside it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace queen::http {

struct Limits {
  // Request line, header fields and the empty line after them: 431 beyond.
  size_t header_bytes_max = size_t{16} << 10;
  // The target of the request line alone: 414 beyond.
  size_t target_bytes_max = size_t{8} << 10;
  // A body, after the chunks are put together: 413 beyond, before it is read where the client says
  // how long it is.
  size_t body_bytes_max = size_t{64} << 20;

  // Of the whole process (see ConnectionBudget): 503 and closed beyond.
  int64_t connections_max = 10'000;
  // The same (see RequestBudget): bodies arriving or not answered yet. 503 beyond, before a body is
  // read where the client says how long it is; closed if it was not read to its end.
  size_t request_bytes_max = size_t{256} << 20;
  // The same (see ReplyBudget): replies their clients have not taken. Pops are refused beyond: 503.
  size_t reply_bytes_max = size_t{256} << 20;

  // Between two requests: closed without a word.
  int64_t idle_timeout_ms = 120'000;
  // From the first byte of a request to its last, while no earlier reply is owed: 408 and closed.
  int64_t request_timeout_ms = 60'000;
  // Without the client taking a single byte of what is being written: dropped.
  int64_t write_timeout_ms = 30'000;
  // After the last reply, for the client to read it and close its side.
  int64_t linger_timeout_ms = 3'000;
  // Input thrown away during that time, so that the client is not reset while it still sends.
  size_t linger_bytes_max = size_t{128} << 20;

  // Replies that wait to be written: beyond it nothing more is read or dispatched until they left.
  size_t write_buffer_bytes_max = size_t{1} << 20;
  // Requests of one connection that are not answered yet: beyond it the next ones wait.
  size_t pipeline_depth_max = 64;
};

}  // namespace queen::http
