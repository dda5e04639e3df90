// Accepts connections on a thread of its own and hands each to the next worker, round robin. When
// the process has no file descriptor left, a spare one is given up for as long as it takes to tell
// the client with a 503; when that fails too it pauses instead of spinning.
//
//   Listen (binds; errors are told here) -> Start -> Stop (no more connections; may be called
//   twice)
//
// The workers' Connections must outlive Stop.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "http/connections.h"
#include "http/unique_fd.h"
#include "loop/loop.h"

namespace queen::http {

class Acceptor {
 public:
  // Sockets on their way to the workers; more are left in the kernel's backlog.
  static constexpr int kOnTheirWayMax = 32;

  // Binds every address that `hosts`, separated by commas, stand for ("0.0.0.0", "localhost", ...;
  // "::" alone serves both families). A machine without IPv6 need not have ::1 if there are others.
  // Port 0 takes one that is free on all of them, see port().
  static Result<std::unique_ptr<Acceptor>> Listen(const std::string& hosts, uint16_t port);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // REQUIRES: not started; at least one worker
  void Start(std::vector<Connections*> workers);
  // Hands over who has connected until now, closes the listening sockets and joins the thread. The
  // last sockets may still be on their way through the workers' loops when it returns.
  void Stop();

  uint16_t port() const { return port_; }
  // "http://127.0.0.1:6632" of the first address bound; "https" once it is started with workers
  // that speak TLS.
  std::string url() const;
  // How often a client was refused for want of a file descriptor. Any thread.
  uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  // How often accepting was interrupted for want of file descriptors or memory. Any thread.
  uint64_t pauses() const { return pauses_.load(std::memory_order_relaxed); }

 private:
  class Listener;

  Acceptor(std::vector<UniqueFd> sockets, std::string address, uint16_t port);
  static Result<std::unique_ptr<Acceptor>> TryListen(const std::vector<std::string>& hosts,
                                                     uint16_t port);
  void HandOver(UniqueFd socket);
  // Accepts one client of `listener` with the spare descriptor and tells it that there is none.
  bool RefuseOne(int listener);

  std::vector<UniqueFd> sockets_;
  const std::string address_;  // of the first socket, as a URL has it
  const uint16_t port_;
  std::vector<Connections*> workers_;
  // Outlives this with the last of them.
  const std::shared_ptr<std::atomic<int>> on_their_way_ = std::make_shared<std::atomic<int>>(0);
  size_t next_worker_ = 0;
  std::atomic<uint64_t> refused_{0};
  std::atomic<uint64_t> pauses_{0};
  UniqueFd spare_;  // on loop_
  Loop loop_{"acceptor"};
  std::vector<std::unique_ptr<Listener>> listeners_;  // on loop_
  std::thread thread_;
};

}  // namespace queen::http
