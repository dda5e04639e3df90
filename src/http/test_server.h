// For tests: a server on a loopback port with one worker, and clients that speak to it through real
// sockets. Waiting is for events; the only deadline is the one that turns a hang into a failure.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/random.h"
#include "http/acceptor.h"
#include "http/connections.h"

namespace queen::http {

inline constexpr int kHangSeconds = 30;

class TestServer {
 public:
  explicit TestServer(Handler handler, Settings settings = {}, int64_t connections_max = 100'000)
      : budgets_(std::make_shared<Budgets>(LimitsOf(settings, connections_max))) {
    thread_ = std::thread([this] { loop_.Run(); });
    OnLoop([&] { connections_.emplace(loop_, budgets_, std::move(settings), std::move(handler)); });
    auto acceptor = Acceptor::Listen("127.0.0.1", 0);
    if (!acceptor.ok()) {
      ADD_FAILURE() << acceptor.status().message();
      return;
    }
    acceptor_ = *std::move(acceptor);
    acceptor_->Start({&*connections_});
  }

  ~TestServer() {
    if (acceptor_) acceptor_->Stop();
    OnLoop([&] { connections_.reset(); });
    loop_.Stop();
    thread_.join();
  }

  // Runs `f` on the loop's thread and returns what it returns.
  template <typename F>
  std::invoke_result_t<F> OnLoop(F f) {
    std::packaged_task<std::invoke_result_t<F>()> task(std::move(f));
    auto result = task.get_future();
    loop_.Post([&] { task(); });
    return result.get();
  }

  // Waits until `f`, called on the loop's thread, is true.
  template <typename F>
  bool WaitFor(F f) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(kHangSeconds);
    while (std::chrono::steady_clock::now() < give_up) {
      if (OnLoop([&] { return static_cast<bool>(f()); })) return true;
    }
    return false;
  }

  Counters counters() {
    return OnLoop([&] { return connections_->counters(); });
  }
  Connections& connections() { return *connections_; }
  Loop& loop() { return loop_; }
  ConnectionBudget& budget() { return budgets_->connections; }
  const RequestBudget& request_budget() const { return budgets_->requests; }
  const ReplyBudget& reply_budget() const { return budgets_->replies; }
  Acceptor& acceptor() { return *acceptor_; }
  uint16_t port() const { return acceptor_->port(); }

 private:
  static Limits LimitsOf(const Settings& settings, int64_t connections_max) {
    Limits limits = settings.limits;
    limits.connections_max = connections_max;
    return limits;
  }

  const std::shared_ptr<Budgets> budgets_;
  Loop loop_{"test"};
  std::thread thread_;
  std::optional<Connections> connections_;
  std::unique_ptr<Acceptor> acceptor_;
};

struct TestReply {
  int status = 0;
  std::string head;
  std::string body;

  // The value of a header field, "" when there is none.
  std::string Header(const std::string& name) const {
    const size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

class TestClient {
 public:
  explicit TestClient(const TestServer& server, int receive_buffer_bytes = 0)
      : TestClient(server.port(), receive_buffer_bytes) {}

  explicit TestClient(uint16_t port, int receive_buffer_bytes = 0)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int one = 1;
    setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    const timeval hang{kHangSeconds, 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &hang, sizeof hang);
    setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &hang, sizeof hang);
    if (receive_buffer_bytes > 0) {
      setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes,
                 sizeof receive_buffer_bytes);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      ADD_FAILURE() << "connect: " << strerror(errno);
    }
  }

  // False once the server has closed its side.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  // The next reply; status 0 when the stream ends first. `without_body` after HEAD.
  TestReply Read(bool without_body = false) {
    TestReply reply;
    size_t end = 0;
    while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
      if (!Receive()) return reply;
    }
    reply.head = received_.substr(0, end + 2);
    received_.erase(0, end + 4);
    const int status = std::stoi(reply.head.substr(9, 3));
    const std::string length = reply.Header("Content-Length");
    const size_t size = without_body || length.empty() ? 0 : std::stoul(length);
    while (received_.size() < size) {
      if (!Receive()) return reply;
    }
    reply.status = status;
    reply.body = received_.substr(0, size);
    received_.erase(0, size);
    return reply;
  }

  TestReply Ask(std::string_view bytes, bool without_body = false) {
    Send(bytes);
    return Read(without_body);
  }

  // Everything up to the end of the stream, which must come.
  std::string ReadToEnd() {
    while (Receive()) {
    }
    EXPECT_NE(receive_error_, EAGAIN) << "the server did not close";
    return std::exchange(received_, {});
  }
  // Whether nothing more comes but the end of the stream, or a reset.
  bool AtEnd() { return ReadToEnd().empty(); }

  void ShutdownWrite() { shutdown(socket_.get(), SHUT_WR); }
  void Close() { socket_.Reset(); }
  // Closes with a reset instead of an orderly end.
  void Reset() {
    const linger now{1, 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    socket_.Reset();
  }
  int fd() const { return socket_.get(); }

 private:
  bool Receive() {
    char buffer[16384];
    const ssize_t size = recv(socket_.get(), buffer, sizeof buffer, 0);
    receive_error_ = size < 0 ? errno : 0;
    if (size <= 0) return false;
    received_.append(buffer, static_cast<size_t>(size));
    return true;
  }

  UniqueFd socket_;
  std::string received_;
  int receive_error_ = 0;
};

inline std::string GetRequest(std::string_view target, std::string_view fields = {}) {
  return std::string("GET ").append(target).append(" HTTP/1.1\r\nHost: test\r\n").append(fields) +
         "\r\n";
}

inline std::string PostRequest(std::string_view target, std::string_view body,
                               std::string_view fields = {}) {
  return std::string("POST ")
      .append(target)
      .append(" HTTP/1.1\r\nHost: test\r\nContent-Length: ")
      .append(std::to_string(body.size()))
      .append("\r\n")
      .append(fields)
      .append("\r\n")
      .append(body);
}

// Answers with what it was asked.
inline void Echo(Request request, Reply reply) {
  std::string body;
  body.append(MethodName(request.method())).append(" ").append(request.target());
  body.append(" x=").append(request.Header("x").value_or("")).append(" ").append(request.body());
  reply.Send(Response::Json(200, std::move(body)));
}

// The seed of a random test: QUEEN_TEST_SEED, or a new one. Print it when the test fails.
inline uint64_t TestSeed() {
  if (const char* seed = std::getenv("QUEEN_TEST_SEED")) return std::stoull(seed);
  return ThreadRandom()();
}

}  // namespace queen::http
