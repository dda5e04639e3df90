// HTTP over libcurl; the only file that knows it. A request is made by one thread, on a connection
// that is taken from a pool and put back, and can be ended from any other thread at once.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace queen::client {

struct HttpRequest {
  std::string method;
  std::string url;
  std::string body;
  std::chrono::milliseconds timeout{0};
};

// How far a request got.
enum class Delivery {
  kAnswered,
  kNotSent,  // no connection: the broker has not seen it
  kLost,     // sent, and no whole reply came
  kStopped,
};

struct HttpExchange {
  Delivery delivery = Delivery::kNotSent;
  int status = 0;
  std::string body;
  std::optional<std::chrono::seconds> retry_after;
  std::string date;   // of the reply's head
  std::string fault;  // for people, unless answered
};

// How https is spoken; "" is the default of libcurl.
struct TransportTls {
  std::string ca_file;           // the certificates to trust
  std::string certificate_file;  // what the client shows of itself
  std::string key_file;
};

class Transport {
 public:
  Transport(std::string token, std::chrono::milliseconds connect_timeout, TransportTls tls = {});
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  // `stop` ends the request unless its reply has begun: what a broker has started to hand over is
  // taken whole.
  HttpExchange Send(const HttpRequest& request, const std::stop_token& stop);

 private:
  class Connection;

  std::unique_ptr<Connection> Take();
  void PutBack(std::unique_ptr<Connection> connection);

  const std::string token_;
  const std::chrono::milliseconds connect_timeout_;
  const TransportTls tls_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace queen::client
