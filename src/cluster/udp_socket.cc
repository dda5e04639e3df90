#include "cluster/udp_socket.h"

#include <fmt/format.h>
#include <netdb.h>
#include <uv.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

namespace queen::cluster {
namespace {

// Bursts of hints must not be lost in the receiver before its loop turns.
constexpr int kReceiveBufferBytes = 1 << 20;
constexpr size_t kDatagramBytesMax = 65'536;

std::string TextOf(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (address->sa_family == AF_INET6) {
    const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(address);
    uv_ip6_name(v6, host.data(), host.size());
    return fmt::format("[{}]:{}", host.data(), ntohs(v6->sin6_port));
  }
  const auto* const v4 = reinterpret_cast<const sockaddr_in*>(address);
  uv_ip4_name(v4, host.data(), host.size());
  return fmt::format("{}:{}", host.data(), ntohs(v4->sin_port));
}

std::optional<sockaddr_storage> AddressOf(const std::string& host, int port) {
  sockaddr_storage address{};
  if (uv_ip4_addr(host.c_str(), port, reinterpret_cast<sockaddr_in*>(&address)) == 0) {
    return address;
  }
  if (uv_ip6_addr(host.c_str(), port, reinterpret_cast<sockaddr_in6*>(&address)) == 0) {
    return address;
  }
  return std::nullopt;
}

std::optional<sockaddr_storage> AddressOf(const std::string& text) {
  const auto peers = config::ParsePeerList(text, 0);
  if (!peers || peers->size() != 1) return std::nullopt;
  return AddressOf(peers->front().host, peers->front().port);
}

bool IsLoopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET6) {
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr);
  }
  return ntohl(reinterpret_cast<const sockaddr_in*>(&address)->sin_addr.s_addr) >> 24 ==
         IN_LOOPBACKNET;
}

bool SameHost(const sockaddr_storage& a, const sockaddr_storage& b) {
  if (a.ss_family != b.ss_family) return false;
  if (a.ss_family == AF_INET6) {
    return IN6_ARE_ADDR_EQUAL(&reinterpret_cast<const sockaddr_in6*>(&a)->sin6_addr,
                              &reinterpret_cast<const sockaddr_in6*>(&b)->sin6_addr);
  }
  return reinterpret_cast<const sockaddr_in*>(&a)->sin_addr.s_addr ==
         reinterpret_cast<const sockaddr_in*>(&b)->sin_addr.s_addr;
}

struct Question {
  uv_getaddrinfo_t request{};
  int port = 0;
  std::weak_ptr<const bool> alive;
  std::function<void(std::vector<std::string>)> done;
};

void OnResolved(uv_getaddrinfo_t* request, int status, addrinfo* found) {
  const std::unique_ptr<Question> question(static_cast<Question*>(request->data));
  std::vector<std::string> addresses;
  for (const addrinfo* item = status == 0 ? found : nullptr; item != nullptr;
       item = item->ai_next) {
    sockaddr_storage address{};
    std::memcpy(&address, item->ai_addr, item->ai_addrlen);
    if (address.ss_family == AF_INET6) {
      reinterpret_cast<sockaddr_in6*>(&address)->sin6_port =
          htons(static_cast<uint16_t>(question->port));
    } else {
      reinterpret_cast<sockaddr_in*>(&address)->sin_port =
          htons(static_cast<uint16_t>(question->port));
    }
    addresses.push_back(TextOf(reinterpret_cast<const sockaddr*>(&address)));
  }
  if (found != nullptr) uv_freeaddrinfo(found);
  if (!question->alive.expired()) question->done(std::move(addresses));
}

}  // namespace

struct UdpSocket::State {
  uv_udp_t handle{};
  Received received;
  std::array<char, kDatagramBytesMax> buffer{};
};

