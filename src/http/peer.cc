#include "http/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

namespace queen::http {
namespace {

constexpr size_t kNetworkBytes = 8;

}  // namespace

Peer PeerOf(const uv_tcp_t& socket) {
  sockaddr_storage address{};
  int size = sizeof address;
  if (uv_tcp_getpeername(&socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  std::array<char, INET6_ADDRSTRLEN> name{};
  if (uv_ip_name(reinterpret_cast<sockaddr*>(&address), name.data(), name.size()) != 0) return {};
  const bool six = address.ss_family == AF_INET6;
  const uint16_t port = ntohs(six ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                  : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
  const std::string text = name.data();
  Peer peer;
  peer.address = text;
  peer.name = (six ? "[" + text + "]" : text) + ":" + std::to_string(port);
  return peer;
}

std::string AddressOf(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, INET6_ADDRSTRLEN> name{};
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      uv_ip_name(reinterpret_cast<sockaddr*>(&address), name.data(), name.size()) != 0) {
    return {};
  }
  return name.data();
}

std::string ClientNetworkOf(const std::string& address) {
  in6_addr six{};
  if (inet_pton(AF_INET6, address.c_str(), &six) != 1) return address;
  // IPv4 in the clothes of IPv6, as a socket for both families shows it.
  if (IN6_IS_ADDR_V4MAPPED(&six)) return address.substr(address.rfind(':') + 1);
  std::fill(six.s6_addr + kNetworkBytes, six.s6_addr + sizeof six.s6_addr, uint8_t{0});
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, &six, text.data(), text.size());
  return std::string(text.data()) + "/64";
}

}  // namespace queen::http
