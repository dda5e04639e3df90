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

  // Of the whole process (see ConnectionBudget). Beyond it a connection of the same worker that was
  // idle for gives_way_after_ms makes room; if there is none, the newcomer gets 503 and is closed.
  int64_t connections_max = 10'000;
  int64_t gives_way_after_ms = 1'000;
  // The same (see RequestBudget): bodies arriving or not answered yet. 503 beyond, and closed if
  // the body was not read to its end; 413 for a body that would never find room.
  size_t request_bytes_max = size_t{256} << 20;
  // The same (see ReplyBudget): replies their clients have not taken, or that are being made. Large
  // pops may have six eighths of it, other large replies seven, pages of operators two. Without
  // room: 503; 413 for a reply other than a pop's that would never find room.
  size_t reply_bytes_max = size_t{256} << 20;

  // From the connection to the end of the TLS handshake: closed without a word.
  int64_t handshake_timeout_ms = 10'000;
  // Between two requests: closed without a word.
  int64_t idle_timeout_ms = 120'000;
  // From the first byte of a request to its last, while no earlier reply is owed: 408 and closed.
  int64_t request_timeout_ms = 60'000;
  // A body must bring this much in every upload_grace_ms, whatever else is going on: 408 and closed
  // below it. 0 asks for nothing.
  int64_t upload_bytes_per_second_min = 1024;
  int64_t upload_grace_ms = 15'000;
  // Without the client taking a single byte of what is being written: dropped.
  int64_t write_timeout_ms = 30'000;
  // After the last reply, for the client to read it and close its side.
  int64_t linger_timeout_ms = 3'000;
  // Input thrown away during that time, so that the client is not reset while it still sends.
  size_t linger_bytes_max = size_t{128} << 20;
  // While the worker drains: how long requests that are on their way are still taken, and how long
  // clients have afterwards to close their side.
  int64_t drain_grace_ms = 500;
  int64_t drain_linger_ms = 1'000;

  // Replies that wait to be written: beyond it nothing more is read or dispatched until they left.
  size_t write_buffer_bytes_max = size_t{64} << 10;
  // Requests of one connection that are not answered yet: beyond it the next ones wait.
  size_t pipeline_depth_max = 64;
};

}  // namespace queen::http
