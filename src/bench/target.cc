#include "bench/target.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>
#include <memory>

namespace queen::bench {
namespace {

constexpr std::string_view kScheme = "http://";

Status BadUrl(const std::string& url, std::string_view what) {
  return Status(Code::kInvalidRequest,
                fmt::format("\"{}\" {}; expected http://host[:port][/prefix]", url, what));
}

struct Place {
  std::string host;
  std::string port;
};

// "host:port", "host", "[::1]:port"
Place Split(std::string_view authority) {
  const size_t bracket = authority.rfind(']');
  const size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  std::string_view host = authority.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {std::string(host),
          colon == std::string_view::npos ? "80" : std::string(authority.substr(colon + 1))};
}

}  // namespace

Result<Target> Target::Resolve(const std::string& url, const std::string& token) {
  if (!url.starts_with(kScheme)) return BadUrl(url, "is no http URL");
  if (url.find_first_of(" \r\n\t?#@") != std::string::npos) {
    return BadUrl(url, "has a part that is not understood");
  }
  const std::string_view rest = std::string_view(url).substr(kScheme.size());
  const size_t slash = rest.find('/');
  const std::string_view authority = rest.substr(0, slash);
  const Place place = Split(authority);
  Target target;
  const auto parsed =
      std::from_chars(place.port.data(), place.port.data() + place.port.size(), target.port_);
  if (parsed.ec != std::errc() || parsed.ptr != place.port.data() + place.port.size() ||
      target.port_ < 1 || target.port_ > 65'535) {
    return BadUrl(url, "has no valid port");
  }
  if (place.host.empty()) return BadUrl(url, "names no host");
  target.url_ = url;
  target.host_ = authority;
  target.token_ = token;
  if (slash != std::string_view::npos) target.prefix_ = rest.substr(slash);
  while (target.prefix_.ends_with('/')) target.prefix_.pop_back();

  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int result = getaddrinfo(place.host.c_str(), place.port.c_str(), &hints, &found);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  if (result != 0) {
    return Status(Code::kNotFound,
                  fmt::format("the host {} is not found: {}", place.host, gai_strerror(result)));
  }
  std::memcpy(&target.address_, found->ai_addr, found->ai_addrlen);
  return target;
}

std::string Target::PostHead(std::string_view path, size_t body_bytes) const {
  return Head("POST", path,
              fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", body_bytes));
}

std::string Target::Head(std::string_view method, std::string_view path,
                         std::string_view more) const {
  return fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\n{}{}{}{}\r\n", method, prefix_, path, host_,
                     token_.empty() ? "" : "Authorization: Bearer ", token_,
                     token_.empty() ? "" : "\r\n", more);
}

bool Target::is_loopback() const {
  if (address_.ss_family == AF_INET) {
    const auto* const v4 = reinterpret_cast<const sockaddr_in*>(&address_);
    return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
  }
  const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(&address_);
  return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

std::string PercentEncode(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace queen::bench
