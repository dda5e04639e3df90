#include "pg/testing/tcp_proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstring>
#include <future>

namespace queen::pg::testing {
namespace {

constexpr size_t kReadBytes = size_t{256} << 10;

// Reads once into `out`; false at the end of the stream or on an error.
bool ReadOnce(int socket, std::string& out) {
  std::string buffer(kReadBytes, '\0');
  const ssize_t got = recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  out.append(buffer, 0, static_cast<size_t>(got));
  return true;
}

bool WriteSome(int socket, std::string& data) {
  const ssize_t put = send(socket, data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (put < 0) return errno == EAGAIN || errno == EINTR;
  data.erase(0, static_cast<size_t>(put));
  return true;
}

}  // namespace

TcpProxy::TcpProxy(std::string server_socket_path)
    : server_socket_path_(std::move(server_socket_path)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  [[maybe_unused]] const bool ok =
      bind(listener_, generic, length) == 0 && listen(listener_, 64) == 0 &&
      getsockname(listener_, generic, &length) == 0 && pipe2(wake_, O_CLOEXEC | O_NONBLOCK) == 0;
  assert(ok);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Run(); });
}

TcpProxy::~TcpProxy() {
  Do([this] { stop_ = true; });
  thread_.join();
  for (Pair& pair : pairs_) Close(pair);
  close(listener_);
  close(wake_[0]);
  close(wake_[1]);
}

ConnectOptions TcpProxy::Through(ConnectOptions options) const {
  options.keywords.emplace_back("host", "127.0.0.1");
  options.keywords.emplace_back("port", std::to_string(port_));
  options.keywords.emplace_back("sslmode", "disable");
  return options;
}

void TcpProxy::Do(std::function<void()> f) {
  std::promise<void> done;
  {
    const std::lock_guard lock(mutex_);
    commands_.emplace_back([&] {
      f();
      done.set_value();
    });
  }
  [[maybe_unused]] const ssize_t woken = write(wake_[1], "!", 1);
  done.get_future().wait();
}

void TcpProxy::RunCommands() {
  char byte = 0;
  while (read(wake_[0], &byte, 1) > 0) {
  }
  std::vector<std::function<void()>> commands;
  {
    const std::lock_guard lock(mutex_);
    commands.swap(commands_);
  }
  for (auto& command : commands) command();
}

void TcpProxy::Freeze() {
  Do([this] { frozen_ = true; });
}

void TcpProxy::FreezeAnswers() {
  Do([this] { answers_frozen_ = true; });
}

void TcpProxy::Thaw() {
  Do([this] { frozen_ = answers_frozen_ = false; });
}

void TcpProxy::Cut() {
  Do([this] {
    for (Pair& pair : pairs_) Close(pair);
    pairs_.clear();
  });
}

void TcpProxy::StartRecording() {
  Do([this] {
    recording_ = true;
    recorded_.clear();
  });
}

std::vector<std::string> TcpProxy::Recorded() {
  std::vector<std::string> copy;
  Do([&] { copy = recorded_; });
  return copy;
}

void TcpProxy::WaitForClientBytes(const std::string& text) {
  while (true) {
    std::string all;
    for (const std::string& chunk : Recorded()) all += chunk;
    if (all.find(text) != std::string::npos) return;
    std::this_thread::yield();
  }
}

void TcpProxy::Run() {
  while (!stop_) {
    std::vector<pollfd> polled = {{wake_[0], POLLIN, 0}};
    polled.push_back({frozen_ ? -1 : listener_, POLLIN, 0});
    for (const Pair& pair : pairs_) {
      const bool to_client_held = frozen_ || answers_frozen_;
      short client = 0;
      short server = 0;
      if (!frozen_ && pair.to_server.empty()) client |= POLLIN;
      if (!frozen_ && !pair.to_server.empty()) server |= POLLOUT;
      if (!to_client_held && pair.to_client.empty()) server |= POLLIN;
      if (!to_client_held && !pair.to_client.empty()) client |= POLLOUT;
      // A negative descriptor is skipped; else a hang-up would be reported for ever.
      polled.push_back({client == 0 ? -1 : pair.client, client, 0});
      polled.push_back({server == 0 ? -1 : pair.server, server, 0});
    }
    poll(polled.data(), polled.size(), -1);
    for (size_t i = 0; i < pairs_.size(); ++i) {
      Pump(pairs_[i], polled[2 + 2 * i].revents, polled[3 + 2 * i].revents);
    }
    for (Pair& pair : pairs_) {
      if (pair.dead) Close(pair);
    }
    std::erase_if(pairs_, [](const Pair& pair) { return pair.client < 0; });
    if ((polled[1].revents & POLLIN) != 0) Accept();
    RunCommands();
  }
}

void TcpProxy::Accept() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  const int on = 1;
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  Pair pair{.client = client, .to_server = {}, .to_client = {}};
  pair.server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  assert(server_socket_path_.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, server_socket_path_.data(), server_socket_path_.size());
  if (connect(pair.server, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    Close(pair);
    return;
  }
  pairs_.push_back(std::move(pair));
}

void TcpProxy::Pump(Pair& pair, short client_events, short server_events) {
  constexpr short kReadable = POLLIN | POLLHUP | POLLERR;
  bool alive = true;
  if ((client_events & kReadable) != 0 && pair.to_server.empty() && !frozen_) {
    alive = ReadOnce(pair.client, pair.to_server);
    if (recording_ && !pair.to_server.empty()) recorded_.push_back(pair.to_server);
  }
  if ((server_events & kReadable) != 0 && pair.to_client.empty() && !frozen_ && !answers_frozen_) {
    alive = ReadOnce(pair.server, pair.to_client) && alive;
  }
  if (!frozen_ && !pair.to_server.empty()) alive = WriteSome(pair.server, pair.to_server) && alive;
  if (!frozen_ && !answers_frozen_ && !pair.to_client.empty()) {
    alive = WriteSome(pair.client, pair.to_client) && alive;
  }
  if (!alive && pair.to_client.empty()) pair.dead = true;
}

void TcpProxy::Close(Pair& pair) const {
  const linger reset{.l_onoff = 1, .l_linger = 0};
  setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  close(pair.client);
  close(pair.server);
  pair.client = pair.server = -1;
}

}  // namespace queen::pg::testing
