#include "config/peer_list.h"

#include <charconv>

namespace queen::config {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<int> ParsePort(std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (port < 1 || port > 65535) return std::nullopt;
  return port;
}

std::optional<PeerName> ParsePeer(std::string_view text, int default_port) {
  PeerName peer{"", default_port};
  std::string_view rest;
  if (text.starts_with('[')) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    peer.host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
  } else {
    const size_t colon = text.find(':');
    peer.host = text.substr(0, colon);
    if (colon != std::string_view::npos) rest = text.substr(colon);
  }
  if (peer.host.empty() || peer.host.find(' ') != std::string::npos) return std::nullopt;
  if (rest.empty()) return peer;
  if (rest.front() != ':') return std::nullopt;
  const std::optional<int> port = ParsePort(rest.substr(1));
  if (!port) return std::nullopt;
  peer.port = *port;
  return peer;
}

}  // namespace

std::optional<std::vector<PeerName>> ParsePeerList(std::string_view text, int default_port) {
  std::vector<PeerName> peers;
  if (Trim(text).empty()) return peers;
  while (true) {
    const size_t comma = text.find(',');
    const std::optional<PeerName> peer = ParsePeer(Trim(text.substr(0, comma)), default_port);
    if (!peer) return std::nullopt;
    peers.push_back(*peer);
    if (comma == std::string_view::npos) return peers;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace queen::config
