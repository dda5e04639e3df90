// QUEEN_UDP_PEERS: "host:port,host:port". A host is a name, an address, or an IPv6 address in
// brackets; without a port it is the one this broker listens on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace queen::config {

struct PeerName {
  std::string host;
  int port = 0;

  friend bool operator==(const PeerName&, const PeerName&) = default;
};

// Nothing: it is no such list. Empty for an empty text.
std::optional<std::vector<PeerName>> ParsePeerList(std::string_view text, int default_port);

}  // namespace queen::config
