// Target: the broker a run is against: where to connect, and the heads of the requests to it.
// Made once; looking a name up blocks.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>

#include "base/status.h"

namespace queen::bench {

class Target {
 public:
  // "http://host[:port][/prefix]"; the port is 80 when none is given. kInvalidRequest if `url` is
  // something else, kNotFound if the host has no address. A `token` that is not empty is sent as a
  // bearer token.
  static Result<Target> Resolve(const std::string& url, const std::string& token = {});

  // The head of a request, blank line included. `path` begins with a slash and is encoded.
  std::string GetHead(std::string_view path) const { return Head("GET", path); }
  std::string DeleteHead(std::string_view path) const { return Head("DELETE", path); }
  std::string PostHead(std::string_view path, size_t body_bytes) const;

  const std::string& url() const { return url_; }
  const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }
  int port() const { return port_; }
  // Whether the broker runs on this machine, as far as its address tells.
  bool is_loopback() const;

 private:
  Target() = default;
  std::string Head(std::string_view method, std::string_view path,
                   std::string_view more = {}) const;

  std::string url_;
  std::string host_;    // as the Host header says it
  std::string prefix_;  // "" or "/something"
  std::string token_;
  int port_ = 80;
  sockaddr_storage address_{};
};

// `name` as one segment of a path or value of a query.
std::string PercentEncode(std::string_view name);

}  // namespace queen::bench
