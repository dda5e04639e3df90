// Connector: attempts to connect, one at a time, without blocking the loop.
//
//        Start            names resolved          socket ready (many times)
//   kIdle ----> kResolving ------------> kPolling ----+
//     ^             |                    |  ^---------+
//     +-------------+--------------------+
//       done(...) once per Start: connected and verified, refused, or timed out; or Cancel
//
// libpq may close one socket and open another inside a step (next host, or TLS refused), with the
// same number even, so the watch is taken off before every step and set anew after it. libpq's
// connect_timeout does nothing here, and a host that swallows packets would hold up the ones behind
// it for ever: the attempt has its own deadline, and the next one starts one candidate further on.
//
// Refuses servers before 14 and databases that are not UTF8.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "base/unique_function.h"
#include "loop/timer.h"
#include "pg/connect_options.h"
#include "pg/handles.h"
#include "pg/resolver.h"
#include "pg/socket_watch.h"

namespace queen::pg {

// Why there is no connection.
struct ConnectFailure {
  Status status{};            // kDatabaseUnavailable, with libpq's or the server's words
  std::string sqlstate{};     // empty when no server answered
  bool needs_person = false;  // it will fail until somebody changes something
};

class Connector {
 public:
  struct Attempt {
    ConnectionHandle connection{};  // null on failure
    ConnectFailure failure{};
  };
  using Done = UniqueFunction<void(Attempt)>;

  // REQUIRES: options.Validate() is ok
  Connector(Loop& loop, const ConnectOptions& options);

  // One attempt. `done` runs later on the loop, once, and may call Start. REQUIRES: none running
  void Start(Done done);
  // Ends a running attempt; its `done` does not run.
  void Cancel();

 private:
  void OnResolved(Result<std::vector<Candidate>> candidates);
  void Connect(const Keywords& keywords);
  void Step();
  void Watch(int events);
  void OnTimeout();
  void OnConnected();
  void Fail(ConnectFailure failure);
  void Finish(Attempt attempt);

  Loop& loop_;
  const Keywords keywords_;
  const int timeout_ms_;
  size_t first_candidate_ = 0;  // rotates after timeouts
  Timer timeout_;
  std::unique_ptr<Resolver> resolver_;
  ConnectionHandle connection_;
  std::unique_ptr<SocketWatch> watch_;  // destroyed before the connection_ it watches
  Done done_;                           // set while an attempt runs
};

}  // namespace queen::pg
