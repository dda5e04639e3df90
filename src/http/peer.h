// Peer: who is at the other end of a connection, as far as the socket and the TLS handshake tell.
// Made once per connection and shared by its requests.
#pragma once

#include <uv.h>

#include <memory>
#include <string>

#include "auth/identity.h"

namespace queen::http {

struct Peer {
  std::string address;  // "192.0.2.1", "2001:db8::1"; "" when the socket does not tell
  std::string name;     // with the port: "192.0.2.1:50312", "[2001:db8::1]:50312"
  // Who its certificate says it is; null for none.
  auth::IdentityRef certificate = {};
};

using PeerRef = std::shared_ptr<const Peer>;

// The addresses of a connected socket, and no certificate.
Peer PeerOf(const uv_tcp_t& socket);
// The address alone; "" when the socket does not tell.
std::string AddressOf(int socket);

// `address` as limits of clients know it: of IPv6 the first 64 bits, which one client has all of.
std::string ClientNetworkOf(const std::string& address);

}  // namespace queen::http
