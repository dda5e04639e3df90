// What one worker's connections have done since it started. Plain numbers: written and read by the
// loop's thread only.
#pragma once

#include <array>
#include <cstdint>

namespace queen::http {

struct Counters {
  uint64_t accepted = 0;
  uint64_t refused = 0;           // over connections_max, or while draining
  uint64_t given_way = 0;         // closed for a newcomer
  uint64_t bodies_given_way = 0;  // refused for a smaller one
  uint64_t open = 0;
  uint64_t requests = 0;
  std::array<uint64_t, 6> replies_by_class{};  // [2] counts 2xx; [0] is never used
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  uint64_t handshakes = 0;          // of TLS, that were finished
  uint64_t handshakes_resumed = 0;  // of them, by clients that came back
  uint64_t handshake_failures = 0;
  uint64_t handshake_timeouts = 0;
  uint64_t idle_timeouts = 0;
  uint64_t request_timeouts = 0;
  uint64_t slow_uploads = 0;  // bodies below upload_bytes_per_second_min
  uint64_t write_timeouts = 0;
  uint64_t parse_errors = 0;
  uint64_t disconnects = 0;  // the client left while a reply was owed

  void CountReply(int status) {
    const auto reply_class = static_cast<size_t>(status) / 100;
    if (reply_class < replies_by_class.size()) ++replies_by_class[reply_class];
  }
};

}  // namespace queen::http
