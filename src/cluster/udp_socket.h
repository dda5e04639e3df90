// UdpSocket: one bound UDP socket on a loop. Addresses are texts, "10.0.0.1:6633" or
// "[fd00::1]:6633", so that the rest of the directory knows nothing of sockaddr.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "config/peer_list.h"
#include "loop/loop.h"

namespace queen::cluster {

class UdpSocket {
 public:
  using Received = std::function<void(std::string_view datagram, const std::string& from)>;

  // Binds at once, also before the loop runs.
  static Result<std::unique_ptr<UdpSocket>> Bind(Loop& loop, const std::string& host, int port);
  ~UdpSocket();
  UdpSocket(const UdpSocket&) = delete;
  UdpSocket& operator=(const UdpSocket&) = delete;

  // From now on `received` runs for each datagram, on the loop.
  void Start(Received received);
  // Whether the kernel took it.
  bool Send(const std::string& to, std::string_view datagram);
  int port() const { return port_; }
  // AF_INET or AF_INET6: the kind of addresses it reaches.
  int family() const { return family_; }
  // Whether it is bound to an address that other machines do not reach.
  bool is_loopback() const { return is_loopback_; }

 private:
  struct State;

  explicit UdpSocket(State* state) : state_(state) {}

  State* state_;  // freed by the close callback
  int port_ = 0;
  int family_ = 0;
  bool is_loopback_ = false;
};

// Whether "host:port" is an address of this machine.
bool IsOnThisMachine(const std::string& address);

// The addresses of `name`, asked from the system on libuv's thread pool. `done` runs later on the
// loop; nothing: the name does not resolve, or `alive` has expired.
void ResolvePeer(Loop& loop, const config::PeerName& name, int family,
                 std::weak_ptr<const bool> alive,
                 std::function<void(std::vector<std::string>)> done);

}  // namespace queen::cluster
