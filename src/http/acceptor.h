// Accepts connections on a thread of its own and hands each to the next worker, round robin. Out of
// file descriptors it pauses instead of spinning; clients wait in the kernel's backlog meanwhile.
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
  // Binds every address `host` stands for ("0.0.0.0", "::" for both families, "localhost", ...).
  // Port 0 takes a free one, see port().
  static Result<std::unique_ptr<Acceptor>> Listen(const std::string& host, uint16_t port);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // REQUIRES: not started; at least one worker
  void Start(std::vector<Connections*> workers);
  // Closes the listening sockets and joins the thread. After it returns no more sockets are handed
  // over, though the last may still be on their way through the workers' loops.
  void Stop();

  uint16_t port() const { return port_; }
  // How often accepting was interrupted for want of file descriptors or memory. Any thread.
  uint64_t pauses() const { return pauses_.load(std::memory_order_relaxed); }

 private:
  class Listener;

  Acceptor(std::vector<UniqueFd> sockets, uint16_t port);
  void HandOver(UniqueFd socket);

  std::vector<UniqueFd> sockets_;
  const uint16_t port_;
  std::vector<Connections*> workers_;
  size_t next_worker_ = 0;
  std::atomic<uint64_t> pauses_{0};
  Loop loop_{"acceptor"};
  std::vector<std::unique_ptr<Listener>> listeners_;  // on loop_
  std::thread thread_;
};

}  // namespace queen::http
