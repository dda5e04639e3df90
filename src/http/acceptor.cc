#include "http/acceptor.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "loop/timer.h"

namespace queen::http {
namespace {

constexpr int kBacklog = 4096;
// Accepted in a row before the loop gets its turn.
constexpr int kAcceptsPerTurn = 64;
constexpr int64_t kBackoffMs = 100;

struct AddressListDeleter {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, AddressListDeleter>;

Status CannotListen(const std::string& host, uint16_t port, std::string_view reason) {
  const bool is_v6 = host.find(':') != std::string::npos;
  const std::string shown = is_v6 ? "[" + host + "]" : host;
  return Status(Code::kInternal, fmt::format("Cannot listen on {}:{}: {}", shown, port, reason));
}

Result<AddressList> Resolve(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(),
                                &hints, &list);
  if (error != 0) return CannotListen(host, port, gai_strerror(error));
  return AddressList(list);
}

void SetPort(sockaddr_storage& address, uint16_t port) {
  if (address.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in&>(address).sin_port = htons(port);
  }
}

uint16_t PortOf(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

// A listening socket, or none with errno set.
UniqueFd OpenListener(const addrinfo& info, uint16_t port) {
  UniqueFd socket(::socket(info.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return socket;
  const int one = 1;
  const int zero = 0;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (info.ai_family == AF_INET6) {
    // "::" serves IPv4 as well, whatever the system's default.
    setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
  }
  sockaddr_storage address{};
  memcpy(&address, info.ai_addr, info.ai_addrlen);
  SetPort(address, port);
  if (bind(socket.get(), reinterpret_cast<sockaddr*>(&address), info.ai_addrlen) != 0 ||
      listen(socket.get(), kBacklog) != 0) {
    return UniqueFd();
  }
  return socket;
}

// A name such as localhost may stand for addresses this machine does not have.
bool IsMissingAddress(int error) { return error == EADDRNOTAVAIL || error == EAFNOSUPPORT; }

bool IsOutOfResources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

// One listening socket on the acceptor's loop.
class Acceptor::Listener {
 public:
  Listener(Acceptor& acceptor, int socket)
      : acceptor_(acceptor), socket_(socket), backoff_(acceptor.loop_, [this] { Resume(); }) {
    poll_ = new uv_poll_t;
    uv_poll_init(acceptor_.loop_.uv(), poll_, socket_);
    poll_->data = this;
    Resume();
  }
  ~Listener() {
    uv_close(reinterpret_cast<uv_handle_t*>(poll_),
             [](uv_handle_t* handle) { delete reinterpret_cast<uv_poll_t*>(handle); });
  }

 private:
  void Resume() {
    uv_poll_start(poll_, UV_READABLE, [](uv_poll_t* handle, int, int) {
      static_cast<Listener*>(handle->data)->AcceptSome();
    });
  }

  void AcceptSome() {
    for (int i = 0; i < kAcceptsPerTurn; ++i) {
      UniqueFd socket(accept4(socket_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (socket) {
        starving_ = false;
        acceptor_.HandOver(std::move(socket));
      } else if (errno == EAGAIN) {
        return;
      } else if (IsOutOfResources(errno)) {
        return BackOff(errno);
      } else if (errno != EINTR && errno != ECONNABORTED) {
        log::Debug("accept failed", {{"reason", strerror(errno)}});
      }
    }
  }

  // The socket stays readable, so polling on would spin.
  void BackOff(int error) {
    if (!starving_) {
      log::Error("cannot accept connections for now", {{"reason", strerror(error)}});
    }
    starving_ = true;
    acceptor_.pauses_.fetch_add(1, std::memory_order_relaxed);
    uv_poll_stop(poll_);
    backoff_.Start(kBackoffMs);
  }

  Acceptor& acceptor_;
  const int socket_;
  uv_poll_t* poll_;  // freed by its close callback
  Timer backoff_;
  bool starving_ = false;  // the last accept failed for want of resources, and that was logged
};

Result<std::unique_ptr<Acceptor>> Acceptor::Listen(const std::string& host, uint16_t port) {
  auto addresses = Resolve(host, port);
  if (!addresses.ok()) return addresses.status();
  std::vector<UniqueFd> sockets;
  uint16_t bound_port = port;
  int last_error = 0;
  for (const addrinfo* info = addresses->get(); info != nullptr; info = info->ai_next) {
    UniqueFd socket = OpenListener(*info, bound_port);
    if (!socket) {
      last_error = errno;
      if (IsMissingAddress(last_error)) continue;
      // The wildcard of one family may include the other's.
      if (last_error == EADDRINUSE && !sockets.empty()) continue;
      return CannotListen(host, port, strerror(last_error));
    }
    bound_port = PortOf(socket.get());
    sockets.push_back(std::move(socket));
  }
  if (sockets.empty()) return CannotListen(host, port, strerror(last_error));
  return std::unique_ptr<Acceptor>(new Acceptor(std::move(sockets), bound_port));
}

Acceptor::Acceptor(std::vector<UniqueFd> sockets, uint16_t port)
    : sockets_(std::move(sockets)), port_(port) {}

Acceptor::~Acceptor() { Stop(); }

void Acceptor::Start(std::vector<Connections*> workers) {
  assert(!thread_.joinable() && !workers.empty());
  workers_ = std::move(workers);
  loop_.Post([this] {
    for (const UniqueFd& socket : sockets_) {
      listeners_.push_back(std::make_unique<Listener>(*this, socket.get()));
    }
  });
  thread_ = std::thread([this] { loop_.Run(); });
}

void Acceptor::Stop() {
  if (thread_.joinable()) {
    loop_.Post([this] {
      listeners_.clear();
      loop_.Stop();
    });
    thread_.join();
  }
  sockets_.clear();
}

void Acceptor::HandOver(UniqueFd socket) {
  Connections* worker = workers_[next_worker_];
  next_worker_ = (next_worker_ + 1) % workers_.size();
  worker->loop().Post(
      [worker, socket = std::move(socket)]() mutable { worker->Adopt(std::move(socket)); });
}

}  // namespace queen::http