Result<std::unique_ptr<UdpSocket>> UdpSocket::Bind(Loop& loop, const std::string& host, int port) {
  const std::optional<sockaddr_storage> address = AddressOf(host, port);
  if (!address) {
    return Status(
        Code::kInvalidRequest,
        fmt::format("the first address of HOST ({}) must be numeric where QUEEN_UDP_PEERS is set",
                    host));
  }
  auto* const state = new State;
  state->handle.data = state;
  uv_udp_init(loop.uv(), &state->handle);
  std::unique_ptr<UdpSocket> socket(new UdpSocket(state));
  socket->family_ = address->ss_family;
  socket->is_loopback_ = IsLoopback(*address);
  if (const int bound =
          uv_udp_bind(&state->handle, reinterpret_cast<const sockaddr*>(&*address), 0);
      bound != 0) {
    return Status(Code::kInternal,
                  fmt::format("cannot listen on UDP {}:{}: {}", host, port, uv_strerror(bound)));
  }
  int bytes = kReceiveBufferBytes;
  uv_recv_buffer_size(reinterpret_cast<uv_handle_t*>(&state->handle), &bytes);
  sockaddr_storage own{};
  int length = sizeof own;
  uv_udp_getsockname(&state->handle, reinterpret_cast<sockaddr*>(&own), &length);
  socket->port_ =
      ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&own)->sin6_port
                                      : reinterpret_cast<const sockaddr_in*>(&own)->sin_port);
  return socket;
}

UdpSocket::~UdpSocket() {
  uv_close(reinterpret_cast<uv_handle_t*>(&state_->handle),
           [](uv_handle_t* handle) { delete static_cast<State*>(handle->data); });
}

void UdpSocket::Start(Received received) {
  state_->received = std::move(received);
  uv_udp_recv_start(
      &state_->handle,
      [](uv_handle_t* handle, size_t, uv_buf_t* buffer) {
        auto* const state = static_cast<State*>(handle->data);
        *buffer = uv_buf_init(state->buffer.data(), static_cast<unsigned>(state->buffer.size()));
      },
      [](uv_udp_t* handle, ssize_t size, const uv_buf_t* buffer, const sockaddr* from, unsigned) {
        if (size < 0 || from == nullptr) return;  // an ICMP error, or nothing more to read
        const auto* const state = static_cast<const State*>(handle->data);
        state->received({buffer->base, static_cast<size_t>(size)}, TextOf(from));
      });
}

bool UdpSocket::Send(const std::string& to, std::string_view datagram) {
  const std::optional<sockaddr_storage> address = AddressOf(to);
  if (!address) return false;
  // libuv does not write to it.
  uv_buf_t buffer =
      uv_buf_init(const_cast<char*>(datagram.data()), static_cast<unsigned>(datagram.size()));
  return uv_udp_try_send(&state_->handle, &buffer, 1,
                         reinterpret_cast<const sockaddr*>(&*address)) >= 0;
}

bool IsOnThisMachine(const std::string& address) {
  const std::optional<sockaddr_storage> asked = AddressOf(address);
  if (!asked) return false;
  if (IsLoopback(*asked)) return true;
  uv_interface_address_t* interfaces = nullptr;
  int count = 0;
  if (uv_interface_addresses(&interfaces, &count) != 0) return false;
  const bool found = std::any_of(interfaces, interfaces + count, [&](const auto& interface) {
    sockaddr_storage own{};
    std::memcpy(&own, &interface.address, sizeof interface.address);
    return SameHost(own, *asked);
  });
  uv_free_interface_addresses(interfaces, count);
  return found;
}

void ResolvePeer(Loop& loop, const config::PeerName& name, int family,
                 std::weak_ptr<const bool> alive,
                 std::function<void(std::vector<std::string>)> done) {
  auto question = std::make_unique<Question>();
  question->port = name.port;
  question->alive = std::move(alive);
  question->done = std::move(done);
  question->request.data = question.get();
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_DGRAM;
  if (uv_getaddrinfo(loop.uv(), &question->request, OnResolved, name.host.c_str(), nullptr,
                     &hints) == 0) {
    question.release();  // NOLINT(bugprone-unused-return-value): OnResolved frees it
  }
}

}  // namespace queen::cluster
