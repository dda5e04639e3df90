#include "http/acceptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/comma_list.h"
#include "base/log.h"
#include "http/refusal.h"
#include "loop/timer.h"

namespace queen::http {
namespace {

constexpr int kBacklog = 4096;
// Accepted in a row before the loop gets its turn.
constexpr int kAcceptsPerTurn = 64;
constexpr int64_t kBackoffMs = 100;
// Until workers have taken some of what is on its way to them.
constexpr int64_t kWorkersBusyMs = 1;
// Attempts to find a port that is free on every address.
constexpr int kFreePortTries = 20;

struct AddressListDeleter {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, AddressListDeleter>;

// As a URL has it: an address of IPv6 in brackets.
std::string Shown(const std::string& host) {
  return host.find(':') != std::string::npos ? "[" + host + "]" : host;
}

Status CannotListen(const std::string& host, uint16_t port, std::string_view reason) {
  return Status(Code::kInternal,
                fmt::format("Cannot listen on {}:{}: {}", Shown(host), port, reason));
}

UniqueFd OpenSpare() { return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

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

// A listening socket, or none with errno set. `alone`: there are no other addresses.
UniqueFd OpenListener(const addrinfo& info, uint16_t port, bool alone) {
  UniqueFd socket(::socket(info.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return socket;
  const int one = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (info.ai_family == AF_INET6) {
    // "::" alone serves IPv4 as well, whatever the system's default.
    const int v6_only = alone ? 0 : 1;
    setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof v6_only);
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

  // The end: takes whom the kernel would reset when the socket is closed.
  void AcceptTheRest() {
    for (int i = 0; i < kBacklog && AcceptOne(); ++i) {
    }
  }

 private:
  void Resume() {
    uv_poll_start(poll_, UV_READABLE, [](uv_poll_t* handle, int, int) {
      static_cast<Listener*>(handle->data)->AcceptSome();
    });
  }

  void AcceptSome() {
    for (int i = 0; i < kAcceptsPerTurn; ++i) {
      if (acceptor_.on_their_way_->load() >= kOnTheirWayMax) return Pause(kWorkersBusyMs);
      if (!AcceptOne()) return;
    }
  }

  // False: nobody is left in the backlog, or nobody can be taken from it for now.
  bool AcceptOne() {
    UniqueFd socket(accept4(socket_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    const int error = socket ? 0 : errno;
    if (socket) {
      starving_ = false;
      acceptor_.HandOver(std::move(socket));
    } else if (error == EAGAIN) {
      return false;
    } else if (IsOutOfResources(error)) {
      LogStarving(error);
      if (acceptor_.RefuseOne(socket_)) return true;
      BackOff();
      return false;
    } else if (error != EINTR && error != ECONNABORTED) {
      log::Debug("accept failed", {{"reason", strerror(error)}});
    }
    return true;
  }

  void LogStarving(int error) {
    if (!starving_) {
      log::ErrorRarely("cannot accept connections for now", {{"reason", strerror(error)}});
    }
    starving_ = true;
  }

  // The socket stays readable, so polling on would spin.
  void BackOff() {
    acceptor_.pauses_.fetch_add(1, std::memory_order_relaxed);
    Pause(kBackoffMs);
  }

  void Pause(int64_t ms) {
    uv_poll_stop(poll_);
    backoff_.Start(ms);
  }

  Acceptor& acceptor_;
  const int socket_;
  uv_poll_t* poll_;  // freed by its close callback
  Timer backoff_;
  bool starving_ = false;  // the last accept failed for want of resources, and that was logged
};

namespace {

// Adds the sockets of every address `host` stands for. A `port` of 0 becomes the one that was
// found. `last_error` is the errno of what failed.
Status AddListeners(const std::string& host, bool alone, uint16_t& port,
                    std::vector<UniqueFd>& sockets, int& last_error) {
  auto addresses = Resolve(host, port);
  if (!addresses.ok()) return addresses.status();
  bool bound = false;
  for (const addrinfo* info = addresses->get(); info != nullptr; info = info->ai_next) {
    UniqueFd socket = OpenListener(*info, port, alone);
    if (!socket) {
      last_error = errno;
      if (IsMissingAddress(last_error)) continue;
      // The wildcard of one family may include the other's.
      if (last_error == EADDRINUSE && bound) continue;
      return CannotListen(host, port, strerror(last_error));
    }
    bound = true;
    port = PortOf(socket.get());
    sockets.push_back(std::move(socket));
  }
  return bound ? Status::Ok() : CannotListen(host, port, strerror(last_error));
}

bool MayBeMissing(const std::string& host, int error) {
  return host == "::1" && IsMissingAddress(error);
}

}  // namespace

Result<std::unique_ptr<Acceptor>> Acceptor::Listen(const std::string& hosts, uint16_t port) {
  std::vector<std::string> names = SplitCommaList(hosts);
  if (names.empty()) names.emplace_back();
  auto acceptor = TryListen(names, port);
  // A free port of the first address may be taken on another.
  for (int i = 0; port == 0 && names.size() > 1 && !acceptor.ok() && i < kFreePortTries; ++i) {
    acceptor = TryListen(names, port);
  }
  return acceptor;
}

Result<std::unique_ptr<Acceptor>> Acceptor::TryListen(const std::vector<std::string>& hosts,
                                                      uint16_t port) {
  std::vector<UniqueFd> sockets;
  std::string first;
  Status missing;
  for (const std::string& host : hosts) {
    int error = 0;
    const Status status = AddListeners(host, hosts.size() == 1, port, sockets, error);
    if (!status.ok() && !MayBeMissing(host, error)) return status;
    if (!status.ok()) missing = status;
    if (status.ok() && first.empty()) first = host;
  }
  if (sockets.empty()) return missing;
  return std::unique_ptr<Acceptor>(new Acceptor(std::move(sockets), Shown(first), port));
}

Acceptor::Acceptor(std::vector<UniqueFd> sockets, std::string address, uint16_t port)
    : sockets_(std::move(sockets)), address_(std::move(address)), port_(port) {}

std::string Acceptor::url() const {
  const bool tls = !workers_.empty() && workers_.front()->speaks_tls();
  return fmt::format("{}://{}:{}", tls ? "https" : "http", address_, port_);
}

bool Acceptor::RefuseOne(int listener) {
  spare_.Reset();
  UniqueFd socket(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket) {
    if (!workers_.front()->speaks_tls()) {
      SendRefusal(socket, Status(Code::kOverloaded, "Too many connections"));
    }
    refused_.fetch_add(1, std::memory_order_relaxed);
  }
  const bool told = static_cast<bool>(socket);
  socket.Reset();
  spare_ = OpenSpare();
  return told && spare_;
}

Acceptor::~Acceptor() { Stop(); }

void Acceptor::Start(std::vector<Connections*> workers) {
  assert(!thread_.joinable() && !workers.empty());
  workers_ = std::move(workers);
  spare_ = OpenSpare();
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
      for (const auto& listener : listeners_) listener->AcceptTheRest();
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
  on_their_way_->fetch_add(1);
  worker->loop().Post([worker, on_their_way = on_their_way_, socket = std::move(socket)]() mutable {
    on_their_way->fetch_sub(1);
    worker->Adopt(std::move(socket));
  });
}

}  // namespace queen::http
